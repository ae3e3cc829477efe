//! Where a peer wants to be told about its tasks. Secrets are sealed before they are decided on, and never given back.

use bytes::Bytes;
use factum_engine::peers::PushAhead;
use factum_engine::session::SessionState;
use factum_engine::session::push::{NewPushConfig, PushConfig, delete_push_config, keys, set_push_config};
use factum_engine::session::tasks::inbound::InboundRow;
use factum_engine::{Context, Decision, digest_of};
use factum_model::Refusal;
use factum_model::commands::SubmitTurn;
use factum_model::registry::Scope;
use factum_model::{Command, id::TaskId};
use factum_store::{Direction, Scan};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::caller::Caller;
use crate::commit::Accept;
use crate::error::read_refusal;
use crate::idempotency::Held;
use crate::runtime::Runtime;

/// What the secrets of configurations are sealed for.
const PURPOSE: &str = "push-config";

/// The longest token, and the longest credentials. What is set ahead of its task stays in memory.
const SECRET_BYTES_MAX: usize = 4 << 10;

/// Where a peer wants to be told.
#[derive(Clone, Debug)]
pub struct PushTarget {
    /// The peer's own id for it; one is made where absent.
    pub config_id: Option<String>,
    pub url: String,
    pub scheme: Option<String>,
    /// What the peer recognises its own notifications by.
    pub token: Option<SecretString>,
    /// What the receiver asks for.
    pub credentials: Option<SecretString>,
}

impl PushTarget {
    /// What makes it the same as another, secrets included. It tells none of them.
    pub(super) fn digest(&self) -> String {
        let plain = |secret: &Option<SecretString>| secret.as_ref().map(|secret| secret.expose_secret().to_owned());
        digest_of(&json!([self.config_id, self.url, self.scheme, plain(&self.token), plain(&self.credentials)]))
    }

    pub(super) fn new_config<'a>(
        &'a self,
        config_id: &'a str,
        native_protocol: &'a str,
        sealed_secrets: Option<&'a str>,
    ) -> NewPushConfig<'a> {
        NewPushConfig { config_id, native_protocol, url: &self.url, scheme: self.scheme.as_deref(), sealed_secrets }
    }
}

/// A configuration that is about to be set.
pub(super) struct Wanted<'a> {
    protocol: &'a str,
    task_id: &'a TaskId,
    target: &'a PushTarget,
    config_id: String,
    sealed: Option<String>,
    known: Vec<PushConfig>,
}

impl Wanted<'_> {
    pub(super) fn set(&self, state: &SessionState, context: &mut Context<'_>) -> Result<Decision<PushConfig>, Refusal> {
        let new = self.target.new_config(&self.config_id, self.protocol, self.sealed.as_deref());
        set_push_config(state, self.task_id, &self.known, &new, context)
    }
}

impl Runtime {
    /// Sets where changes of a task are pushed to.
    pub async fn set_push_target(
        &self,
        caller: &Caller,
        protocol: &str,
        row: &InboundRow,
        target: PushTarget,
    ) -> Result<PushConfig, Refusal> {
        caller.require(SubmitTurn::SCOPE)?;
        let (wanted, held) = self.wanted(caller, protocol, row, &target).await?;
        let actor = caller.actor();
        let decide = |state: &SessionState, context: &mut Context<'_>| wanted.set(state, context);
        let decided = self.execute(&caller.account, &row.session_id, &actor, &Accept::holding(held), decide).await;
        decided.map(|(config, _)| config)
    }

