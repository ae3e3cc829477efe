//! Reading an agent's card in each of its forms, as far as a caller needs it.
//!
//! A card is a stranger's word. What it names is used only through the guarded client, and a credential follows it to
//! another origin only where its signature was verified.

use a2a::{TRANSPORT_PROTOCOL_GRPC, TRANSPORT_PROTOCOL_HTTP_JSON, TRANSPORT_PROTOCOL_JSONRPC};
use serde_json::Value;

use super::failure::{Failure, cut};
use super::spoken::Spoken;
use crate::extension::MESSAGING_URI;

/// The most interfaces of a card that are looked at.
const INTERFACES_MAX: usize = 32;

/// What whoever speaks A2A can do.
const ALWAYS: [&str; 2] = ["artifacts", "task_delegation"];

/// What a card may declare beside that, and what it is called here.
const DECLARED: [(&str, &str); 4] = [
    ("streaming", "streaming"),
    ("pushNotifications", "push_notifications"),
    ("extendedAgentCard", "extended_agent_card"),
    ("stateTransitionHistory", "state_transition_history"),
];

/// How a peer is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    JsonRpc,
    HttpJson,
    Grpc,
}

/// One way to a peer that this side speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub url: String,
    pub binding: Binding,
    pub spoken: Spoken,
    pub tenant: Option<String>,
}

/// What came of a card's signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    Absent,
    /// There are some, and no keys to check them by.
    Unchecked,
    Verified,
}

/// What a card says, as far as a caller needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct PeerCard {
    /// Where it was read.
    pub url: String,
    pub name: String,
    pub streaming: bool,
    /// What the peer can do, in our words: what every agent that speaks A2A can, and what the card declares (seed 000).
    pub capabilities: Vec<String>,
    /// Extensions that the card requires and that are not known here.
    pub unknown_extensions: Vec<String>,
    /// Whether it requires our own extension: whoever asks has to name it.
    pub requires_messaging: bool,
    /// Whether sending again with the same `Idempotency-Key` is safe.
    pub idempotent: bool,
    /// Those that this side speaks, best first.
    pub interfaces: Vec<Interface>,
    /// What the card offers besides, for an error that helps.
    pub others: Vec<String>,
    pub signature: Signature,
    /// As it was read.
    pub json: Value,
}

impl PeerCard {
    /// Reads a card that was found at `url`.
    pub fn read(json: Value, url: &str, signature: Signature) -> Result<Self, Failure> {
        let Some(name) = json.get("name").and_then(Value::as_str) else {
            return Err(Failure::malformed("the agent card has no name"));
        };
        let offered = offered(&json);
        let (spoken, others): (Vec<_>, Vec<_>) = offered.into_iter().partition(|offer| offer.spoken().is_some());
        let interfaces = by_preference(spoken.iter().filter_map(Offer::spoken).collect());
        let capability = |name: &str| json["capabilities"].get(name).and_then(Value::as_bool).unwrap_or(false);
        let declared = DECLARED.iter().filter(|(name, _)| capability(name)).map(|(_, ours)| *ours);
        let extensions = json["capabilities"].get("extensions").and_then(Value::as_array);
        let extensions = extensions.map_or(&[][..], Vec::as_slice);
        let required = || extensions.iter().filter(|one| one["required"] == true);
        let unknown = required().filter(|one| one["uri"] != MESSAGING_URI);
        Ok(Self {
            url: url.to_owned(),
            name: cut(name),
            streaming: capability("streaming"),
            capabilities: ALWAYS.into_iter().chain(declared).map(str::to_owned).collect(),
            unknown_extensions: unknown.map(|one| cut(one["uri"].as_str().unwrap_or("one without a uri"))).collect(),
            requires_messaging: required().any(|one| one["uri"] == MESSAGING_URI),
            // Whoever offers our extension is one of us, and keeps keys.
            idempotent: extensions.iter().any(|one| one["uri"] == MESSAGING_URI),
            interfaces,
            others: others.iter().map(|offer| format!("{} {}", offer.binding, offer.version)).collect(),
            signature,
            json,
        })
    }
}

/// The newest version first; within one, the card's own order. But for 0.3, whose HTTP+JSON is written in two ways by those who
/// offer it: its JSON-RPC is the one that all write alike. gRPC is used by peers that put it first, and otherwise where
/// nothing else can be: its streams have no place to go on from.
fn by_preference(offered: Vec<Interface>) -> Vec<Interface> {
    let preferred = offered.first().map(|first| first.binding);
    let rank = |interface: &Interface| match interface.binding {
        Binding::Grpc if preferred == Some(Binding::Grpc) => 0,
        Binding::JsonRpc | Binding::HttpJson => 1,
        Binding::Grpc => 2,
    };
    let mut interfaces: Vec<Interface> = Vec::new();
    for interface in offered {
        if !interfaces.contains(&interface) {
            interfaces.push(interface);
        }
    }
    let is_unsure = |it: &Interface| it.spoken != Spoken::V1_0 && it.binding == Binding::HttpJson;
    interfaces.sort_by_key(|it| (rank(it), std::cmp::Reverse(it.spoken), is_unsure(it)));
    interfaces
}

/// One interface as a card offers it.
struct Offer {
    url: String,
    binding: String,
    version: String,
    tenant: Option<String>,
}

