//! Extensions: what they are called, which of them a request activates, and what the messaging extension says of itself.

use serde_json::{Value, json};

/// The messaging extension of seed 002.
pub const MESSAGING_URI: &str = "https://factum.dev/a2a/extensions/messaging-channels/v0.1";

pub const MESSAGING_VERSION: &str = "0.1";

/// What a client can find out about before it asks. The first five are the seed's; each of the others is one thing of its
/// list of later additions, or of its open questions, that is here already.
pub const MESSAGING_FEATURES: &[&str] = &[
    "create",
    "publish",
    "history",
    "stream",
    "membership",
    "direct",
    "historyBackward",
    "controlEvent",
    "threading",
    "presence",
    "readCursors",
    "taskRefs",
    "audit",
];

/// The seed's object (seed 002 §2), as it stands in a card.
pub(crate) fn messaging() -> Value {
    json!({ "channels": { "version": MESSAGING_VERSION, "features": MESSAGING_FEATURES } })
}

/// The extensions that a request activates, of those there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    pub messaging: bool,
}

impl Extensions {
    /// 1.0's header; 0.3 wrote `X-` in front of it.
    pub const HEADERS: [&'static str; 2] = ["A2A-Extensions", "X-A2A-Extensions"];

    /// Reads a header's comma-separated URIs. What is not known here is not activated, and that is no fault.
    pub fn parse<'a>(headers: impl Iterator<Item = &'a str>) -> Self {
        let messaging = headers.flat_map(|list| list.split(',')).any(|uri| uri.trim() == MESSAGING_URI);
        Self { messaging }
    }

    /// What the answer echoes.
    pub fn activated(self) -> Option<&'static str> {
        self.messaging.then_some(MESSAGING_URI)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_activated() {
        let of = |headers: &[&'static str]| Extensions::parse(headers.iter().copied()).activated();
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["https://example.com/other"]), None);
        assert_eq!(of(&["https://example.com/other, ", MESSAGING_URI]), Some(MESSAGING_URI));
        let list = format!("https://example.com/other,{MESSAGING_URI}").leak();
        assert_eq!(of(&[list]), Some(MESSAGING_URI));
    }
}
