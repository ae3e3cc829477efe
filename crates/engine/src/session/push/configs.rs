//! Setting and deleting a configuration.

use factum_model::events::{PushConfigDeleted, PushConfigSet};
use factum_model::id::TaskId;
use factum_model::{NewEvent, Refusal, Scope};
use serde::{Deserialize, Serialize};

use crate::context::{Context, Decision, check};
use crate::session::lookup::require_session;
use crate::session::state::SessionState;

/// The longest id of a configuration.
const ID_CHARS_MAX: usize = 128;
/// The longest address.
const URL_CHARS_MAX: usize = 2_048;
/// The longest name of a scheme.
const SCHEME_CHARS_MAX: usize = 64;

/// A configuration as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PushConfig {
    pub config_id: String,
    pub native_protocol: String,
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_secrets: Option<String>,
}

/// A configuration somebody wants.
#[derive(Clone, Debug)]
pub struct NewPushConfig<'a> {
    pub config_id: &'a str,
    pub native_protocol: &'a str,
    pub url: &'a str,
    pub scheme: Option<&'a str>,
    pub sealed_secrets: Option<&'a str>,
}

impl NewPushConfig<'_> {
    /// As it is kept, where it may be.
    pub fn checked(&self) -> Result<PushConfig, Refusal> {
        check("push_config_id_chars", self.config_id.chars().count(), ID_CHARS_MAX)?;
        check("push_url_chars", self.url.chars().count(), URL_CHARS_MAX)?;
        check("push_scheme_chars", self.scheme.map_or(0, |scheme| scheme.chars().count()), SCHEME_CHARS_MAX)?;
        Ok(PushConfig {
            config_id: self.config_id.to_owned(),
            native_protocol: self.native_protocol.to_owned(),
            url: self.url.to_owned(),
            scheme: self.scheme.map(str::to_owned),
            sealed_secrets: self.sealed_secrets.map(str::to_owned),
        })
    }
}

impl PushConfig {
    /// The fact that it was set, for a task that is there.
    pub(crate) fn set(&self, by: &str) -> PushConfigSet {
        let PushConfig { config_id, native_protocol, url, scheme, sealed_secrets } = self.clone();
        let set_by = by.to_owned();
        PushConfigSet {
            config_id,
            native_protocol,
            url,
            scheme,
            sealed_secrets,
            set_by,
            remote_task_id: None,
            agent: None,
        }
    }
}

/// Sets a configuration, or sets it anew. `known` are those its task has.
pub fn set_push_config(
    state: &SessionState,
    task_id: &TaskId,
    known: &[PushConfig],
    new: &NewPushConfig<'_>,
    context: &mut Context<'_>,
) -> Result<Decision<PushConfig>, Refusal> {
    let shell = require_session(state)?;
    let config = new.checked()?;
    let others = known.iter().filter(|config| config.config_id != new.config_id).count();
    check("push_configs", others + 1, context.limits.push_configs_max)?;
    let scope = Scope::default().session_id(&shell.session_id).task_id(task_id);
    Ok(Decision { events: vec![NewEvent::new(scope, config.set(context.caller))], output: config })
}

/// Deletes a configuration. One that is not there is deleted already.
pub fn delete_push_config(
    state: &SessionState,
    task_id: &TaskId,
    known: &[PushConfig],
    config_id: &str,
    context: &mut Context<'_>,
) -> Result<Decision<()>, Refusal> {
    let shell = require_session(state)?;
    let mut events = Vec::new();
    if known.iter().any(|config| config.config_id == config_id) {
        let scope = Scope::default().session_id(&shell.session_id).task_id(task_id);
        let deleted_by = context.caller.to_owned();
        events.push(NewEvent::new(scope, PushConfigDeleted { config_id: config_id.to_owned(), deleted_by }));
    }
    Ok(Decision { events, output: () })
}
