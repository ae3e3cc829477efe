//! What the runtime asks of peers, carried out over A2A.

use std::collections::BTreeMap;
use std::sync::Arc;

use a2a::error_code::{METHOD_NOT_FOUND, UNSUPPORTED_OPERATION};
use a2a::{
    ListTasksRequest, Message, Part, Role, SendMessageConfiguration, SendMessageRequest, SendMessageResponse,
    StreamResponse, Task,
};
use async_trait::async_trait;
use factum_a2a::client::{Binding, Failure, Peer, PeerOptions, PeerUpdates, discover};
use factum_model::peer::Transport;
use factum_outbound::Client;
use factum_runtime::{Answer, Delegate, Described, Errand, Follow, Found, Given, PeerView, Remote, Trouble};
use parking_lot::Mutex;
use serde_json::json;

use super::bounds::{bounded, fits, is_of, kept, of_asked};
use super::view;

/// How far back a peer's list is searched for a message that may have arrived. A page that is too large is asked for in pieces of
/// a tenth.
const SEARCHED_PAGES_MAX: usize = 32;
const SEARCHED_PAGE_TASKS: i32 = 100;
/// How much of a task's conversation is looked at for it.
const SEARCHED_HISTORY: i32 = 100;
/// How far the peer's clock may be behind ours.
const CLOCKS_APART_SECONDS: i64 = 300;

/// The peers of the configuration, and the cards that were read of them.
pub(super) struct Peers {
    client: Client,
    options: BTreeMap<String, PeerOptions>,
    found: Mutex<BTreeMap<String, Arc<Peer>>>,
}

impl Peers {
    pub(super) fn new(client: Client, peers: Vec<(String, PeerOptions)>) -> Self {
        Self { client, options: peers.into_iter().collect(), found: Mutex::default() }
    }

    /// The peer, found now or before. Nothing that matters has been sent when this fails.
    async fn peer(&self, name: &str) -> Result<Arc<Peer>, Trouble> {
        if let Some(peer) = self.found.lock().get(name) {
            return Ok(peer.clone());
        }
        let unknown = || Trouble::Network { problem: format!("no peer is named {name:?}"), may_have_arrived: false };
        let options = self.options.get(name).ok_or_else(unknown)?.clone();
        let peer = discover(&self.client, options).await.map_err(|failure| match trouble(failure) {
            // A card that cannot be read today may be readable tomorrow.
            Trouble::Network { problem, .. } | Trouble::Malformed { problem, .. } => {
                Trouble::Network { problem, may_have_arrived: false }
            }
            Trouble::Busy { problem, after, .. } => Trouble::Busy { problem, may_have_arrived: false, after },
            other => other,
        })?;
        let peer = Arc::new(peer);
        self.found.lock().insert(name.to_owned(), peer.clone());
        Ok(peer)
    }

    /// What went wrong, and whether the card has to be read again.
    fn failed(&self, name: &str, failure: Failure) -> Trouble {
        if !matches!(failure, Failure::Missing { .. } | Failure::Refused { .. }) {
            self.found.lock().remove(name);
        }
        trouble(failure)
    }

    async fn send(&self, name: &str, message: Message) -> Result<Given, Trouble> {
        let peer = self.peer(name).await?;
        let key = message.message_id.clone();
        let configuration = SendMessageConfiguration {
            accepted_output_modes: None,
            task_push_notification_config: None,
            history_length: Some(0),
            return_immediately: Some(true),
        };
        let request = SendMessageRequest { message, configuration: Some(configuration), metadata: None, tenant: None };
        match peer.send(request, Some(&key)).await {
            Ok(SendMessageResponse::Task(task)) => Ok(Given::Task(Box::new(bounded(view::of_task(&peer, &task))?))),
            Ok(SendMessageResponse::Message(message)) => {
                let artifacts = view::contents(&message).into_iter().map(kept).collect();
                Ok(Given::Reply { text: view::words(&message), artifacts })
            }
            Err(failure) => Err(self.failed(name, failure)),
        }
    }

    /// What a peer's list says of a message: what was told since it was sent, and, where that has nothing of it, what stands first.
    /// The peer's clock may be so far behind that it is the one and not the other.
    async fn listed(&self, peer: &Peer, errand: &Errand) -> Result<Listed, Failure> {
        let since = errand.since.as_second().saturating_sub(CLOCKS_APART_SECONDS);
        match self.search(peer, errand, Some(since), SEARCHED_PAGES_MAX).await? {
            Listed::Absent => match self.search(peer, errand, None, 1).await? {
                // The newest of them all, none of which is it.
                Listed::First => Ok(Listed::Absent),
                listed => Ok(listed),
            },
            listed => Ok(listed),
        }
    }

