//! The access aggregate: API keys, as facts of the runtime's own stream. Secrets never come here, only keyed hashes.

use factum_model::commands::{ApiKeyInfo, CreateApiKey, RevokeApiKey};
use factum_model::events::{ApiKeyCreated, ApiKeyRevoked};
use factum_model::id::KeyId;
use factum_model::registry::Scopes;
use factum_model::{Event, Fact, NewEvent, Refusal, Scope, Timestamp};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::key::{IndexChange, Key, row_bytes};
use crate::session::idempotency_row;

/// The name of the runtime's own stream.
pub const RUNTIME_STREAM: &str = "runtime";

/// The partition of the runtime's own stream. It is not a valid account name, so no account ever sees it in a feed.
pub const RUNTIME_PARTITION: &str = "*runtime";

/// A key as the index knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyRow {
    pub key_id: KeyId,
    pub hash: String,
    pub account: String,
    pub principal: String,
    pub scopes: Scopes,
    pub name: Option<String>,
    pub created_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    #[serde(default)]
    pub revoked: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

impl KeyRow {
    /// What is told of a key: everything but what recognises it.
    pub fn info(self) -> ApiKeyInfo {
        ApiKeyInfo {
            key_id: self.key_id,
            principal: self.principal,
            scopes: self.scopes,
            name: self.name,
            created_by: self.created_by,
            created_at: self.created_at,
            expires_at: self.expires_at,
            revoked: self.revoked,
            revoked_at: self.revoked_at,
        }
    }
}

/// Found by the keyed hash of the secret a caller shows.
pub fn hash_key(hash: &str) -> Vec<u8> {
    Key::table("key_hash").text(hash).into_bytes()
}

/// Found by id, within the account.
pub fn id_key(account: &str, key_id: &KeyId) -> Vec<u8> {
    Key::table("key").text(account).text(key_id.as_str()).into_bytes()
}

/// Those of every account.
pub fn all_keys() -> Vec<u8> {
    Key::table("key").into_bytes()
}

pub fn keys_of(account: &str) -> Vec<u8> {
    Key::table("key").text(account).into_bytes()
}

/// Decides to issue a key with this hash.
pub fn create_api_key(
    command: &CreateApiKey,
    key_id: &KeyId,
    hash: String,
    context: &Context<'_>,
) -> Result<NewEvent, Refusal> {
    check_principal(&command.principal)?;
    if is_the_runtimes(&command.principal) {
        return Err(Refusal::invalid(
            "names that begin with runtime:// or peer: are the runtime's own; choose another",
        ));
    }
    if command.expires_at.is_some_and(|at| at <= context.now) {
        return Err(Refusal::invalid("expires_at is in the past"));
    }
    let scopes = command.scopes.clone().unwrap_or_else(Scopes::member);
    if scopes.is_empty() {
        return Err(Refusal::invalid("a key needs at least one scope"));
    }
    context.limits.check_title(command.name.as_deref())?;
    Ok(NewEvent::new(
        Scope::default(),
        ApiKeyCreated {
            key_id: key_id.clone(),
            hash,
            account: context.account.to_owned(),
            principal: command.principal.clone(),
            scopes,
            name: command.name.clone(),
            created_by: context.caller.to_owned(),
            expires_at: command.expires_at,
        },
    ))
}

/// Decides to revoke a key; nothing where it is revoked already.
pub fn revoke_api_key(row: &KeyRow, command: &RevokeApiKey, context: &Context<'_>) -> Option<NewEvent> {
    (!row.revoked).then(|| {
        NewEvent::new(
            Scope::default(),
            ApiKeyRevoked {
                key_id: row.key_id.clone(),
                hash: row.hash.clone(),
                account: row.account.clone(),
                revoked_by: context.caller.to_owned(),
                reason: command.reason.clone(),
            },
        )
    })
}

/// The index changes of one event of the runtime's stream. `known` is the row of a key that is being revoked.
pub fn index(event: &Event, known: Option<&KeyRow>) -> Vec<IndexChange> {
    match &event.fact {
        Fact::ApiKeyCreated(fact) => rows(&KeyRow {
            key_id: fact.key_id.clone(),
            hash: fact.hash.clone(),
            account: fact.account.clone(),
            principal: fact.principal.clone(),
            scopes: fact.scopes.clone(),
            name: fact.name.clone(),
            created_by: fact.created_by.clone(),
            created_at: Some(event.timestamp),
            expires_at: fact.expires_at,
            revoked: false,
            revoked_at: None,
        }),
        Fact::ApiKeyRevoked(_) => known.map_or_else(Vec::new, |row| {
            rows(&KeyRow { revoked: true, revoked_at: Some(event.timestamp), ..row.clone() })
        }),
        _ => Vec::new(),
    }
}

/// The index change of a keyed command recorded in the runtime's stream.
pub fn idempotency(account: &str, event: &Event) -> Option<IndexChange> {
    if let Fact::CommandAccepted(fact) = &event.fact { Some(idempotency_row(account, fact)) } else { None }
}

fn rows(row: &KeyRow) -> Vec<IndexChange> {
    let value = row_bytes(row);
    vec![
        IndexChange::Put { key: hash_key(&row.hash), value: value.clone() },
        IndexChange::Put { key: id_key(&row.account, &row.key_id), value },
    ]
}

/// The longest principal accepted, in bytes.
pub const PRINCIPAL_BYTES_MAX: usize = 200;

/// Whether facts use this name for a part of the runtime, or for a peer it speaks to. Nobody else comes under it: what they did
/// would read as if the runtime had.
pub fn is_the_runtimes(principal: &str) -> bool {
    principal.starts_with("runtime://") || principal.starts_with("peer:")
}

/// Principals are names such as `agent://assistant`.
pub fn check_principal(principal: &str) -> Result<(), Refusal> {
    let fine = |c: char| !c.is_control() && !c.is_whitespace();
    if principal.is_empty() || principal.len() > PRINCIPAL_BYTES_MAX || !principal.chars().all(fine) {
        return Err(Refusal::invalid(
            "a principal is a name such as agent://assistant, up to 200 bytes, without spaces",
        ));
    }
    Ok(())
}
