//! The server under test: where each binding is, what its card says, and whom we are there.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::binding::Binding;
use crate::suite::Test;

/// The version of the protocol that the suites are about.
pub(crate) const PROTOCOL_VERSION: &str = "1.0";

#[derive(Debug)]
pub(crate) struct Target {
    pub base: String,
    pub card: Value,
    pub http: reqwest::Client,
    pub credentials: Credentials,
    urls: BTreeMap<Binding, String>,
}

/// Bearer tokens; none where the server asks for none.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    /// Of somebody who may do everything the suites ask for.
    pub own: Option<String>,
    /// Of somebody who may do none of it.
    pub insufficient: Option<String>,
    /// Of somebody who must not see our tasks, nor we theirs.
    pub other: Option<String>,
}

impl Target {
    /// Reads the card of a server.
    pub(crate) async fn discover(base: &str, credentials: Credentials) -> Result<Target> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        let url = format!("{base}/.well-known/agent-card.json");
        let card: Value = http
            .get(&url)
            .header("A2A-Version", PROTOCOL_VERSION)
            .send()
            .await
            .with_context(|| format!("no answer from {url}"))?
            .error_for_status()?
            .json()
            .await
            .with_context(|| format!("{url} is no JSON"))?;
        let urls = Binding::ALL.into_iter().filter_map(|binding| Some((binding, interface(&card, binding)?))).collect();
        Ok(Target { base: base.to_owned(), card, http, credentials, urls })
    }

    /// Where a binding is, by the card.
    pub(crate) fn url(&self, binding: Binding) -> Result<&str> {
        let Some(url) = self.urls.get(&binding) else {
            bail!("the card names no interface {} with version {PROTOCOL_VERSION}", binding.in_card());
        };
        Ok(url)
    }

    /// Why a test is not about this server, if it is not.
    pub(crate) fn lacks(&self, test: &Test) -> Option<String> {
        let wanted = &test.preconditions;
        for (name, expected) in &wanted.capabilities {
            let found = self.capability(name);
            if found != *expected {
                return Some(format!("capability {name} is {found}, not {expected}"));
            }
        }
        let skills = self.card["skills"].as_array().cloned().unwrap_or_default();
        if let Some(skill) = wanted.skills.iter().find(|skill| skills.iter().all(|has| has["id"] != *skill.id)) {
            return Some(format!("there is no skill {}", skill.id));
        }
        let extensions = self.card["capabilities"]["extensions"].as_array().cloned().unwrap_or_default();
        let missing = wanted.extensions.iter().find(|uri| extensions.iter().all(|has| has["uri"] != **uri))?;
        Some(format!("there is no extension {missing}"))
    }

    /// What the card says of a capability; one that is not mentioned is not there. `authentication` is no field of the
    /// card: a server has it where it names security schemes.
    pub(crate) fn capability(&self, name: &str) -> Value {
        if name == "authentication" {
            return self.card["securitySchemes"].as_object().is_some_and(|schemes| !schemes.is_empty()).into();
        }
        match self.card["capabilities"].get(name) {
            None | Some(Value::Null) => false.into(),
            Some(value) => value.clone(),
        }
    }
}

fn interface(card: &Value, binding: Binding) -> Option<String> {
    let fits = |interface: &&Value| {
        let version = interface["protocolVersion"].as_str().unwrap_or_default();
        interface["protocolBinding"] == binding.in_card() && version.starts_with("1.")
    };
    let url = card["supportedInterfaces"].as_array()?.iter().find(fits)?["url"].as_str()?;
    Some(url.trim_end_matches('/').to_owned())
}
