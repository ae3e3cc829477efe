//! The agent card: what an agent is, where it is reached, and what it can do. Made once, as 1.0 has it, and written as each
//! version of the protocol reads it (`forms`), signed where there is a key (`sign`) and checked by who reads it (`verify`).

mod canonical;
mod forms;
mod sign;
mod verify;

use a2a::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill, HttpAuthSecurityScheme, SecurityScheme,
    TRANSPORT_PROTOCOL_GRPC, TRANSPORT_PROTOCOL_HTTP_JSON, TRANSPORT_PROTOCOL_JSONRPC,
};

pub use forms::Form;
pub(crate) use forms::{v0_3, v0_3_http};
pub use sign::{BadKey, CardKey};
pub use verify::{Unverified, verify_card};

use crate::extension::{MESSAGING_URI, messaging};
use crate::parts::USUAL_MODES;
use crate::version::Version;

/// What a card says.
#[derive(Clone, Debug)]
pub struct Card {
    pub name: String,
    pub description: String,
    /// Of the agent, not of the protocol.
    pub version: String,
    /// Where this server is reached, without a slash at the end.
    pub base_url: String,
    /// The path of the agent below it.
    pub path: String,
    /// What leads gRPC to this agent, since it has no path that could; absent for the one it reaches without.
    pub grpc_tenant: Option<String>,
    pub skills: Vec<Skill>,
    /// The media types the agent takes; empty where it takes anything, and then the card names the usual ones.
    pub accepts: Vec<String>,
    /// What a credential needs to be good for, where one is needed.
    pub scopes: Option<Vec<String>>,
    pub push_notifications: bool,
    /// Whether there is an extended card.
    pub extended: bool,
    /// Extensions that every request must activate.
    pub required_extensions: Vec<String>,
    /// What to put into requests as `tenant`, where that is told.
    pub tenant: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Skill {
    pub id: String,
    pub description: String,
}

/// The name of the one security scheme.
const BEARER: &str = "bearer";

impl Card {
    /// As 1.0 has it. Nothing in it is empty or a default, so that whoever drops such fields before checking a signature, as
    /// 1.0 §8.4.1 asks, arrives at the same text as who does not.
    pub fn agent_card(&self) -> AgentCard {
        let modes = || USUAL_MODES.map(str::to_owned).to_vec();
        let scheme = HttpAuthSecurityScheme { scheme: "Bearer".to_owned(), description: None, bearer_format: None };
        let schemes = [(BEARER.to_owned(), SecurityScheme::HttpAuth(scheme))].into();
        let requirement = |scopes: &Vec<String>| [(BEARER.to_owned(), scopes.clone())].into();
        AgentCard {
            name: self.name.clone(),
            description: self.description.clone(),
            version: self.version.clone(),
            supported_interfaces: self.interfaces(),
            capabilities: AgentCapabilities {
                streaming: Some(true),
                push_notifications: Some(self.push_notifications),
                extensions: Some(self.extensions()),
                extended_agent_card: Some(self.extended),
            },
            default_input_modes: if self.accepts.is_empty() { modes() } else { self.accepts.clone() },
            default_output_modes: modes(),
            skills: self.skills.iter().map(skill).collect(),
            provider: None,
            documentation_url: None,
            icon_url: None,
            security_schemes: self.scopes.is_some().then_some(schemes),
            security_requirements: self.scopes.as_ref().map(|scopes| vec![requirement(scopes)]),
            signatures: None,
        }
    }

    /// In the order of preference: JSON-RPC, HTTP+JSON, gRPC, and of each the newest version first.
    fn interfaces(&self) -> Vec<AgentInterface> {
        let url = format!("{}{}", self.base_url, self.path);
        let interface = |binding: &str, version: Version| AgentInterface {
            url: url.clone(),
            protocol_binding: binding.to_owned(),
            protocol_version: version.as_str().to_owned(),
            tenant: self.tenant.clone(),
        };
        let grpc = AgentInterface {
            url: grpc_target(&self.base_url),
            tenant: self.tenant_over_grpc(),
            ..interface(TRANSPORT_PROTOCOL_GRPC, Version::V1_0)
        };
        [TRANSPORT_PROTOCOL_JSONRPC, TRANSPORT_PROTOCOL_HTTP_JSON]
            .into_iter()
            .flat_map(|binding| [Version::V1_0, Version::V0_3].map(|version| interface(binding, version)))
            .chain([grpc])
            .collect()
    }

    /// As a path has it: the agent first, then whom it is asked for.
    fn tenant_over_grpc(&self) -> Option<String> {
        match (&self.grpc_tenant, &self.tenant) {
            (Some(agent), Some(tenant)) => Some(format!("{agent}/{tenant}")),
            (agent, tenant) => agent.as_ref().or(tenant.as_ref()).cloned(),
        }
    }

