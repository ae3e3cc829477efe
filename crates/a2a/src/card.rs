//! The agent card: what this agent is, where it is reached, and what it can do, as each version of the protocol reads it.

use serde_json::{Map, Value, json};

use crate::extension::{MESSAGING_URI, messaging};
use crate::version::Version;

/// What a card says, whatever its form.
#[derive(Clone, Debug)]
pub struct Card {
    pub name: String,
    pub description: String,
    /// Of the agent, not of the protocol.
    pub version: String,
    /// Where this server is reached, without a slash at the end.
    pub base_url: String,
    pub skills: Vec<Skill>,
    /// Whether a credential is needed.
    pub secured: bool,
}

#[derive(Clone, Debug)]
pub struct Skill {
    pub id: String,
    pub description: String,
}

/// How a card is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    V1_0,
    /// With what 1.0 needs beside it: clients of both find what they look for.
    V0_3,
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

impl Card {
    pub fn to_json(&self, form: Form) -> Value {
        match form {
            Form::V1_0 => self.v1_0().into(),
            Form::V0_3 => self.v0_3().into(),
            Form::April2025 => self.april_2025(),
        }
    }

    fn endpoint(&self) -> String {
        format!("{}/a2a", self.base_url)
    }

    fn v1_0(&self) -> Map<String, Value> {
        let extension = json!({
            "uri": MESSAGING_URI,
            "description": "Durable channels among agents: ordered messages, membership, history, streams.",
            "required": false,
            "params": messaging(),
        });
        let interfaces = json!([
            { "url": self.endpoint(), "protocolBinding": "JSONRPC", "protocolVersion": Version::V1_0.as_str() },
            { "url": self.endpoint(), "protocolBinding": "JSONRPC", "protocolVersion": Version::V0_3.as_str() },
        ]);
        let mut card = self.common();
        card.insert("supportedInterfaces".to_owned(), interfaces);
        let capabilities = json!({ "streaming": false, "pushNotifications": false, "extensions": [extension] });
        card.insert("capabilities".to_owned(), capabilities);
        if self.secured {
            let bearer = json!({ "httpAuthSecurityScheme": { "scheme": "Bearer" } });
            card.insert("securitySchemes".to_owned(), json!({ "bearer": bearer }));
            card.insert("securityRequirements".to_owned(), json!([{ "schemes": { "bearer": { "list": [] } } }]));
        }
        card
    }

    fn v0_3(&self) -> Map<String, Value> {
        let mut card = self.v1_0();
        card.remove("securityRequirements");
        card["capabilities"]["messaging"] = messaging();
        card["capabilities"]["stateTransitionHistory"] = false.into();
        card.insert("protocolVersion".to_owned(), "0.3.0".into());
        card.insert("url".to_owned(), self.endpoint().into());
        card.insert("preferredTransport".to_owned(), "JSONRPC".into());
        card.insert("additionalInterfaces".to_owned(), json!([{ "url": self.endpoint(), "transport": "JSONRPC" }]));
        card.insert("supportsAuthenticatedExtendedCard".to_owned(), false.into());
        if self.secured {
            card.insert("securitySchemes".to_owned(), json!({ "bearer": { "type": "http", "scheme": "bearer" } }));
            card.insert("security".to_owned(), json!([{ "bearer": [] }]));
        }
        card
    }

    fn april_2025(&self) -> Value {
        let schemes: &[&str] = if self.secured { &["bearer"] } else { &[] };
        let capabilities = json!({
            "streaming": false,
            "pushNotifications": false,
            "stateTransitionHistory": false,
            "messaging": messaging(),
        });
        let mut card = self.common();
        card.insert("url".to_owned(), self.endpoint().into());
        card.insert("capabilities".to_owned(), capabilities);
        card.insert("authentication".to_owned(), json!({ "schemes": schemes }));
        card.into()
    }

    fn common(&self) -> Map<String, Value> {
        let skill = |skill: &Skill| json!({ "id": skill.id, "name": skill.id, "description": skill.description, "tags": ["agent"] });
        let mut card = Map::new();
        card.insert("name".to_owned(), self.name.as_str().into());
        card.insert("description".to_owned(), self.description.as_str().into());
        card.insert("version".to_owned(), self.version.as_str().into());
        card.insert("defaultInputModes".to_owned(), json!(["text/plain", "application/json"]));
        card.insert("defaultOutputModes".to_owned(), json!(["text/plain", "application/json"]));
        card.insert("skills".to_owned(), self.skills.iter().map(skill).collect());
        card
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extension::MESSAGING_FEATURES;

    fn card(form: Form) -> Value {
        let skill = Skill { id: "demo".to_owned(), description: "Shows things.".to_owned() };
        let card = Card {
            name: "factum".to_owned(),
            description: "An agent.".to_owned(),
            version: "1".to_owned(),
            base_url: "http://localhost:1".to_owned(),
            skills: vec![skill],
            secured: true,
        };
        card.to_json(form)
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
            assert_eq!((&extension["uri"], &extension["params"]), (&json!(MESSAGING_URI), &object), "{form:?}");
        }
        assert_eq!(card(Form::V1_0)["capabilities"].get("messaging"), None, "1.0 knows no such field");
    }

    #[test]
    fn each_form_says_where_the_agent_is() {
        let url = json!("http://localhost:1/a2a");
        assert_eq!(card(Form::V1_0)["supportedInterfaces"][0]["url"], url);
        assert_eq!(card(Form::V1_0).get("url"), None);
        for form in [Form::V0_3, Form::April2025] {
            assert_eq!(card(form)["url"], url);
        }
        assert_eq!(card(Form::V0_3)["supportedInterfaces"], card(Form::V1_0)["supportedInterfaces"]);
    }
}
