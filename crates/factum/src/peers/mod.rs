//! The wiring of peers: what configuration says of them, spoken to with the A2A client, as the runtime asks for it.
//!
//! `options` reads secrets and keys, `delegate` carries out what the runtime asks, `view` turns a task of A2A into what the
//! runtime understands, `bounds` says how much of it. Found cards are remembered until something goes wrong with the peer, and are read again then.

mod bounds;
mod delegate;
mod options;
mod view;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use anyhow::{Context, Result};
use factum_runtime::Delegate;

use crate::config::Settings;
use delegate::Peers;

/// Whoever speaks to the peers of the configuration; nobody where there are none.
pub(crate) fn delegate(settings: &Settings, outbound: factum_outbound::Options) -> Result<Option<Arc<dyn Delegate>>> {
    if settings.peers.is_empty() {
        return Ok(None);
    }
    let client = factum_outbound::Client::new(outbound).context("peers cannot be spoken to")?;
    let mut peers = Vec::with_capacity(settings.peers.len());
    for (name, peer) in &settings.peers {
        client.target(&peer.url).with_context(|| format!("peers.{name}.url cannot be used"))?;
        peers.push((name.clone(), options::of(name, peer)?));
    }
    Ok(Some(Arc::new(Peers::new(client, peers))))
}
