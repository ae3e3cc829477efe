//! Commands about credentials.

use jiff::Timestamp;

use crate::id::KeyId;
use crate::registry::Scopes;
use crate::wire::wire;

wire! {
    /// Issue an API key for a principal of the account. The key is in the answer and nowhere else.
    pub struct CreateApiKey {
        pub principal: String,
        /// What a member may do, where absent.
        pub scopes: Option<Scopes>,
        pub name: Option<String>,
        pub expires_at: Option<Timestamp>,
        pub idempotency_key: Option<String>,
    }

    pub struct CreateApiKeyResult {
        pub key_id: KeyId,
        /// Shown once. Absent when an idempotent repeat finds the key already issued.
        pub key: Option<String>,
        pub sequence: u64,
    }

    /// The account's keys, without their secrets.
    pub struct ListApiKeys {
        pub limit: Option<u32>,
        pub cursor: Option<String>,
    }

    pub struct ListApiKeysResult {
        pub keys: Vec<ApiKeyInfo>,
        pub next_cursor: Option<String>,
    }

    pub struct ApiKeyInfo {
        pub key_id: KeyId,
        pub principal: String,
        pub scopes: Scopes,
        pub name: Option<String>,
        pub created_by: String,
        pub created_at: Option<Timestamp>,
        pub expires_at: Option<Timestamp>,
        pub revoked: bool,
        pub revoked_at: Option<Timestamp>,
    }

    /// Stop accepting a key.
    pub struct RevokeApiKey {
        pub key_id: KeyId,
        pub reason: Option<String>,
        pub idempotency_key: Option<String>,
    }

    pub struct RevokeApiKeyResult {
        pub key_id: KeyId,
        pub sequence: u64,
    }
}
