//! Facts about credentials. Vendor events of the runtime's own stream; they never hold a secret.

use jiff::Timestamp;

use crate::id::KeyId;
use crate::registry::Scopes;
use crate::wire::wire;

wire! {
    /// An API key was issued. `hash` is keyed, the key itself was shown once and is nowhere.
    pub struct ApiKeyCreated {
        pub key_id: KeyId,
        pub hash: String,
        pub account: String,
        pub principal: String,
        pub scopes: Scopes,
        pub name: Option<String>,
        pub created_by: String,
        pub expires_at: Option<Timestamp>,
    }

    /// An API key is no longer accepted.
    pub struct ApiKeyRevoked {
        pub key_id: KeyId,
        pub hash: String,
        pub account: String,
        pub revoked_by: String,
        pub reason: Option<String>,
    }
}

wire! {
    /// A command with an idempotency key was carried out. Vendor event: it is what a repeat of the command is answered
    /// from, so it stands in the same commit as the command's other facts.
    pub struct CommandAccepted {
        pub command: String,
        pub principal: String,
        pub idempotency_key: String,
        /// `sha256:` over the canonical params without the key.
        pub params_digest: String,
        pub result: serde_json::Value,
    }
}
