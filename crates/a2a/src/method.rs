//! Which operation a JSON-RPC request means, and in which dialect it speaks.

use crate::dialect::Dialect;
use crate::operation::Name;
use crate::version::Version;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method<'a> {
    /// A command of the messaging extension: it has the same name in the registry.
    Channels(&'a str),
    /// `channels/stream`.
    ChannelsStream,
    /// An operation of A2A itself.
    Core(Name, Dialect),
    Unknown,
}

/// The names of 1.0, which are gRPC's too.
pub const METHODS_1_0: &[(&str, Name)] = &[
    ("SendMessage", Name::SendMessage),
    ("SendStreamingMessage", Name::StreamMessage),
    ("GetTask", Name::GetTask),
    ("ListTasks", Name::ListTasks),
    ("CancelTask", Name::CancelTask),
    ("SubscribeToTask", Name::Subscribe),
    ("CreateTaskPushNotificationConfig", Name::CreatePushConfig),
    ("GetTaskPushNotificationConfig", Name::GetPushConfig),
    ("ListTaskPushNotificationConfigs", Name::ListPushConfigs),
    ("DeleteTaskPushNotificationConfig", Name::DeletePushConfig),
    ("GetExtendedAgentCard", Name::ExtendedCard),
];

pub const METHODS_0_3: &[(&str, Name)] = &[
    ("message/send", Name::SendMessage),
    ("message/stream", Name::StreamMessage),
    ("tasks/get", Name::GetTask),
    ("tasks/cancel", Name::CancelTask),
    ("tasks/resubscribe", Name::Subscribe),
    ("tasks/pushNotificationConfig/set", Name::CreatePushConfig),
    ("tasks/pushNotificationConfig/get", Name::GetPushConfig),
    ("tasks/pushNotificationConfig/list", Name::ListPushConfigs),
    ("tasks/pushNotificationConfig/delete", Name::DeletePushConfig),
    ("agent/getAuthenticatedExtendedCard", Name::ExtendedCard),
];

/// The methods of April 2025. The three in the middle are 0.3's, too.
pub const METHODS_APRIL_2025: &[(&str, Name)] = &[
    ("tasks/send", Name::SendMessage),
    ("tasks/sendSubscribe", Name::StreamMessage),
    ("tasks/get", Name::GetTask),
    ("tasks/cancel", Name::CancelTask),
    ("tasks/resubscribe", Name::Subscribe),
    ("tasks/pushNotification/set", Name::CreatePushConfig),
    ("tasks/pushNotification/get", Name::GetPushConfig),
];

impl<'a> Method<'a> {
    /// Resolves a name for a request that said a version, or none.
    ///
    /// Where a version is said, only its names exist. Where none is said the name tells, as each version has names of its
    /// own: 1.0's are answered as 1.0, so that a client that forgets the header is not turned away. `tasks/get`,
    /// `tasks/cancel` and `tasks/resubscribe` are in 0.3 and in April 2025, with the same params, so nothing in such a
    /// request tells them apart. They are answered with both forms in one, [`Dialect::Either`]: what 0.3 reads is exactly
    /// 0.3's, what April reads is exactly April's, and each ignores the other's fields. A client that wants 0.3 and nothing
    /// else says `A2A-Version: 0.3`.
    pub fn parse(name: &'a str, said: Option<Version>) -> Self {
        match name {
            "channels/stream" => return Self::ChannelsStream,
            _ if name.starts_with("channels/") => return Self::Channels(name),
            _ => {}
        }
        let find = |table: &[(&str, Name)]| table.iter().find(|(known, _)| *known == name).map(|(_, name)| *name);
        let is_open_to = |version| said.is_none_or(|said| said == version);
        if let Some(found) = find(METHODS_1_0).filter(|_| is_open_to(Version::V1_0)) {
            return Self::Core(found, Dialect::V1_0);
        }
        let v0_3 = find(METHODS_0_3).filter(|_| is_open_to(Version::V0_3));
        let april = find(METHODS_APRIL_2025).filter(|_| said.is_none());
        match (v0_3, april) {
            (Some(found), Some(_)) => Self::Core(found, Dialect::Either),
            (Some(found), None) => Self::Core(found, Dialect::V0_3),
            (None, Some(found)) => Self::Core(found, Dialect::April2025),
            (None, None) => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_belong_to_versions() {
        let (none, v0_3, v1_0) = (None, Some(Version::V0_3), Some(Version::V1_0));
        let core = Method::Core;
        let table = [
            (
                "SendMessage",
                [core(Name::SendMessage, Dialect::V1_0), Method::Unknown, core(Name::SendMessage, Dialect::V1_0)],
            ),
            (
                "message/send",
                [core(Name::SendMessage, Dialect::V0_3), core(Name::SendMessage, Dialect::V0_3), Method::Unknown],
            ),
            ("tasks/send", [core(Name::SendMessage, Dialect::April2025), Method::Unknown, Method::Unknown]),
            ("tasks/get", [core(Name::GetTask, Dialect::Either), core(Name::GetTask, Dialect::V0_3), Method::Unknown]),
            ("channels/list", [Method::Channels("channels/list"); 3]),
            ("channels/stream", [Method::ChannelsStream; 3]),
            ("tasks/list", [Method::Unknown; 3]),
            ("", [Method::Unknown; 3]),
        ];
        for (name, expected) in table {
            assert_eq!([none, v0_3, v1_0].map(|said| Method::parse(name, said)), expected, "{name}");
        }
    }

    #[test]
    fn every_operation_has_a_name_in_1_0() {
        assert_eq!(METHODS_1_0.iter().map(|(_, name)| *name).collect::<Vec<_>>(), Name::ALL);
    }
}
