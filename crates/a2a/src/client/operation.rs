//! What a peer can be asked, and what it is called in each version and binding.

use http::Method;

use super::spoken::Spoken;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Send,
    Stream,
    Get,
    List,
    Cancel,
    Subscribe,
}

impl Operation {
    /// The JSON-RPC method. `None` where the version has none.
    pub(super) fn method(self, spoken: Spoken) -> Option<&'static str> {
        Some(match (self, spoken) {
            (Self::Send, Spoken::V1_0) => "SendMessage",
            (Self::Stream, Spoken::V1_0) => "SendStreamingMessage",
            (Self::Get, Spoken::V1_0) => "GetTask",
            (Self::List, Spoken::V1_0) => "ListTasks",
            (Self::Cancel, Spoken::V1_0) => "CancelTask",
            (Self::Subscribe, Spoken::V1_0) => "SubscribeToTask",
            (Self::Send, Spoken::V0_3) => "message/send",
            (Self::Stream, Spoken::V0_3) => "message/stream",
            (Self::Send, Spoken::April2025) => "tasks/send",
            (Self::Stream, Spoken::April2025) => "tasks/sendSubscribe",
            (Self::Get, Spoken::V0_3 | Spoken::April2025) => "tasks/get",
            (Self::List, Spoken::V0_3 | Spoken::April2025) => return None,
            (Self::Cancel, Spoken::V0_3 | Spoken::April2025) => "tasks/cancel",
            (Self::Subscribe, Spoken::V0_3 | Spoken::April2025) => "tasks/resubscribe",
        })
    }

    /// The HTTP method and path below the interface's address, without its tenant.
    pub(super) fn path(self, task_id: &str) -> (Method, String) {
        let id = escaped(task_id);
        match self {
            Self::Send => (Method::POST, "/message:send".to_owned()),
            Self::Stream => (Method::POST, "/message:stream".to_owned()),
            Self::Get => (Method::GET, format!("/tasks/{id}")),
            Self::List => (Method::GET, "/tasks".to_owned()),
            Self::Cancel => (Method::POST, format!("/tasks/{id}:cancel")),
            Self::Subscribe => (Method::POST, format!("/tasks/{id}:subscribe")),
        }
    }

    /// Whether it is about one task that exists, so that not found means that task.
    pub(super) fn names_task(self) -> bool {
        matches!(self, Self::Get | Self::Cancel | Self::Subscribe)
    }

    /// Whether its answer goes on without an end to its time.
    pub(super) fn streams(self) -> bool {
        matches!(self, Self::Stream | Self::Subscribe)
    }

    /// Whether it gives the peer something to do.
    pub(super) fn gives(self) -> bool {
        matches!(self, Self::Send | Self::Stream)
    }
}

/// A peer's id as a piece of a path or a query: a peer may put anything into its ids.
pub(super) fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peers_id_stays_one_piece_of_the_path() {
        let path = |id: &str| Operation::Get.path(id).1;
        assert_eq!(path("task_1-a"), "/tasks/task_1-a");
        assert_eq!(path("../admin?x=1#y"), "/tasks/..%2Fadmin%3Fx%3D1%23y");
        assert_eq!(path("ä:cancel"), "/tasks/%C3%A4%3Acancel");
    }
}
