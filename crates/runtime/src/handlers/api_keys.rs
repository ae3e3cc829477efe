//! `create_api_key`, `list_api_keys`, `revoke_api_key`, and looking a key up.
//!
//! A key is random and shown once. What is kept is a hash under the server's own secret, so neither the log nor the index
//! is enough to use or to guess a key.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use factum_engine::access::{self, KeyRow};
use factum_engine::{Context, no_opening};
use factum_model::commands::*;
use factum_model::{NewEvent, Refusal, Scope};
use rand::Rng;
use tokio::sync::watch;

use super::list_sessions::Page;
use crate::caller::Caller;
use crate::commit::Accept;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

/// What every key starts with, so that a leaked one is recognised by scanners.
pub const KEY_PREFIX: &str = "fct_";

const PURPOSE: &str = "api_key";

impl Handle<CreateApiKey> for Runtime {
    async fn handle(&self, caller: &Caller, command: CreateApiKey) -> Result<CreateApiKeyResult, Refusal> {
        let accept = match self.repeat(caller, &command, None).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        let key = new_key();
        let hash = self.hash_api_key(&key);
        let (key_id, event) = self.with_context(caller, |context| {
            let key_id = context.key_id();
            let event = access::create_api_key(&command, &key_id, hash, context)?;
            Ok((key_id, event))
        })?;
        // The answer that a repeat gets must not hold the secret, so the repeat says only which key it was.
        let answer =
            |sequence| serde_json::to_value(CreateApiKeyResult { key_id: key_id.clone(), key: None, sequence });
        let sequence = self.append_access(caller, vec![event], None, &accept, answer).await?;
        self.0.principals.meet(&caller.account, &command.principal);
        Ok(CreateApiKeyResult { key_id, key: Some(key), sequence })
    }
}

impl Handle<ListApiKeys> for Runtime {
    async fn handle(&self, caller: &Caller, command: ListApiKeys) -> Result<ListApiKeysResult, Refusal> {
        let page = Page { purpose: "list_api_keys", limit: command.limit, cursor: command.cursor.as_deref() };
        let (rows, next_cursor) = self.page::<KeyRow>(caller, access::keys_of(&caller.account), page).await?;
        Ok(ListApiKeysResult { keys: rows.into_iter().map(KeyRow::info).collect(), next_cursor })
    }
}

impl Handle<RevokeApiKey> for Runtime {
    async fn handle(&self, caller: &Caller, command: RevokeApiKey) -> Result<RevokeApiKeyResult, Refusal> {
        let accept = match self.repeat(caller, &command, None).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        let row = self.key_row(access::id_key(&caller.account, &command.key_id)).await?;
        let row = row.ok_or_else(Refusal::not_found)?;
        let event = self.with_context(caller, |context| Ok(access::revoke_api_key(&row, &command, context)))?;
        let key_id = command.key_id.clone();
        let answer = |sequence| serde_json::to_value(RevokeApiKeyResult { key_id: key_id.clone(), sequence });
        let sequence = self.append_access(caller, event.into_iter().collect(), Some(&row), &accept, answer).await?;
        // Before the answer: whoever revokes a key may count on its streams being told.
        self.0.keys_revoked.send_modify(|revoked| *revoked += 1);
        Ok(RevokeApiKeyResult { key_id: command.key_id, sequence })
    }
}

impl Runtime {
    /// Who shows this key, if it is good now.
    pub async fn authenticate_key(&self, key: &str) -> Result<Option<Caller>, Refusal> {
        if !key.starts_with(KEY_PREFIX) {
            return Ok(None);
        }
        let row = self.key_row(access::hash_key(&self.hash_api_key(key))).await?;
        let now = self.now();
        let good = row.filter(|row| !row.revoked && row.expires_at.is_none_or(|at| at > now));
        Ok(good.map(|row| Caller::new(&row.principal, &row.account, row.scopes)))
    }

    /// Moves whenever a key is revoked, once that is durable: streams that were let in with a key ask again then.
    pub fn keys_revoked(&self) -> watch::Receiver<u64> {
        self.0.keys_revoked.subscribe()
    }

    fn hash_api_key(&self, key: &str) -> String {
        let mut hex = String::with_capacity(64);
        for byte in self.0.secret.mac(PURPOSE, &[key.as_bytes()]) {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }

    async fn key_row(&self, key: Vec<u8>) -> Result<Option<KeyRow>, Refusal> {
        let row = self.0.store.get(&key).await.map_err(|error| read_refusal(&error))?;
        let row = row.map(|row| serde_json::from_slice(&row)).transpose();
        row.map_err(|error| Refusal::internal(format!("key row: {error}")))
    }

    fn with_context<T>(
        &self,
        caller: &Caller,
        decide: impl FnOnce(&mut Context<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let now = self.now();
        let mut ids = self.0.sources.ids.source(now);
        decide(&mut Context {
            now,
            ids: &mut *ids,
            caller: &caller.principal,
            account: &caller.account,
            through: None,
            limits: &self.0.limits,
            prelude: 0,
            opening: &no_opening,
        })
    }

    /// Writes access facts, with those of the command's keys in front. Nothing to write is fine.
    async fn append_access(
        &self,
        caller: &Caller,
        facts: Vec<NewEvent>,
        known: Option<&KeyRow>,
        accept: &Accept,
        answer: impl Fn(u64) -> Result<serde_json::Value, serde_json::Error>,
    ) -> Result<u64, Refusal> {
        let build = |current: u64| {
            let sequence = current + (accept.keys.len() + facts.len()) as u64;
            let result = answer(sequence).map_err(|error| Refusal::internal(error.to_string()))?;
            let mut events = accept.facts(&Scope::default(), &caller.principal, &result);
            events.extend(facts);
            Ok(events)
        };
        let index = |events: &[factum_model::Event]| {
            let changes =
                |event| access::idempotency(&caller.account, event).into_iter().chain(access::index(event, known));
            events.iter().flat_map(changes).collect()
        };
        self.append_own(&caller.trace, accept, build, index).await
    }
}

/// 256 random bits behind the prefix.
#[allow(clippy::disallowed_methods, reason = "a secret must not come out of a seeded generator")]
fn new_key() -> String {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    format!("{KEY_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
}
