//! Direct channels: the conversation of two principals, whose id follows from who they are (seed 002 §5).

use factum_model::Refusal;
use factum_model::id::MessagingChannelId;
use sha2::{Digest, Sha256};

use crate::access::check_principal;

/// How much of the digest is in the id: 24 hex digits.
const DIGEST_BYTES: usize = 12;

/// The same for both, whoever asks.
pub fn direct_channel_id(one: &str, other: &str) -> MessagingChannelId {
    let (first, second) = if one <= other { (one, other) } else { (other, one) };
    let digest = Sha256::new().chain_update(first).chain_update("\n").chain_update(second).finalize();
    let mut short = [0; DIGEST_BYTES];
    short.copy_from_slice(&digest[..DIGEST_BYTES]);
    MessagingChannelId::direct(short)
}

/// The channel a command is about. With a `peer` it is created when it is first used.
#[derive(Clone, Debug, PartialEq)]
pub struct Target<'a> {
    pub channel_id: MessagingChannelId,
    pub peer: Option<&'a str>,
}

/// Reads `channelId` or `peer`, of which a command gives exactly one.
pub fn target<'a>(
    channel_id: Option<&MessagingChannelId>,
    peer: Option<&'a str>,
    caller: &str,
) -> Result<Target<'a>, Refusal> {
    match (channel_id, peer) {
        (Some(channel_id), None) => Ok(Target { channel_id: channel_id.clone(), peer: None }),
        (None, Some(peer)) => {
            check_peer(peer, caller)?;
            Ok(Target { channel_id: direct_channel_id(caller, peer), peer: Some(peer) })
        }
        (None, None) => Err(Refusal::invalid("say which channel: channelId, or peer for the direct one with somebody")),
        (Some(_), Some(_)) => {
            Err(Refusal::invalid("channelId and peer are two ways to say the same; give one of them"))
        }
    }
}

/// Refuses who cannot be the other one of two.
pub(super) fn check_peer(peer: &str, caller: &str) -> Result<(), Refusal> {
    check_principal(peer)?;
    if peer == caller {
        return Err(Refusal::invalid("a direct channel is between two; peer names yourself"));
    }
    Ok(())
}
