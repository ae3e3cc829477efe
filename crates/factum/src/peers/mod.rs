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

use anyhow::{Context, Result, bail};
use factum_runtime::Delegate;

use crate::config::{PeerCredential, Settings};
use delegate::Peers;

/// Whoever speaks to the peers of the configuration; nobody where there are none.
pub(crate) fn delegate(settings: &Settings, outbound: factum_outbound::Options) -> Result<Option<Arc<dyn Delegate>>> {
    if settings.peers.is_empty() {
        return Ok(None);
    }
    let client = factum_outbound::Client::new(outbound).context("peers cannot be spoken to")?;
    let mut peers = Vec::with_capacity(settings.peers.len());
    for (name, peer) in &settings.peers {
        let target = client.target(&peer.url).with_context(|| format!("peers.{name}.url cannot be used"))?;
        // It would be refused each time that something is sent, and look like a peer that is away.
        if peer.credential != PeerCredential::None && !target.keeps_secrets(client.policy()) {
            bail!(
                "the credential of peers.{name} would be sent to {} in the clear; use https, or, where its network is in allow \
                 below [outbound], its address instead of its name",
                target.host_name()
            );
        }
        peers.push((name.clone(), options::of(name, peer)?));
    }
    Ok(Some(Arc::new(Peers::new(client, peers))))
}
