//! Which method a JSON-RPC request means.

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method<'a> {
    /// A command of the messaging extension: it has the same name in the registry.
    Channels(&'a str),
    /// `channels/stream`.
    ChannelsStream,
    /// A method of A2A itself that is not carried out by this version.
    Core(&'a str),
    Unknown,
}

/// The methods of A2A itself, as 1.0 and 0.3 call them.
pub const CORE_METHODS: &[&str] = &[
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard",
    "message/send",
    "message/stream",
    "tasks/get",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/pushNotificationConfig/set",
    "tasks/pushNotificationConfig/get",
    "tasks/pushNotificationConfig/list",
    "tasks/pushNotificationConfig/delete",
    "agent/getAuthenticatedExtendedCard",
];

impl<'a> Method<'a> {
    pub fn parse(name: &'a str) -> Self {
        match name {
            "channels/stream" => Self::ChannelsStream,
            _ if name.starts_with("channels/") => Self::Channels(name),
            _ if CORE_METHODS.contains(&name) => Self::Core(name),
            _ => Self::Unknown,
        }
    }
}
