//! Small values that many events and commands share.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::wire::object;

/// Free-form annotations of a caller. Never interpreted.
pub type Metadata = Map<String, Value>;

/// The states of seed 003, "Completion and failure semantics". One vocabulary for threads, turns and steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing is under way.
    Idle,
    Accepted,
    Queued,
    Preparing,
    Running,
    WaitingInput,
    WaitingPermission,
    WaitingResource,
    Blocked,
    Streaming,
    Retrying,
    Lost,
    TimedOut,
    Completed,
    Failed,
    Cancelled,
    Stale,
    Unknown,
}

impl Status {
    /// Whether nothing more will happen by itself.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::TimedOut)
    }
}

/// How sure a stated fact is. Success is never inferred (seed 003, "Durable snapshots").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Knowledge {
    Known,
    Unknown,
    Unavailable,
    NotApplicable,
    Stale,
    Blocked,
}

/// One piece of input or output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", remote = "Self")]
#[schemars(!remote)]
pub enum Part {
    Text {
        text: String,
    },
    Data {
        data: Value,
    },
    /// A file by reference or, when small, by value.
    File {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
        /// Base64.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<String>,
    },
    /// Something the runtime already keeps.
    Ref {
        r#ref: String,
    },
}

object!(Part);

/// All text of the parts, joined by newlines: what a script or a title looks at.
pub fn text_of(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| if let Part::Text { text } = part { Some(text.as_str()) } else { None })
        .collect();
    texts.join("\n")
}

/// Large or owned content, referenced instead of copied (CONTRACT, "Output").
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self")]
#[schemars(!remote)]
pub struct OutputRef {
    /// Where the bytes are: `blob:sha256:…` for ours, a URL for what is elsewhere.
    pub r#ref: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub media_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// The true number of bytes, whatever the preview shows. Not known where nobody has fetched what is elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// `sha256:` and 64 hex digits. Not known where the size is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// How many bytes the preview leaves out.
    #[serde(default)]
    pub preview_dropped: u64,
    #[serde(default)]
    pub redacted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

object!(OutputRef);

/// Why something failed, for people and for retry policies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self")]
#[schemars(!remote)]
pub struct Failure {
    /// A stable word such as `model_error`, `tool_failed`, `interrupted`, `timeout`.
    pub category: String,
    #[serde(default)]
    pub message: String,
    /// Whether trying again may help; where nobody says so, it may.
    #[serde(default = "may_help")]
    pub retryable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

object!(Failure);

impl Failure {
    /// The category by which an agent says that it does not do what it was asked. A2A has a state of its own for it.
    pub const REJECTED: &str = "rejected";

    pub fn is_rejection(&self) -> bool {
        self.category == Self::REJECTED
    }
}

fn may_help() -> bool {
    true
}

/// Tokens and cost of model work. What a provider does not report is absent, not zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self")]
#[schemars(!remote)]
pub struct Usage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
}

object!(Usage);

impl Usage {
    /// The sum, where what nobody reported stays unknown.
    pub fn plus(&self, other: &Usage) -> Usage {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        Usage {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            reasoning_tokens: sum(self.reasoning_tokens, other.reasoning_tokens),
            cached_tokens: sum(self.cached_tokens, other.cached_tokens),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What happens to a turn whose thread is busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnBusy {
    /// Wait behind the others.
    #[default]
    Queue,
    /// Refuse with `conflict`, naming this policy.
    Reject,
    /// Stop the active turn and go first.
    Interrupt,
}

/// What may be done about an effect whose outcome is unknown after a crash (DESIGN, "facts first", rule 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Touches nothing: run again.
    Pure,
    /// Run again with the same key.
    Idempotent,
    /// Never run again by itself: the call is lost and a person is asked.
    Once,
    /// Treated as `once`.
    #[default]
    Unknown,
}

impl Effect {
    /// Whether a crash between intent and outcome is repaired by running it again.
    pub fn may_repeat(self) -> bool {
        matches!(self, Self::Pure | Self::Idempotent)
    }
}
