//! The imperative shell: hosts sessions and channels, makes decisions durable, publishes them, starts what follows from them.
//!
//! Everything that decides is in `engine` and pure; everything that waits is here. A transport needs three things of this
//! crate: [`Runtime::call_by_name`] for commands, [`Runtime::subscribe`] and [`Runtime::feed`] for streams, and
//! [`Runtime::authenticate_key`] to make a [`Caller`]. What is deliberately absent: sockets, status codes, formats.

mod aggregate;
mod at_rest;
mod caller;
mod cell;
mod cells;
mod clock;
mod commit;
mod cursor;
mod delegations;
mod dispatch;
mod error;
mod feed;
mod handlers;
mod hub;
mod idempotency;
mod inbound;
mod load;
mod loading;
mod messaging;
mod options;
mod pauses;
mod peers;
mod recover;
mod runner;
mod runtime;
mod sealed;
mod session;
mod subscribe;
mod sweep;
mod timers;
mod turns;
mod unavailable;
mod workers;

pub use caller::{ACCOUNT_BYTES_MAX, Caller, valid_account};
pub use clock::{Clock, Ids, RandomIds, Sources, SystemClock};
pub use cursor::{Secret, same};
pub use delegations::{
    Answer, ArtifactContent, Delegate, Described, Errand, Follow, Found, Given, PeerView, Remote, Terms, Trouble,
    ViewedArtifact, WORDS_MAX,
};
pub use dispatch::{CallError, Handle};
pub use factum_agent::Agents;
pub use factum_engine::Limits;
pub use factum_engine::access::is_the_runtimes;
pub use factum_engine::session::push::PushConfig;
pub use factum_engine::session::tasks::inbound::InboundRow;
pub use feed::{FeedEvent, FeedPage, FeedStream};
pub use handlers::KEY_PREFIX;
pub use hub::{Published, sse_frame};
pub use inbound::{Begun, InboundFilter, InboundPage, PeerMessage, PeerMessageAccepted, PushTarget, Received};
pub use messaging::{ChannelItem, ChannelPass, ChannelPlace, ChannelStream};
pub use options::{Options, ShellLimits};
pub use peers::{PeerBatch, PeerStream};
pub use runtime::{Runtime, StartError, Started};
pub use subscribe::{BATCH_EVENTS_MAX, Facts, SharedFacts, Subscription};
pub use unavailable::UNAVAILABLE;
