//! What the runtime asks of whoever speaks to peers.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use factum_engine::session::delegations::Terms;
use factum_model::Timestamp;
use factum_model::peer::{DeliveryMechanism, PeerRecovery, Transport};
use factum_model::task::TaskStatus;

/// Speaks to the peers of the configuration, each by its name.
///
/// *Cancellation*: every call may be dropped at any point; what was sent by then may have arrived. *Idempotence*: `give`
/// and `answer` carry a message id that is the same each time; a peer that keeps keys (`keeps_keys`) carries it out once. *Errors*
/// say what can be done about them ([`Trouble`]). Retrying, waiting and recording are the runtime's.
#[async_trait]
pub trait Delegate: Send + Sync + 'static {
    /// The names of the peers there are.
    fn peers(&self) -> Vec<String>;

    /// What a peer says of itself, once that is known.
    fn described(&self, peer: &str) -> Option<Described>;

    /// Gives a peer a task.
    async fn give(&self, peer: &str, errand: &Errand) -> Result<Given, Trouble>;

    /// Finds out what became of an errand that may or may not have arrived, by asking the peer.
    async fn find(&self, peer: &str, errand: &Errand) -> Result<Found, Trouble>;

    /// Whether the peer carries out a message once, however often it comes. Nothing is sent for it but to find the peer.
    async fn keeps_keys(&self, peer: &str) -> Result<bool, Trouble>;

    /// Tells the peer what somebody here answered to its question.
    async fn answer(&self, peer: &str, remote: &Remote, answer: &Answer) -> Result<Given, Trouble>;

    /// The peer's task as it stands, with everything it made. Another task than the one asked for is malformed, here and below.
    async fn look(&self, peer: &str, remote: &Remote) -> Result<PeerView, Trouble>;

    /// Asks the peer to stop.
    async fn cancel(&self, peer: &str, remote: &Remote) -> Result<PeerView, Trouble>;

    /// Follows the peer's task behind `after`. `None` where the peer does not offer that: it has to be looked at.
    async fn follow(
        &self,
        peer: &str,
        remote: &Remote,
        after: Option<&str>,
    ) -> Result<Option<Box<dyn Follow>>, Trouble>;
}

/// A peer's task, followed.
#[async_trait]
pub trait Follow: Send {
    /// The next thing that happens to the task that is followed, whatever else the stream brings; `None` at the end of the
    /// stream, which says nothing about the task.
    async fn next(&mut self) -> Result<Option<PeerView>, Trouble>;

    /// Where to go on behind what was seen, where the peer says so.
    fn position(&self) -> Option<String>;
}

/// A peer by its card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// What it is spoken to over.
    pub transport: Transport,
    /// Where its card is.
    pub card: Option<String>,
    /// What it can do, in our words.
    pub capabilities: Vec<String>,
}

/// What a peer is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// The same however often it is sent: the message's id, and the key of a peer that keeps keys.
    pub message_id: String,
    pub text: String,
    /// Nothing was sent before this.
    pub since: Timestamp,
}

/// A peer's task by its own ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub task_id: String,
    pub context_id: Option<String>,
}

/// What somebody here answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// As an errand's.
    pub message_id: String,
    pub decision: String,
    pub text: String,
    /// What the peer calls the question.
    pub action_id: Option<String>,
}

/// What a peer makes of what it is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    Task(Box<PeerView>),
    /// A message, and that is all.
    Reply {
        /// Its words.
        text: String,
        /// What it holds, where that is more than [`WORDS_MAX`](factum_engine::session::delegations::WORDS_MAX) characters of
        /// text: its text first, whole.
        artifacts: Vec<ViewedArtifact>,
    },
}

/// What became of an errand.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    Task(Box<PeerView>),
    /// The peer shows whatever it could have become, and it is not there.
    Absent {
        problem: String,
    },
    /// It cannot be told whether it arrived.
    Unknown {
        problem: String,
    },
}

/// A peer's task as it was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerView {
    pub remote: Remote,
    pub status: TaskStatus,
    pub native_status: String,
    pub recovery: PeerRecovery,
    pub delivery: DeliveryMechanism,
    /// The address of the peer's card.
    pub card: Option<String>,
    pub message: Option<String>,
    /// Which question it is, where it is one.
    pub question: Option<String>,
    /// How that is to be answered.
    pub terms: Terms,
    pub artifacts: Vec<ViewedArtifact>,
    /// Whether this is all of it, artifacts included.
    pub whole: bool,
    /// It is over because the peer does not do such things.
    pub rejected: bool,
}

/// Something the peer made, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewedArtifact {
    pub remote_id: String,
    pub name: Option<String>,
    pub content: ArtifactContent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArtifactContent {
    Bytes {
        media_type: String,
        bytes: Bytes,
    },
    /// It is elsewhere, and stays there.
    Link {
        media_type: String,
        url: String,
    },
}

/// Why a peer did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Later it may work.
    Network { problem: String, may_have_arrived: bool },
    /// The same, and the peer says when to ask again.
    Busy { problem: String, may_have_arrived: bool, after: Duration },
    /// Somebody has to change a credential.
    Auth { problem: String },
    /// The peer knows no such task.
    Missing { problem: String },
    /// The peer understood and does not do it.
    Refused { problem: String },
    /// What it answers cannot be understood.
    Malformed { problem: String, may_have_arrived: bool },
}

impl Trouble {
    /// Whether what was asked may have been carried out although there is no answer.
    pub(super) fn may_have_arrived(&self) -> bool {
        match self {
            Self::Network { may_have_arrived, .. }
            | Self::Busy { may_have_arrived, .. }
            | Self::Malformed { may_have_arrived, .. } => *may_have_arrived,
            Self::Auth { .. } | Self::Missing { .. } | Self::Refused { .. } => false,
        }
    }
}
