//! The card of 1.0 as other versions write it.

use a2a::{AgentCard, AgentExtension, SecurityScheme, TRANSPORT_PROTOCOL_GRPC, TRANSPORT_PROTOCOL_JSONRPC};
use serde_json::{Map, Value, json};

use crate::dialect::Dialect;
use crate::extension::{MESSAGING_KEY, MESSAGING_URI};
use crate::version::Version;

/// How a card is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    V1_0,
    /// With what 1.0 needs beside it: clients of both find what they look for.
    V0_3,
    /// The same where 0.3's HTTP+JSON asks for it, which writes the requirements as its protobuf definition does.
    V0_3Http,
    /// The one of April 2025, at `/.well-known/agent.json`.
    April2025,
}

impl From<Version> for Form {
    fn from(version: Version) -> Self {
        match version {
            Version::V0_3 => Self::V0_3,
            Version::V1_0 => Self::V1_0,
        }
    }
}

impl From<Dialect> for Form {
    /// How a card is answered with. April 2025 has no method for that.
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::V1_0 => Self::V1_0,
            Dialect::V0_3Http => Self::V0_3Http,
            Dialect::V0_3 | Dialect::April2025 | Dialect::Either => Self::V0_3,
        }
    }
}

impl Form {
    pub fn write(self, card: &AgentCard) -> Value {
        match self {
            Self::V1_0 => json!(card),
            Self::V0_3 => v0_3(card),
            Self::V0_3Http => v0_3_http(card),
            Self::April2025 => april_2025(card),
        }
    }

    /// What is left of it in the hands of a client that knows the fields of 1.0 only, where that is not all of it.
    pub fn read_as_1_0(self, card: &AgentCard) -> Option<Value> {
        matches!(self, Self::V0_3 | Self::V0_3Http).then(|| Self::V1_0.write(card))
    }
}

/// Every field of 1.0, and those of 0.3 beside them.
pub(crate) fn v0_3(card: &AgentCard) -> Value {
    let mut out = json!(card);
    let urls: Vec<(&str, &str)> = spoken_in_0_3(card).collect();
    out["protocolVersion"] = "0.3.0".into();
    out["url"] = endpoint(card).into();
    out["preferredTransport"] = TRANSPORT_PROTOCOL_JSONRPC.into();
    let interface = |(url, transport): &(&str, &str)| json!({ "url": url, "transport": transport });
    out["additionalInterfaces"] = urls.iter().map(interface).collect();
    out["supportsAuthenticatedExtendedCard"] = card.capabilities.extended_agent_card.unwrap_or(false).into();
    out["capabilities"]["stateTransitionHistory"] = false.into();
    if let Some(messaging) = messaging(card) {
        out["capabilities"]["messaging"] = messaging;
    }
    if let Some(Value::Object(schemes)) = out.get_mut("securitySchemes") {
        schemes.values_mut().for_each(flatten_scheme);
    }
    if let Some(requirements) = &card.security_requirements {
        out["security"] = json!(requirements);
    }
    out
}

pub(crate) fn v0_3_http(card: &AgentCard) -> Value {
    let mut out = v0_3(card);
    if let Some(requirements) = out.get("securityRequirements").cloned() {
        out["security"] = requirements;
    }
    out
}

fn april_2025(card: &AgentCard) -> Value {
    let mut capabilities = json!({
        "streaming": card.capabilities.streaming.unwrap_or(false),
        "pushNotifications": card.capabilities.push_notifications.unwrap_or(false),
        "stateTransitionHistory": false,
    });
    if let Some(messaging) = messaging(card) {
        capabilities["messaging"] = messaging;
    }
    let scheme = |scheme: &SecurityScheme| match scheme {
        SecurityScheme::HttpAuth(http) => Some(http.scheme.to_ascii_lowercase()),
        _ => None,
    };
    let schemes: Vec<String> =
        card.security_schemes.iter().flat_map(|schemes| schemes.values()).filter_map(scheme).collect();
    json!({
        "name": card.name,
        "description": card.description,
        "version": card.version,
        "url": endpoint(card),
        "capabilities": capabilities,
        "authentication": { "schemes": schemes },
        "defaultInputModes": card.default_input_modes,
        "defaultOutputModes": card.default_output_modes,
        "skills": card.skills,
    })
}

/// 0.3 says with `type` what 1.0 says by which field is there. The fields of both fit into one object.
fn flatten_scheme(scheme: &mut Value) {
    let Some(Value::Object(http)) = scheme.get("httpAuthSecurityScheme").cloned() else { return };
    let mut flat = Map::new();
    flat.insert("type".to_owned(), "http".into());
    flat.extend(http.clone());
    flat.insert("httpAuthSecurityScheme".to_owned(), http.into());
    *scheme = flat.into();
}

fn endpoint(card: &AgentCard) -> &str {
    card.supported_interfaces.first().map_or("", |interface| interface.url.as_str())
}

fn spoken_in_0_3(card: &AgentCard) -> impl Iterator<Item = (&str, &str)> {
    let spoken = |interface: &&a2a::AgentInterface| {
        interface.protocol_version == Version::V0_3.as_str() && interface.protocol_binding != TRANSPORT_PROTOCOL_GRPC
    };
    let all = card.supported_interfaces.iter().filter(spoken);
    all.map(|interface| (interface.url.as_str(), interface.protocol_binding.as_str()))
}

/// What the messaging extension says of itself, where older versions look for it (seed 002 §2).
fn messaging(card: &AgentCard) -> Option<Value> {
    let is_messaging = |extension: &&AgentExtension| extension.uri == MESSAGING_URI;
    let extension = card.capabilities.extensions.iter().flatten().find(is_messaging)?;
    extension.params.as_ref()?.get(MESSAGING_KEY).cloned()
}
