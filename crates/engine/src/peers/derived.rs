//! Channels of those who do not know of channels: each has one by who it is, under an id that follows from that. Ids live
//! inside an account, so the account is not part of them.

use factum_model::id::ChannelId;

use super::state::Peer;
use crate::digest::sha256;

/// The hex digits of a digest in the id of a channel.
const DIGITS: usize = 24;

/// What the ids of these channels begin with, whoever they are of.
const RESERVED: &str = "chan_a2a_";

/// Whether an id is among those that follow from who somebody is. Nobody takes one of them by enrolling: it could be another's,
/// who would then have none.
pub fn is_reserved(channel_id: &ChannelId) -> bool {
    channel_id.as_str().starts_with(RESERVED)
}

/// The channel of a principal that speaks `protocol` to us.
pub fn channel_of_principal(protocol: &str, principal: &str) -> Option<ChannelId> {
    derived(&format!("chan_{protocol}"), principal)
}

/// The channel of a peer of the configuration, which we speak to. No principal has the same.
pub fn channel_of_peer(protocol: &str, name: &str) -> Option<ChannelId> {
    derived(&format!("chan_{protocol}_peer"), name)
}

fn derived(prefix: &str, who: &str) -> Option<ChannelId> {
    let digest = sha256(who.as_bytes());
    let (_, digits) = digest.split_once(':')?;
    [prefix, "_", digits.get(..DIGITS)?].concat().parse().ok()
}

/// Whose channel it is, of those who do not know that they have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derived {
    /// A principal that gives us tasks.
    Client,
    /// A peer that we give tasks to.
    SpokenTo,
}

impl Peer {
    /// Nothing for a channel that somebody enrolled.
    pub fn derived(&self) -> Option<Derived> {
        let protocol = self.identity.native_protocol.as_deref()?;
        if channel_of_principal(protocol, &self.principal).as_ref() == Some(&self.channel_id) {
            return Some(Derived::Client);
        }
        self.is_spoken_to().then_some(Derived::SpokenTo)
    }

    /// Whether it is one that we speak to: nobody's own, and known to everybody of the account by what is said of it there.
    pub(super) fn is_spoken_to(&self) -> bool {
        let name = self.identity.peer_ref.as_deref().and_then(crate::session::delegations::peer_named);
        let protocol = self.identity.native_protocol.as_deref().unwrap_or_default();
        name.is_some_and(|name| channel_of_peer(protocol, name).as_ref() == Some(&self.channel_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_follows_from_who_it_is_and_from_nothing_else() {
        let id = |id: Option<ChannelId>| id.map(|id| id.as_str().to_owned()).unwrap_or_default();
        assert_eq!(id(channel_of_principal("a2a", "agent://x")), "chan_a2a_eb18076033220568fb3f429b");
        assert_eq!(id(channel_of_peer("a2a", "north")), "chan_a2a_peer_dc365e79d41cfae1c3c0d969");
        assert_ne!(channel_of_peer("a2a", "north"), channel_of_peer("a2a", "south"));
        assert_ne!(channel_of_peer("a2a", "north"), channel_of_principal("a2a", "north"));
    }

    #[test]
    fn every_id_that_follows_from_somebody_is_reserved() {
        for derived in [channel_of_principal("a2a", "agent://x"), channel_of_peer("a2a", "north")] {
            assert!(derived.as_ref().is_some_and(is_reserved), "{derived:?}");
        }
        for free in ["chan_0198c0de-0000-7000-8000-000000000000", "chan_a2a", "a2a_x"] {
            assert!(!is_reserved(&free.parse().expect("an id")), "{free}");
        }
    }
}
