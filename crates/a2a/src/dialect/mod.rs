//! How each version writes requests and answers. Reading gives an [`Operation`] in the words of 1.0; writing takes what came
//! of it. Nothing behind this knows which dialect a client speaks.

mod http_0_3;
mod legacy;
mod loose;
mod query;
#[cfg(test)]
mod tests;
mod v1_0;

use a2a::{A2AError, StreamResponse};

pub(crate) use http_0_3::CANCELLED;
pub use http_0_3::push_params_0_3;
pub use query::{get_task, list_push_configs, list_tasks};

use crate::check::SENT_PUSH_CONFIG;
use crate::fault::with_field;
use crate::operation::{Around, Name, Operation, Outcome};

/// How a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// JSON-RPC and HTTP+JSON alike.
    V1_0,
    /// JSON-RPC.
    V0_3,
    /// HTTP+JSON: 0.3 wrote there what its protobuf definition says, which is not what its JSON-RPC says.
    V0_3Http,
    /// JSON-RPC of April 2025.
    April2025,
    /// 0.3 or April 2025, where a request does not tell: answers hold the fields of both.
    Either,
}

impl Dialect {
    /// Reads the params of an operation. Where they are not there they are empty.
    pub fn read(self, name: Name, params: Option<&str>, around: Around) -> Result<Operation, A2AError> {
        let params = match params {
            None | Some("null") => "{}",
            Some(params) => params,
        };
        let operation = match self {
            Self::V1_0 => v1_0::read(name, params, around)?,
            Self::V0_3 | Self::Either | Self::V0_3Http => legacy::read(name, params, around, self)?,
            Self::April2025 => legacy::read_april_2025(name, params, around)?,
        };
        operation.checked().map_err(|error| self.named(error))
    }

    /// An error in the words of its client: where a field is wrong that older versions have another name for, it has that.
    pub fn named(self, error: A2AError) -> A2AError {
        match self {
            Self::V1_0 => error,
            Self::April2025 => with_field(error, SENT_PUSH_CONFIG, "pushNotification"),
            Self::V0_3 | Self::V0_3Http | Self::Either => {
                with_field(error, SENT_PUSH_CONFIG, "configuration.pushNotificationConfig")
            }
        }
    }

    /// Writes an answer that is no stream.
    pub fn write(self, outcome: &Outcome, out: &mut Vec<u8>) {
        match self {
            Self::V1_0 => v1_0::write(outcome, out),
            Self::V0_3Http => put(&http_0_3::write(outcome), out),
            Self::V0_3 | Self::April2025 | Self::Either => put(&legacy::write(outcome, self), out),
        }
    }
}

/// Writes the items of one stream.
pub struct StreamWriter {
    dialect: Dialect,
    /// The artifacts so far, in the order they came: April 2025 numbers them.
    artifacts: Vec<String>,
    said_final: bool,
}

impl StreamWriter {
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, artifacts: Vec::new(), said_final: false }
    }

    /// Whether an item said that it is the last one. Readers of the older versions believe it; 1.0 has no such word.
    pub fn said_final(&self) -> bool {
        self.said_final
    }

    /// One item, which may be several in the words of an older version.
    pub fn write(&mut self, item: &StreamResponse) -> Vec<Vec<u8>> {
        let items = match self.dialect {
            Dialect::V1_0 => {
                let mut out = Vec::with_capacity(256);
                put(item, &mut out);
                return vec![out];
            }
            Dialect::V0_3Http => vec![http_0_3::stream_item(item)],
            dialect => legacy::stream_items(item, dialect, &mut self.artifacts),
        };
        let is_final = |item: &serde_json::Value| item["final"] == true || item["statusUpdate"]["final"] == true;
        self.said_final |= items.iter().any(is_final);
        let written = |item: &serde_json::Value| {
            let mut out = Vec::new();
            put(item, &mut out);
            out
        };
        items.iter().map(written).collect()
    }
}

fn put(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    let before = out.len();
    // Everything here is text, numbers and maps with text for keys; nothing of it can fail to be written.
    if factum_model::json::put(out, value).is_err() {
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}
