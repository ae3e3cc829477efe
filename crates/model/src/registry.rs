//! The registry: every command declared once, with who may call it and what its params and result look like.
//!
//! Everything that offers commands is made from here: the JSON-RPC table, HTTP routes, `/openapi.json`, `/schemas`,
//! `factum call`, the authorization matrix and the reference pages. So nothing can be on one transport and missing on
//! another. A command is a params struct in `commands/` plus a line in `commands/mod.rs`.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A command: its params are the type itself.
pub trait Command: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    const NAME: &'static str;
    const SCOPE: Scope;
    const KIND: Kind;

    /// The caller's key for repeating this command safely. Only mutations have one.
    fn idempotency_key(&self) -> Option<&str>;
}

/// Whether a command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Read,
    Mutation,
}

/// What a credential may be good for. A command names the one it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Scope {
    /// Look at sessions, threads, events.
    #[serde(rename = "sessions:read")]
    SessionsRead,
    /// Submit, interrupt, reorder.
    #[serde(rename = "sessions:write")]
    SessionsWrite,
    /// Answer actions and permissions.
    #[serde(rename = "actions:respond")]
    ActionsRespond,
    #[serde(rename = "tasks:read")]
    TasksRead,
    #[serde(rename = "tasks:write")]
    TasksWrite,
    /// Subagents and jobs are work too; processes are closer to the machine.
    #[serde(rename = "processes:write")]
    ProcessesWrite,
    /// Export evidence, replays and reviews.
    #[serde(rename = "evidence:export")]
    EvidenceExport,
    /// Enroll, reconnect and acknowledge remote channels.
    #[serde(rename = "channels:write")]
    ChannelsWrite,
    /// Look at messaging channels, read and follow them.
    #[serde(rename = "messaging:read")]
    MessagingRead,
    /// Create and manage messaging channels, publish, say what was read.
    #[serde(rename = "messaging:write")]
    MessagingWrite,
    /// Issue and revoke keys, read what concerns the whole account.
    #[serde(rename = "admin")]
    Admin,
}

impl Scope {
    pub const ALL: [Scope; 11] = [
        Self::SessionsRead,
        Self::SessionsWrite,
        Self::ActionsRespond,
        Self::TasksRead,
        Self::TasksWrite,
        Self::ProcessesWrite,
        Self::EvidenceExport,
        Self::ChannelsWrite,
        Self::MessagingRead,
        Self::MessagingWrite,
        Self::Admin,
    ];

    /// The scope as it stands in keys, tokens and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionsRead => "sessions:read",
            Self::SessionsWrite => "sessions:write",
            Self::ActionsRespond => "actions:respond",
            Self::TasksRead => "tasks:read",
            Self::TasksWrite => "tasks:write",
            Self::ProcessesWrite => "processes:write",
            Self::EvidenceExport => "evidence:export",
            Self::ChannelsWrite => "channels:write",
            Self::MessagingRead => "messaging:read",
            Self::MessagingWrite => "messaging:write",
            Self::Admin => "admin",
        }
    }

    /// The scope spelled so, if there is one.
    pub fn parse(text: &str) -> Option<Scope> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of scopes. `admin` is not the sum of the others: it is one more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Scopes(std::collections::BTreeSet<Scope>);

impl Scopes {
    /// Everything a member of an account may do.
    pub fn member() -> Self {
        Scope::ALL.into_iter().filter(|scope| *scope != Scope::Admin).collect()
    }

    /// Everything.
    pub fn admin() -> Self {
        Scope::ALL.into_iter().collect()
    }

    pub fn allows(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    pub fn iter(&self) -> impl Iterator<Item = Scope> + '_ {
        self.0.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

/// What the reference, the routers and the authorization matrix know of a command.
pub struct CommandInfo {
    pub name: &'static str,
    pub family: &'static str,
    pub summary: &'static str,
    pub scope: Scope,
    pub kind: Kind,
    pub params: fn(&mut SchemaGenerator) -> Schema,
    pub result: fn(&mut SchemaGenerator) -> Schema,
}
