//! Facts about where a task's client wants to be told of changes. Vendor events. Secrets are sealed: the log has no plain one.

use crate::wire::wire;

wire! {
    /// A client wants to be told at this address.
    pub struct PushConfigSet {
        pub config_id: String,
        pub native_protocol: String,
        pub url: String,
        /// How the receiver is given its credentials, such as `Bearer`.
        pub scheme: Option<String>,
        /// The client's token and the receiver's credentials, sealed under the server's key.
        pub sealed_secrets: Option<String>,
        pub set_by: String,
        /// Where its task is not there yet: the id the client will send it under, and the agent it will be sent to.
        pub remote_task_id: Option<String>,
        pub agent: Option<String>,
    }

    /// A client does not want to be told there any more.
    pub struct PushConfigDeleted {
        pub config_id: String,
        pub deleted_by: String,
    }
}