impl Offer {
    fn spoken(&self) -> Option<Interface> {
        let binding = match self.binding.as_str() {
            TRANSPORT_PROTOCOL_JSONRPC => Binding::JsonRpc,
            TRANSPORT_PROTOCOL_HTTP_JSON => Binding::HttpJson,
            TRANSPORT_PROTOCOL_GRPC => Binding::Grpc,
            _ => return None,
        };
        let spoken = Spoken::parse(&self.version)?;
        // 0.3 over gRPC is another service, and in April 2025 there was JSON-RPC.
        let exists = match spoken {
            Spoken::V1_0 => true,
            Spoken::V0_3 => binding != Binding::Grpc,
            Spoken::April2025 => binding == Binding::JsonRpc,
        };
        if !exists {
            return None;
        }
        Some(Interface { url: self.url.clone(), binding, spoken, tenant: self.tenant.clone() })
    }
}

fn offered(json: &Value) -> Vec<Offer> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(cut);
    let list = |name: &str| json.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let new = list("supportedInterfaces").into_iter().filter_map(|entry| {
        Some(Offer {
            url: text(&entry, "url")?,
            binding: text(&entry, "protocolBinding")?,
            version: text(&entry, "protocolVersion")?,
            tenant: text(&entry, "tenant").filter(|tenant| !tenant.is_empty()),
        })
    });
    // 0.3 says one version for all. A card that says none is of April 2025.
    let version = text(json, "protocolVersion").unwrap_or_else(|| Spoken::APRIL_2025.to_owned());
    let main = text(json, "url").map(|url| {
        let binding = text(json, "preferredTransport").unwrap_or_else(|| TRANSPORT_PROTOCOL_JSONRPC.to_owned());
        Offer { url, binding, version: version.clone(), tenant: None }
    });
    let more = list("additionalInterfaces").into_iter().filter_map(|entry| {
        let (url, binding) = (text(&entry, "url")?, text(&entry, "transport")?);
        Some(Offer { url, binding, version: version.clone(), tenant: None })
    });
    new.chain(main).chain(more).take(INTERFACES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ways(json: Value) -> Vec<(String, Binding, Spoken)> {
        let card = PeerCard::read(json, "", Signature::Absent).unwrap();
        card.interfaces.into_iter().map(|way| (way.url, way.binding, way.spoken)).collect()
    }

    fn way(url: &str, binding: Binding, version: Spoken) -> (String, Binding, Spoken) {
        (url.to_owned(), binding, version)
    }

    #[test]
    fn the_best_way_that_both_speak_comes_first() {
        let new = json!({ "name": "a", "supportedInterfaces": [
            { "url": "old", "protocolBinding": "JSONRPC", "protocolVersion": "0.3" },
            { "url": "g", "protocolBinding": "GRPC", "protocolVersion": "1.0" },
            { "url": "old g", "protocolBinding": "GRPC", "protocolVersion": "0.3" },
            { "url": "rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0.1" },
            { "url": "rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" },
            { "url": "future", "protocolBinding": "JSONRPC", "protocolVersion": "2.0" },
        ]});
        let expected = [
            way("rest", Binding::HttpJson, Spoken::V1_0),
            way("rpc", Binding::JsonRpc, Spoken::V1_0),
            way("old", Binding::JsonRpc, Spoken::V0_3),
            way("g", Binding::Grpc, Spoken::V1_0),
        ];
        assert_eq!(ways(new.clone()), expected);
        assert_eq!(PeerCard::read(new, "", Signature::Absent).unwrap().others, ["GRPC 0.3", "JSONRPC 2.0"]);

        let old = json!({ "name": "a", "url": "main", "protocolVersion": "0.3.0", "preferredTransport": "HTTP+JSON",
        "additionalInterfaces": [
            { "url": "main", "transport": "HTTP+JSON" },
            { "url": "rpc", "transport": "JSONRPC" },
        ]});
        let expected = [way("rpc", Binding::JsonRpc, Spoken::V0_3), way("main", Binding::HttpJson, Spoken::V0_3)];
        assert_eq!(ways(old), expected);
    }

    #[test]
    fn grpc_is_used_where_the_card_puts_it_first_or_offers_nothing_else() {
        let offer = |binding: &str| json!({ "url": binding, "protocolBinding": binding, "protocolVersion": "1.0" });
        let chosen = |bindings: &[&str]| {
            let offers: Vec<Value> = bindings.iter().map(|binding| offer(binding)).collect();
            ways(json!({ "name": "a", "supportedInterfaces": offers })).first().map(|way| way.1)
        };
        assert_eq!(chosen(&["GRPC", "JSONRPC"]), Some(Binding::Grpc));
        assert_eq!(chosen(&["HTTP+JSON", "GRPC"]), Some(Binding::HttpJson));
        assert_eq!(chosen(&["SOMETHING", "GRPC"]), Some(Binding::Grpc));
        assert_eq!(chosen(&[]), None);
    }

    #[test]
    fn a_card_that_says_no_version_is_of_april_2025() {
        let card = json!({ "name": "a", "url": "main", "capabilities": { "streaming": true } });
        assert_eq!(ways(card.clone()), [way("main", Binding::JsonRpc, Spoken::April2025)]);
        let mut other = card;
        other["preferredTransport"] = json!("HTTP+JSON");
        let card = PeerCard::read(other, "", Signature::Absent).unwrap();
        assert_eq!(
            (card.interfaces, card.others, card.streaming),
            (vec![], vec!["HTTP+JSON 2025-04".to_owned()], true)
        );
    }

    #[test]
    fn what_is_no_card_is_malformed() {
        for json in [json!(null), json!([]), json!({ "url": "x" }), json!({ "name": 7 })] {
            assert!(matches!(PeerCard::read(json, "", Signature::Absent), Err(Failure::Malformed { .. })));
        }
    }
}
