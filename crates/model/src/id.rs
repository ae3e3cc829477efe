//! Typed identities: one type for each identity of seed 003, so that a turn is never passed where a thread is meant.
//!
//! An id is either made by the runtime (`prefix_` and a UUIDv7, so that ids sort by age) or brought by a caller, who may
//! choose any name of the allowed characters. Nothing is ever read out of an id: what it stands for is looked up.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// The longest id accepted, in bytes.
pub const ID_BYTES_MAX: usize = 128;

/// The length of a UUID as text.
const HYPHENATED: usize = uuid::fmt::Hyphenated::LENGTH;

/// Why a text is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id has 1 to {ID_BYTES_MAX} characters out of A-Z a-z 0-9 _ - . : and this one does not")]
pub struct BadId;

fn check(text: &str) -> Result<(), BadId> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':');
    if text.is_empty() || text.len() > ID_BYTES_MAX || !text.bytes().all(allowed) {
        return Err(BadId);
    }
    Ok(())
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// What ids made by the runtime start with, without the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// The id with this UUID behind the prefix.
            pub fn from_uuid(uuid: Uuid) -> Self {
                const START: usize = $prefix.len() + 1;
                let mut text = [b'_'; START + HYPHENATED];
                text[..START - 1].copy_from_slice($prefix.as_bytes());
                uuid.hyphenated().encode_lower(&mut text[START..]);
                // ASCII from beginning to end.
                Self(std::str::from_utf8(&text).unwrap_or_default().into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The same text, shared.
            pub fn shared(&self) -> Arc<str> {
                self.0.clone()
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                check(text)?;
                Ok(Self(text.into()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "minLength": 1,
                    "maxLength": ID_BYTES_MAX,
                    "pattern": "^[A-Za-z0-9_.:-]+$",
                    "examples": [concat!($prefix, "_0198c0de-0000-7000-8000-000000000000")],
                })
            }
        }
    )*

        /// Every identity with its prefix, for the reference.
        pub const IDENTITIES: &[(&str, &str)] = &[$((stringify!($name), $prefix)),*];
    };
}

ids! {
    /// A runtime installation.
    RuntimeId = "rt";
    /// A durable, user-visible work container; owns threads.
    SessionId = "sess";
    /// An ordered execution context; belongs to one session.
    ThreadId = "thread";
    /// One submitted input cycle; belongs to one thread.
    TurnId = "turn";
    /// A unit of work with objective, lifecycle, attempts and acceptance.
    TaskId = "task";
    /// One execution attempt of a task.
    RunId = "run";
    /// The same attempt, as seen by the retry policy.
    AttemptId = "att";
    /// An ordered item of a turn, task or run.
    StepId = "step";
    /// One tool invocation; belongs to a step.
    ToolCallId = "call";
    /// One pending decision of a person or a policy.
    ActionId = "act";
    /// A child agent's execution context.
    SubagentId = "sub";
    /// A durable deliverable.
    ArtifactId = "art";
    /// A trace, replay, verification or review.
    EvidenceId = "evd";
    /// A batch of work items.
    JobId = "job";
    /// What makes jobs at given times.
    ScheduleId = "sched";
    /// One item of a batch.
    JobItemId = "item";
    /// A process under a tool call.
    ProcessId = "proc";
    /// One event.
    EventId = "evt";
    /// One request to a model.
    ModelRequestId = "mreq";
    /// A link to a peer (seed 000).
    ChannelId = "chan";
    /// A messaging channel (seed 002). Both seeds say `chan`; nothing is ever read out of an id, so both may.
    MessagingChannelId = "chan";
    /// A message of a messaging channel.
    MessageId = "msg";
    /// An API key; names the key, never reveals it.
    KeyId = "key";
    /// One run of a hook.
    HookRunId = "hook";
}

impl MessagingChannelId {
    /// What ids of direct channels start with (seed 002 §5).
    pub const DIRECT_PREFIX: &'static str = "chan:direct:";

    /// The id of a direct channel: the prefix and 24 hex digits of a digest of its two principals.
    pub fn direct(digest: [u8; 12]) -> Self {
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self([Self::DIRECT_PREFIX, &hex].concat().into())
    }
}

/// Makes ids. The shell gives real UUIDv7s, tests give counted ones; the core never makes up randomness itself.
pub trait IdSource {
    fn next_uuid(&mut self) -> Uuid;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_callers_are_checked() {
        for good in ["a", "sess_1", "A-b.c:d_9", &"x".repeat(ID_BYTES_MAX)] {
            assert!(good.parse::<SessionId>().is_ok(), "{good}");
        }
        for bad in ["", " ", "a b", "a/b", "ü", "a\n", "a\0", &"x".repeat(ID_BYTES_MAX + 1)] {
            assert_eq!(bad.parse::<SessionId>(), Err(BadId), "{bad:?}");
        }
    }

    #[test]
    fn made_ids_carry_their_prefix_and_parse_back() {
        let id = TurnId::from_uuid(Uuid::from_u128(7));
        assert_eq!(id.as_str(), "turn_00000000-0000-0000-0000-000000000007");
        assert_eq!(id.as_str().parse(), Ok(id));
    }

    /// But for the two kinds of channels, which two seeds name alike.
    #[test]
    fn prefixes_are_unique() {
        let mut prefixes: Vec<_> = IDENTITIES.iter().map(|(_, prefix)| prefix).collect();
        prefixes.sort_unstable();
        let twice: Vec<_> = prefixes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| *pair[0]).collect();
        assert_eq!(twice, ["chan"]);
    }
}
