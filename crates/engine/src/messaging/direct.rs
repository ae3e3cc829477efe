//! Direct channels: the conversation of two principals, whose id follows from who they are (seed 002 §5).

use factum_model::Refusal;
use factum_model::id::MessagingChannelId;
use sha2::{Digest, Sha256};

use crate::access::check_principal;

/// How much of the digest is in the id: 24 hex digits.
const DIGEST_BYTES: usize = 12;

/// The same for both, whoever asks.
pub fn direct_channel_id(one: &str, other: &str) -> MessagingChannelId {
    MessagingChannelId::direct(digest_of(one, other))
}

/// The id of a direct channel, read back. Whose it is nobody can read out of it; it can be asked of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectId([u8; DIGEST_BYTES]);

impl DirectId {
    /// `None` where the id is not that of a direct channel.
    pub fn read(channel_id: &MessagingChannelId) -> Option<Self> {
        let hex = channel_id.as_str().strip_prefix(MessagingChannelId::DIRECT_PREFIX)?;
        let number = u128::from_str_radix(hex, 16).ok()?;
        let digest = *number.to_be_bytes().last_chunk()?;
        // One channel, one id: the same number written in another way is no id of it.
        (MessagingChannelId::direct(digest) == *channel_id).then_some(Self(digest))
    }

    /// Whether it is the channel of these two.
    pub fn is_of(self, one: &str, other: &str) -> bool {
        one != other && digest_of(one, other) == self.0
    }
}

fn digest_of(one: &str, other: &str) -> [u8; DIGEST_BYTES] {
    let (first, second) = if one <= other { (one, other) } else { (other, one) };
    let digest = Sha256::new().chain_update(first).chain_update("\n").chain_update(second).finalize();
    let mut short = [0; DIGEST_BYTES];
    short.copy_from_slice(&digest[..DIGEST_BYTES]);
    short
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
