//! Extensions: what they are called, which of them a request activates, and what the messaging extension says of itself.

use std::collections::HashMap;

use serde_json::{Value, json};

/// The messaging extension of seed 002.
pub const MESSAGING_URI: &str = "https://factum.dev/a2a/extensions/messaging-channels/v0.1";

/// The key the seed reserves for it.
pub(crate) const MESSAGING_KEY: &str = "messaging";

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
pub(crate) fn messaging() -> HashMap<String, Value> {
    let channels = json!({ "version": MESSAGING_VERSION, "features": MESSAGING_FEATURES });
    [(MESSAGING_KEY.to_owned(), json!({ "channels": channels }))].into()
}

/// The extensions that a request asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extensions(Vec<String>);

impl Extensions {
    /// 1.0's header, which is gRPC's metadata key, too; 0.3 wrote `X-` in front of it.
    pub const HEADERS: [&'static str; 2] = ["A2A-Extensions", "X-A2A-Extensions"];

    /// Reads a header's comma-separated URIs.
    pub fn parse<'a>(headers: impl Iterator<Item = &'a str>) -> Self {
        let uris = headers.flat_map(|list| list.split(',')).map(str::trim).filter(|uri| !uri.is_empty());
        // Some clients say the same under both names.
        let mut known: Vec<String> = Vec::new();
        for uri in uris {
            if !known.iter().any(|known| known == uri) {
                known.push(uri.to_owned());
            }
        }
        Self(known)
    }

    /// What is activated of it, for the answer to echo: what is known here, and what an operator requires. Anything else is
    /// not activated, and that is no fault.
    pub fn activated(&self, required: &[String]) -> Option<String> {
        let known = |uri: &&String| *uri == MESSAGING_URI || required.contains(uri);
        let activated: Vec<&str> = self.0.iter().filter(known).map(String::as_str).collect();
        (!activated.is_empty()).then(|| activated.join(","))
    }

    /// One that is required and not asked for.
    pub fn missing<'a>(&self, required: &'a [String]) -> Option<&'a str> {
        required.iter().find(|uri| !self.0.contains(uri)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_activated() {
        let of = |headers: &[&'static str]| Extensions::parse(headers.iter().copied());
        let required = ["https://example.com/required".to_owned()];
        assert_eq!(of(&[]).activated(&[]), None);
        assert_eq!(of(&["https://example.com/other"]).activated(&required), None);
        assert_eq!(of(&["https://example.com/other, ", MESSAGING_URI]).activated(&[]).as_deref(), Some(MESSAGING_URI));
        let list = format!("https://example.com/other,{MESSAGING_URI} ,https://example.com/required").leak();
        let both = format!("{MESSAGING_URI},https://example.com/required");
        assert_eq!(of(&[list]).activated(&required), Some(both));
    }

    #[test]
    fn what_is_required_is_missed() {
        let of = |header: &'static str| Extensions::parse([header].into_iter());
        let required = ["https://example.com/a".to_owned(), "https://example.com/b".to_owned()];
        assert_eq!(of("").missing(&[]), None);
        assert_eq!(of("https://example.com/a").missing(&required), Some("https://example.com/b"));
        assert_eq!(of("https://example.com/b,https://example.com/a").missing(&required), None);
    }
}