    /// Looks for a message on so many pages of a peer's list.
    async fn search(
        &self,
        peer: &Peer,
        errand: &Errand,
        since: Option<i64>,
        pages_max: usize,
    ) -> Result<Listed, Failure> {
        let (mut page_tasks, mut page_token, mut telling) = (SEARCHED_PAGE_TASKS, None, true);
        for _ in 0..pages_max {
            let request = ListTasksRequest {
                context_id: None,
                status: None,
                page_size: Some(page_tasks),
                page_token: page_token.clone(),
                history_length: Some(SEARCHED_HISTORY),
                status_timestamp_after: since.and_then(|since| serde_json::from_value(json!(timestamp(since))).ok()),
                include_artifacts: None,
                tenant: None,
            };
            let page = match peer.list(request).await {
                Err(Failure::TooLarge { .. }) if page_tasks > 1 => {
                    page_tasks = (page_tasks / 10).max(1);
                    continue;
                }
                page => page?,
            };
            let told = |task: &&Task| task.history.iter().flatten().any(|one| one.message_id == errand.message_id);
            if let Some(task) = page.tasks.iter().find(told) {
                return Ok(Listed::There(Box::new(task.clone())));
            }
            telling &= page.tasks.iter().all(shows_what_began_it);
            if page.next_page_token.is_empty() {
                return Ok(if telling { Listed::Absent } else { Listed::Untold });
            }
            page_token = Some(page.next_page_token);
        }
        Ok(if telling { Listed::First } else { Listed::Untold })
    }
}

/// Whether a task's conversation is there from its beginning: a longer one is cut off in front.
fn shows_what_began_it(task: &Task) -> bool {
    let told = task.history.as_ref().map_or(0, Vec::len);
    (1..SEARCHED_HISTORY as usize).contains(&told)
}

/// What a peer's list says of a message.
enum Listed {
    There(Box<Task>),
    /// It is complete and shows what each task was told.
    Absent,
    /// It is not on the first pages, which show what each task was told.
    First,
    /// It is not in what the list shows, which is not everything.
    Untold,
}

/// The task that is called as its message, where there is one.
fn named(found: Result<Task, Failure>, message_id: &str) -> Result<Listed, Failure> {
    match found {
        Err(Failure::Missing { .. }) => Ok(Listed::Absent),
        found => found.map(|task| if task.id == message_id { Listed::There(Box::new(task)) } else { Listed::Untold }),
    }
}