    /// What setting a configuration of a task that is there takes to know. Nobody else sets one of it while the lock is held.
    pub(super) async fn wanted<'a>(
        &'a self,
        caller: &Caller,
        protocol: &'a str,
        row: &'a InboundRow,
        target: &'a PushTarget,
    ) -> Result<(Wanted<'a>, Held), Refusal> {
        let config_id = self.config_id(target);
        let sealed = self.seal_target(caller, &row.task_id, &config_id, target)?;
        // Two at once must not both count the same ones.
        let held = self.0.keyed.lock(vec![keys::configs(&caller.account, &row.task_id)]).await;
        let known = self.configs(caller, &row.task_id).await?;
        Ok((Wanted { protocol, task_id: &row.task_id, target, config_id, sealed, known }, held))
    }

    /// The configurations that a task begins with: what came with its message, and what its peer said ahead. Secrets are sealed
    /// for one task, so this is where its id is made.
    pub(super) fn wanted_first(
        &self,
        caller: &Caller,
        protocol: &str,
        target: Option<&PushTarget>,
        ahead: Option<&PushAhead>,
    ) -> Result<Option<(TaskId, Vec<PushConfig>)>, Refusal> {
        let mut configs: Vec<PushConfig> = ahead.iter().map(|ahead| ahead.config.clone()).collect();
        let made = || TaskId::from_uuid(self.0.sources.ids.source(self.now()).next_uuid());
        let task_id = match (target, ahead) {
            (None, None) => return Ok(None),
            (_, Some(ahead)) => ahead.task_id.clone(),
            (Some(_), None) => made(),
        };
        if let Some(target) = target {
            let config_id = self.config_id(target);
            let sealed = self.seal_target(caller, &task_id, &config_id, target)?;
            let new = target.new_config(&config_id, protocol, sealed.as_deref()).checked()?;
            configs.retain(|config| config.config_id != config_id);
            configs.push(new);
        }
        Ok(Some((task_id, configs)))
    }

    /// The peer's own id of a configuration, or one that is made.
    fn config_id(&self, target: &PushTarget) -> String {
        target.config_id.clone().filter(|id| !id.is_empty()).unwrap_or_else(|| self.remote_id())
    }

    /// Where changes of a task are pushed to, by id.
    pub async fn push_targets(&self, caller: &Caller, row: &InboundRow) -> Result<Vec<PushConfig>, Refusal> {
        caller.require(Scope::SessionsRead)?;
        let mut configs = self.configs(caller, &row.task_id).await?;
        configs.sort_by(|a, b| a.config_id.cmp(&b.config_id));
        Ok(configs)
    }

    /// Deletes a configuration; one that is not there is deleted already.
    pub async fn delete_push_target(&self, caller: &Caller, row: &InboundRow, config_id: &str) -> Result<(), Refusal> {
        caller.require(SubmitTurn::SCOPE)?;
        let held = self.0.keyed.lock(vec![keys::configs(&caller.account, &row.task_id)]).await;
        let known = self.configs(caller, &row.task_id).await?;
        let actor = caller.actor();
        let decide = |state: &SessionState, context: &mut Context<'_>| {
            delete_push_config(state, &row.task_id, &known, config_id, context)
        };
        self.execute(&caller.account, &row.session_id, &actor, &Accept::holding(held), decide).await.map(drop)
    }

    async fn configs(&self, caller: &Caller, task_id: &TaskId) -> Result<Vec<PushConfig>, Refusal> {
        let scan = Scan {
            prefix: keys::configs(&caller.account, task_id).into(),
            after: None,
            until: None,
            direction: Direction::Forward,
            limit: self.0.limits.push_configs_max,
        };
        let rows = self.0.store.scan(scan).await.map_err(|error| read_refusal(&error))?;
        let parse = |(_, value): (Bytes, Bytes)| serde_json::from_slice(&value);
        let rows: Result<Vec<PushConfig>, _> = rows.into_iter().map(parse).collect();
        rows.map_err(|error| Refusal::internal(format!("push row: {error}")))
    }

    /// The secrets as the log keeps them: good for this configuration of this task alone.
    pub(super) fn seal_target(
        &self,
        caller: &Caller,
        task_id: &TaskId,
        config_id: &str,
        target: &PushTarget,
    ) -> Result<Option<String>, Refusal> {
        if target.token.is_none() && target.credentials.is_none() {
            return Ok(None);
        }
        for secret in [&target.token, &target.credentials].into_iter().flatten() {
            let bytes = secret.expose_secret().len();
            if bytes > SECRET_BYTES_MAX {
                return Err(Refusal::limit("push_secret_bytes", bytes as u64, SECRET_BYTES_MAX as u64));
            }
        }
        let plain = |secret: &Option<SecretString>| secret.as_ref().map(|secret| secret.expose_secret().to_owned());
        let secrets = json!({ "token": plain(&target.token), "credentials": plain(&target.credentials) }).to_string();
        let place = format!("{}\n{}\n{config_id}", caller.account, task_id);
        self.0.secret.encrypt(PURPOSE, &place, secrets.as_bytes()).map(Some)
    }
}
