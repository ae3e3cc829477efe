//! Other ways to keep messages: servers people know, started for the benchmark with settings under which an
//! acknowledgement means that the disk has it, and driven over their own protocols.
//!
//! ```text
//!   redis      a stream for each channel, XADD                              appendfsync always
//!   postgres   a counter row for each channel, UPDATE and INSERT in one     synchronous_commit on, fsync on
//!   nats       a JetStream file stream for each channel, acked publishes    sync_interval always
//! ```
//!
//! Each runs as a process of its own on loopback, with its data in the benchmark's directory, and what is not installed is
//! left out. The clients are ours and know the one thing they do, so that all peers are asked at the same small cost; they
//! are no clients for anything else.
//!
//! `agents` are others of their own kind: servers of A2A.
//!
//! Deliberately absent: pipelining and batches. A client here waits for its acknowledgement before it publishes again, as
//! over HTTP; what a server makes of many such clients at once is its own affair, and is what is compared.

pub(super) mod agents;

mod nats;
mod postgres;
mod process;
mod redis;
mod socket;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::load::{Load, ask_for};
use process::Process;

/// A server to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Peer {
    Redis,
    Postgres,
    Nats,
}

/// What is published, by how many at once, into how many channels.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) clients: usize,
    pub(super) channels: usize,
    pub(super) payload: Arc<[u8]>,
}

/// A peer that answers, with all its clients connected. Killed when dropped.
pub(super) struct Running {
    process: Process,
    setting: &'static str,
    clients: Clients,
}

enum Clients {
    Redis(Vec<redis::Client>),
    Postgres(Vec<postgres::Client>),
    Nats(Vec<nats::Client>),
}

impl Peer {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Postgres => "postgres",
            Self::Nats => "nats",
        }
    }

    /// Starts it on a directory that is empty and its own, and makes the channels. `None` where it is not installed.
    pub(super) async fn start(self, plan: &Plan, dir: &Path) -> Result<Option<Running>> {
        match self {
            Self::Redis => redis::start(plan, dir).await,
            Self::Postgres => postgres::start(plan, dir).await,
            Self::Nats => nats::start(plan, dir).await,
        }
    }
}

impl Running {
    /// What makes its acknowledgements durable, or says that they are not.
    pub(super) fn setting(&self) -> &'static str {
        self.setting
    }

    /// Publishes for `time`, over connections that stay open.
    pub(super) async fn drive(&mut self, time: Duration) -> Result<Load> {
        Ok(match &mut self.clients {
            Clients::Redis(clients) => drive(clients, time).await?,
            Clients::Postgres(clients) => drive(clients, time).await?,
            Clients::Nats(clients) => drive(clients, time).await?,
        })
    }

    /// Asks it to end and waits until it has.
    pub(super) async fn stop(self) -> Result<()> {
        drop(self.clients);
        self.process.stop().await
    }
}

async fn drive<A: super::load::Ask>(clients: &mut Vec<A>, time: Duration) -> Result<Load> {
    let (load, back) = ask_for(std::mem::take(clients), time).await?;
    *clients = back;
    Ok(load)
}

/// The channels of one client, in turn: all clients together go through all channels, and where there are fewer channels
/// than clients, those that share one always share it.
struct Turns {
    next: usize,
    step: usize,
    channels: usize,
}

impl Turns {
    fn of(client: usize, plan: &Plan) -> Self {
        Self { next: client, step: plan.clients, channels: plan.channels.max(1) }
    }

    fn channel(&mut self) -> usize {
        let channel = self.next % self.channels;
        self.next = self.next.wrapping_add(self.step);
        channel
    }
}

/// The name of a channel, for all peers.
fn channel_name(channel: usize) -> String {
    format!("channel-{channel}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_go_through_all_channels() {
        let turns = |client, clients, channels| {
            let mut turns = Turns::of(client, &Plan { clients, channels, payload: Arc::new([]) });
            [turns.channel(), turns.channel(), turns.channel()]
        };
        assert_eq!(turns(1, 4, 2), [1, 1, 1]);
        assert_eq!(turns(1, 4, 4), [1, 1, 1]);
        assert_eq!(turns(1, 4, 9), [1, 5, 0]);
        assert_eq!(turns(1, 4, 0), [0, 0, 0]);
    }
}