fn timestamp(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

fn message(message_id: &str, text: &str) -> Message {
    let mut message = Message::new(Role::User, vec![Part::text(text)]);
    message.message_id = message_id.to_owned();
    message
}

fn trouble(failure: Failure) -> Trouble {
    match failure {
        Failure::Network { problem, may_have_arrived } => Trouble::Network { problem, may_have_arrived },
        Failure::Silent { problem } => Trouble::Network { problem, may_have_arrived: true },
        Failure::Busy { problem, may_have_arrived, after } => Trouble::Busy { problem, may_have_arrived, after },
        Failure::Auth { problem } => Trouble::Auth { problem },
        Failure::Missing { problem } => Trouble::Missing { problem },
        Failure::Refused { code, message } => Trouble::Refused { problem: format!("{message} ({code})") },
        Failure::Malformed { problem, may_have_arrived } => Trouble::Malformed { problem, may_have_arrived },
        Failure::TooLarge { problem } => Trouble::Malformed { problem, may_have_arrived: true },
    }
}

#[async_trait]
impl Delegate for Peers {
    fn peers(&self) -> Vec<String> {
        self.options.keys().cloned().collect()
    }

    fn described(&self, peer: &str) -> Option<Described> {
        self.found.lock().get(peer).map(|peer| Described {
            transport: match peer.interface().binding {
                Binding::JsonRpc => Transport::JsonRpc,
                Binding::HttpJson => Transport::HttpJson,
                Binding::Grpc => Transport::Grpc,
            },
            card: Some(peer.card().url.clone()),
            capabilities: peer.card().capabilities.clone(),
        })
    }

    async fn give(&self, peer: &str, errand: &Errand) -> Result<Given, Trouble> {
        self.send(peer, message(&errand.message_id, &errand.text)).await
    }

    async fn find(&self, name: &str, errand: &Errand) -> Result<Found, Trouble> {
        let peer = self.peer(name).await?;
        let because = |why: &str| {
            format!("the task was sent and no answer came back; {why}, so whether the peer has it is not known")
        };
        // Lists may leave out what tasks made, whatever they are asked for: what one shows is never the whole.
        let (found, whole) = if peer.tasks_are_named_by_messages() {
            (named(peer.get(&errand.message_id, Some(0)).await, &errand.message_id), true)
        } else {
            (self.listed(&peer, errand).await, false)
        };
        let absent = "the peer knows no task that began with it";
        match found {
            Ok(Listed::There(task)) => {
                Ok(Found::Task(Box::new(bounded(PeerView { whole, ..view::of_task(&peer, &task) })?)))
            }
            Ok(Listed::Absent) => Ok(Found::Absent { problem: because(absent) }),
            Ok(Listed::First | Listed::Untold) => Ok(Found::Unknown { problem: because(absent) }),
            Err(Failure::Refused { code: METHOD_NOT_FOUND | UNSUPPORTED_OPERATION, .. }) => {
                Ok(Found::Unknown { problem: because("the peer does not list its tasks") })
            }
            // It is a list that is not there, and no task.
            Err(Failure::Missing { problem }) => Err(Trouble::Refused { problem }),
            // Anything else may be said by whoever stands in front of the peer just now.
            Err(failure) => Err(self.failed(name, failure)),
        }
    }

    async fn keeps_keys(&self, name: &str) -> Result<bool, Trouble> {
        Ok(self.peer(name).await?.card().idempotent)
    }

    async fn answer(&self, peer: &str, remote: &Remote, answer: &Answer) -> Result<Given, Trouble> {
        let mut message = message(&answer.message_id, &answer.text);
        message.task_id = Some(remote.task_id.clone());
        message.context_id.clone_from(&remote.context_id);
        let decision = ("decision".to_owned(), json!(answer.decision));
        // Beside the words: a peer that asks by ids finds it there, and every other one reads the words.
        let action_id = answer.action_id.iter().map(|action_id| ("action_id".to_owned(), json!(action_id)));
        message.metadata = Some(action_id.chain([decision]).collect());
        self.send(peer, message).await
    }

    async fn look(&self, name: &str, remote: &Remote) -> Result<PeerView, Trouble> {
        let peer = self.peer(name).await?;
        let task = peer.get(&remote.task_id, Some(0)).await.map_err(|failure| self.failed(name, failure))?;
        of_asked(view::of_task(&peer, &task), remote)
    }

    async fn cancel(&self, name: &str, remote: &Remote) -> Result<PeerView, Trouble> {
        let peer = self.peer(name).await?;
        let task = peer.cancel(&remote.task_id).await.map_err(|failure| self.failed(name, failure))?;
        of_asked(view::of_task(&peer, &task), remote)
    }

    async fn follow(
        &self,
        name: &str,
        remote: &Remote,
        after: Option<&str>,
    ) -> Result<Option<Box<dyn Follow>>, Trouble> {
        let peer = self.peer(name).await?;
        if !peer.card().streaming {
            return Ok(None);
        }
        let updates = peer.subscribe(&remote.task_id, after).await.map_err(|failure| self.failed(name, failure))?;
        let position = after.map(str::to_owned);
        Ok(Some(Box::new(Following { peer, remote: remote.clone(), updates, position, status: None })))
    }
}

/// A subscription.
struct Following {
    peer: Arc<Peer>,
    remote: Remote,
    updates: PeerUpdates,
    position: Option<String>,
    /// How the task stood last: an artifact comes without it.
    status: Option<PeerView>,
}

#[async_trait]
impl Follow for Following {
    async fn next(&mut self) -> Result<Option<PeerView>, Trouble> {
        loop {
            let Some(update) = self.updates.next().await.map_err(trouble)? else { return Ok(None) };
            self.position = update.event_id.filter(|id| fits(id)).or(self.position.take());
            // What else a peer puts into this stream is none of this task's business.
            if task_of(&update.response).is_some_and(|task_id| !is_of(task_id, &self.remote)) {
                continue;
            }
            let view = match update.response {
                StreamResponse::Task(task) => Some(view::of_task(&self.peer, &task)),
                StreamResponse::StatusUpdate(update) => Some(view::of_update(&self.peer, &update)),
                // A piece of an artifact is nothing to keep, and the first one is a piece unless it says that it is the last; the
                // whole is read when the task is done.
                StreamResponse::ArtifactUpdate(update) => {
                    let whole = update.append != Some(true) && update.last_chunk == Some(true);
                    let artifacts = vec![view::artifact(&update.artifact)];
                    self.status.clone().filter(|_| whole).map(|status| PeerView { artifacts, whole: false, ..status })
                }
                StreamResponse::Message(_) => None,
            };
            if let Some(view) = view {
                let view = of_asked(view, &self.remote)?;
                self.status = Some(PeerView { artifacts: Vec::new(), whole: false, ..view.clone() });
                return Ok(Some(view));
            }
        }
    }

    fn position(&self) -> Option<String> {
        self.position.clone()
    }
}

/// The task that something in a stream is of; words are of none.
fn task_of(response: &StreamResponse) -> Option<&str> {
    match response {
        StreamResponse::Task(task) => Some(&task.id),
        StreamResponse::StatusUpdate(update) => Some(&update.task_id),
        StreamResponse::ArtifactUpdate(update) => Some(&update.task_id),
        StreamResponse::Message(_) => None,
    }
}