    fn extensions(&self) -> Vec<AgentExtension> {
        let is_required = |uri: &str| self.required_extensions.iter().any(|required| required == uri).then_some(true);
        let messaging = AgentExtension {
            uri: MESSAGING_URI.to_owned(),
            description: Some(
                "Durable channels among agents: ordered messages, membership, history, streams.".to_owned(),
            ),
            required: is_required(MESSAGING_URI),
            params: Some(messaging()),
        };
        let others = self.required_extensions.iter().filter(|uri| *uri != MESSAGING_URI);
        let other =
            |uri: &String| AgentExtension { uri: uri.clone(), description: None, required: Some(true), params: None };
        std::iter::once(messaging).chain(others.map(other)).collect()
    }
}

fn skill(skill: &Skill) -> AgentSkill {
    AgentSkill {
        id: skill.id.clone(),
        name: skill.id.clone(),
        description: skill.description.clone(),
        tags: vec!["agent".to_owned()],
        examples: None,
        input_modes: None,
        output_modes: None,
        security_requirements: None,
    }
}

/// What gRPC clients take for an address: a host and a port, no scheme.
fn grpc_target(base_url: &str) -> String {
    let (port, rest) = match base_url.split_once("://") {
        Some(("https", rest)) => (443, rest),
        Some((_, rest)) => (80, rest),
        None => (80, base_url),
    };
    let authority = rest.split('/').next().unwrap_or_default();
    // The colons of an IPv6 address stand in brackets.
    let behind_host = authority.rsplit(']').next().unwrap_or_default();
    if behind_host.contains(':') { authority.to_owned() } else { format!("{authority}:{port}") }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::extension::MESSAGING_FEATURES;

    pub(crate) fn sample() -> Card {
        Card {
            name: "factum".to_owned(),
            description: "An agent.".to_owned(),
            version: "1".to_owned(),
            base_url: "http://localhost:1".to_owned(),
            path: "/a2a".to_owned(),
            grpc_tenant: None,
            skills: vec![Skill { id: "demo".to_owned(), description: "Shows things.".to_owned() }],
            accepts: Vec::new(),
            scopes: Some(vec!["tasks:read".to_owned()]),
            push_notifications: false,
            extended: true,
            required_extensions: Vec::new(),
            tenant: None,
        }
    }

    fn card(form: Form) -> Value {
        form.write(&sample().agent_card())
    }

    /// Seed 002 §2: where a client looks before it uses a channel.
    #[test]
    fn every_form_advertises_the_messaging_extension() {
        let object = json!({ "channels": { "version": "0.1", "features": MESSAGING_FEATURES } });
        for form in [Form::V0_3, Form::April2025] {
            assert_eq!(card(form)["capabilities"]["messaging"], object, "{form:?}");
        }
        for form in [Form::V0_3, Form::V1_0] {
            let extension = &card(form)["capabilities"]["extensions"][0];
            assert_eq!(extension["uri"], MESSAGING_URI, "{form:?}");
            assert_eq!(extension["params"], json!({ "messaging": object }), "{form:?}");
        }
        assert_eq!(card(Form::V1_0)["capabilities"].get("messaging"), None, "1.0 knows no such field");
    }

    #[test]
    fn the_whole_card_of_1_0() {
        let expected = json!({
            "name": "factum",
            "description": "An agent.",
            "version": "1",
            "supportedInterfaces": [
                { "url": "http://localhost:1/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" },
                { "url": "http://localhost:1/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "0.3" },
                { "url": "http://localhost:1/a2a", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0" },
                { "url": "http://localhost:1/a2a", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3" },
                { "url": "localhost:1", "protocolBinding": "GRPC", "protocolVersion": "1.0" },
            ],
            "capabilities": {
                "streaming": true,
                "pushNotifications": false,
                "extendedAgentCard": true,
                "extensions": [{
                    "uri": MESSAGING_URI,
                    "description": "Durable channels among agents: ordered messages, membership, history, streams.",
                    "params": { "messaging": { "channels": { "version": "0.1", "features": MESSAGING_FEATURES } } },
                }],
            },
            "defaultInputModes": ["text/plain", "application/json"],
            "defaultOutputModes": ["text/plain", "application/json"],
            "skills": [{ "id": "demo", "name": "demo", "description": "Shows things.", "tags": ["agent"] }],
            "securitySchemes": { "bearer": { "httpAuthSecurityScheme": { "scheme": "Bearer" } } },
            "securityRequirements": [{ "schemes": { "bearer": { "list": ["tasks:read"] } } }],
        });
        assert_eq!(card(Form::V1_0), expected);
    }

    /// Clients of both versions find what they look for, and neither is told something else than in its own card.
    #[test]
    fn the_card_of_0_3_is_that_of_1_0_with_more() {
        let (v1_0, v0_3) = (card(Form::V1_0), card(Form::V0_3));
        for (name, value) in v1_0.as_object().unwrap() {
            if !matches!(name.as_str(), "capabilities" | "securitySchemes") {
                assert_eq!(&v0_3[name], value, "{name}");
            }
        }
        let more = json!({
            "protocolVersion": "0.3.0",
            "url": "http://localhost:1/a2a",
            "preferredTransport": "JSONRPC",
            "additionalInterfaces": [
                { "url": "http://localhost:1/a2a", "transport": "JSONRPC" },
                { "url": "http://localhost:1/a2a", "transport": "HTTP+JSON" },
            ],
            "supportsAuthenticatedExtendedCard": true,
            "security": [{ "bearer": ["tasks:read"] }],
        });
        for (name, value) in more.as_object().unwrap() {
            assert_eq!(&v0_3[name], value, "{name}");
        }
        let scheme = json!({ "type": "http", "scheme": "Bearer", "httpAuthSecurityScheme": { "scheme": "Bearer" } });
        assert_eq!(v0_3["securitySchemes"]["bearer"], scheme);
        assert_eq!(v0_3["capabilities"]["stateTransitionHistory"], false);
    }

    #[test]
    fn the_card_of_april_2025() {
        let expected = json!({
            "name": "factum",
            "description": "An agent.",
            "version": "1",
            "url": "http://localhost:1/a2a",
            "capabilities": {
                "streaming": true,
                "pushNotifications": false,
                "stateTransitionHistory": false,
                "messaging": { "channels": { "version": "0.1", "features": MESSAGING_FEATURES } },
            },
            "authentication": { "schemes": ["bearer"] },
            "defaultInputModes": ["text/plain", "application/json"],
            "defaultOutputModes": ["text/plain", "application/json"],
            "skills": [{ "id": "demo", "name": "demo", "description": "Shows things.", "tags": ["agent"] }],
        });
        assert_eq!(card(Form::April2025), expected);
        let open = Card { scopes: None, ..sample() };
        assert_eq!(Form::April2025.write(&open.agent_card())["authentication"], json!({ "schemes": [] }));
    }

    #[test]
    fn what_an_operator_configures_is_told() {
        let other = "https://example.com/ext/v1";
        let told = Card {
            push_notifications: true,
            extended: false,
            required_extensions: vec![MESSAGING_URI.to_owned(), other.to_owned()],
            tenant: Some("acme".to_owned()),
            ..sample()
        };
        let card = Form::V1_0.write(&told.agent_card());
        assert_eq!(card["capabilities"]["pushNotifications"], true);
        assert_eq!(card["capabilities"]["extendedAgentCard"], false);
        let extensions = card["capabilities"]["extensions"].as_array().unwrap();
        let required: Vec<_> = extensions.iter().map(|extension| (&extension["uri"], &extension["required"])).collect();
        assert_eq!(required, [(&json!(MESSAGING_URI), &json!(true)), (&json!(other), &json!(true))]);
        let interfaces = card["supportedInterfaces"].as_array().unwrap();
        assert!(interfaces.iter().all(|interface| interface["tenant"] == "acme"), "{interfaces:?}");
    }

    /// gRPC has no path: what leads to an agent that is not the default one stands in the tenant.
    #[test]
    fn grpc_reaches_every_agent_by_a_tenant() {
        let tenants = |grpc_tenant: Option<&str>, tenant: Option<&str>| {
            let text = |text: Option<&str>| text.map(str::to_owned);
            let card = Card { grpc_tenant: text(grpc_tenant), tenant: text(tenant), ..sample() }.agent_card();
            let of = |binding: &str| {
                let mut all = card.supported_interfaces.iter();
                all.find(|interface| interface.protocol_binding == binding).and_then(|found| found.tenant.clone())
            };
            (of("JSONRPC"), of("HTTP+JSON"), of("GRPC"))
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(tenants(None, None), (None, None, None));
        assert_eq!(tenants(None, Some("acme")), (text("acme"), text("acme"), text("acme")));
        assert_eq!(tenants(Some("agents/writer"), None), (None, None, text("agents/writer")));
        let both = tenants(Some("agents/writer"), Some("acme"));
        assert_eq!(both, (text("acme"), text("acme"), text("agents/writer/acme")));
    }

    #[test]
    fn grpc_is_told_a_host_and_a_port() {
        for (url, target) in [
            ("http://localhost:7420", "localhost:7420"),
            ("https://agents.example.com", "agents.example.com:443"),
            ("http://agents.example.com/below", "agents.example.com:80"),
            ("http://[::1]:7420", "[::1]:7420"),
            ("https://[::1]", "[::1]:443"),
        ] {
            assert_eq!(grpc_target(url), target);
        }
    }
}
