//! Which operation a path below `/a2a/` means. A router could not tell: an action stands behind an id in the same segment
//! (`/tasks/{id}:cancel`), and a tenant may stand in front of everything.

use factum_a2a::{Form, Name, Version};
use http::Method;

/// What a path is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The agent; the default one where none is named.
    pub(super) agent: Option<String>,
    pub(super) target: Target,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The agent's JSON-RPC endpoint.
    Rpc,
    /// Its card.
    Card(Form),
    /// An operation over HTTP+JSON.
    Operation { version: Version, tenant: Option<String>, resource: Resource },
}

/// What an operation is about; which one it is depends on the method, too.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resource {
    Send,
    Stream,
    Tasks,
    Task(String),
    Cancel(String),
    Subscribe(String),
    PushConfigs(String),
    PushConfig(String, String),
    ExtendedCard,
}

/// Reads the path behind `/a2a/`. `said` is the version that the request says: what 0.3 has stands below `v1/`, unless a
/// request says 1.0, where `v1` is a tenant like any other.
pub(super) fn parse(rest: &str, said: Option<Version>) -> Option<Place> {
    let segments: Vec<&str> = rest.split('/').collect();
    let (agent, segments) = match segments.as_slice() {
        ["agents", name, below @ ..] => (Some(decode(name)?), below),
        all => (None, all),
    };
    let target = match segments {
        [] | [""] if agent.is_some() => Target::Rpc,
        [".well-known", "agent-card.json"] => Target::Card(said.map_or(Form::V0_3, Form::from)),
        [".well-known", "agent.json"] => Target::Card(Form::April2025),
        ["v1", below @ ..] if said != Some(Version::V1_0) => {
            Target::Operation { version: Version::V0_3, tenant: None, resource: resource(below, "card")? }
        }
        all => v1_0(all)?,
    };
    Some(Place { agent, target })
}

/// Without a tenant first: one that is called like a resource cannot be reached by a path, only by `tenant` in the params.
fn v1_0(segments: &[&str]) -> Option<Target> {
    let operation = |tenant, resource| Target::Operation { version: Version::V1_0, tenant, resource };
    const CARD: &str = "extendedAgentCard";
    if let Some(resource) = resource(segments, CARD) {
        return Some(operation(None, resource));
    }
    let (tenant, below) = segments.split_first()?;
    Some(operation(Some(decode(tenant)?), resource(below, CARD)?))
}

fn resource(segments: &[&str], card: &str) -> Option<Resource> {
    Some(match segments {
        ["message:send"] => Resource::Send,
        ["message:stream"] => Resource::Stream,
        ["tasks"] => Resource::Tasks,
        ["tasks", last] => task(last)?,
        ["tasks", id, "pushNotificationConfigs"] => Resource::PushConfigs(decode(id)?),
        ["tasks", id, "pushNotificationConfigs", config] => Resource::PushConfig(decode(id)?, decode(config)?),
        [only] if *only == card => Resource::ExtendedCard,
        _ => return None,
    })
}

/// The action is split off before anything is decoded: a colon that is part of an id may be written as `%3A`.
fn task(segment: &str) -> Option<Resource> {
    Some(match segment.rsplit_once(':') {
        Some((id, "cancel")) => Resource::Cancel(decode(id)?),
        Some((id, "subscribe")) => Resource::Subscribe(decode(id)?),
        _ => Resource::Task(decode(segment)?),
    })
}

impl Resource {
    /// The operation of a method on it, or the methods that there are.
    pub(super) fn name(&self, method: &Method) -> Result<Name, &'static str> {
        let is = |wanted: Method, name: Name, allowed| if *method == wanted { Ok(name) } else { Err(allowed) };
        match self {
            Self::Send => is(Method::POST, Name::SendMessage, "POST"),
            Self::Stream => is(Method::POST, Name::StreamMessage, "POST"),
            Self::Tasks => is(Method::GET, Name::ListTasks, "GET"),
            Self::Task(_) => is(Method::GET, Name::GetTask, "GET"),
            Self::Cancel(_) => is(Method::POST, Name::CancelTask, "POST"),
            // The definition says GET, the text says POST, and clients do either.
            Self::Subscribe(_) if *method == Method::GET => Ok(Name::Subscribe),
            Self::Subscribe(_) => is(Method::POST, Name::Subscribe, "GET, POST"),
            Self::PushConfigs(_) if *method == Method::GET => Ok(Name::ListPushConfigs),
            Self::PushConfigs(_) => is(Method::POST, Name::CreatePushConfig, "GET, POST"),
            Self::PushConfig(..) if *method == Method::GET => Ok(Name::GetPushConfig),
            Self::PushConfig(..) => is(Method::DELETE, Name::DeletePushConfig, "DELETE, GET"),
            Self::ExtendedCard => is(Method::GET, Name::ExtendedCard, "GET"),
        }
    }
}

/// Decodes a segment; `None` where it holds nothing, or no text.
pub(super) fn decode(text: &str) -> Option<String> {
    let bytes = percent_decode(text.as_bytes(), false)?;
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

/// The pairs of a query, decoded. What is not text is not there.
pub(super) fn query(query: Option<&str>) -> Vec<(String, String)> {
    let text = |part: &str| String::from_utf8(percent_decode(part.as_bytes(), true)?).ok();
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((text(name)?, text(value)?))
    };
    query.unwrap_or_default().split('&').filter(|part| !part.is_empty()).filter_map(pair).collect()
}

fn percent_decode(bytes: &[u8], plus_is_space: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().copied();
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    while let Some(byte) = rest.next() {
        out.push(match byte {
            b'%' => digit(rest.next())? << 4 | digit(rest.next())?,
            b'+' if plus_is_space => b' ',
            other => other,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v1_0(tenant: Option<&str>, resource: Resource) -> Target {
        Target::Operation { version: Version::V1_0, tenant: tenant.map(str::to_owned), resource }
    }

    fn v0_3(resource: Resource) -> Target {
        Target::Operation { version: Version::V0_3, tenant: None, resource }
    }

    #[test]
    fn paths_mean_operations() {
        let id = || "t1".to_owned();
        let table = [
            ("message:send", None, v1_0(None, Resource::Send)),
            ("message:stream", None, v1_0(None, Resource::Stream)),
            ("tasks", None, v1_0(None, Resource::Tasks)),
            ("tasks/t1", None, v1_0(None, Resource::Task(id()))),
            ("tasks/t1:cancel", None, v1_0(None, Resource::Cancel(id()))),
            ("tasks/t1:subscribe", None, v1_0(None, Resource::Subscribe(id()))),
            ("tasks/a:b:cancel", None, v1_0(None, Resource::Cancel("a:b".to_owned()))),
            ("tasks/a%3Acancel", None, v1_0(None, Resource::Task("a:cancel".to_owned()))),
            ("tasks/a%2Fb", None, v1_0(None, Resource::Task("a/b".to_owned()))),
            ("tasks/t1/pushNotificationConfigs", None, v1_0(None, Resource::PushConfigs(id()))),
            ("tasks/t1/pushNotificationConfigs/c1", None, v1_0(None, Resource::PushConfig(id(), "c1".to_owned()))),
            ("extendedAgentCard", None, v1_0(None, Resource::ExtendedCard)),
            ("acme/message:send", None, v1_0(Some("acme"), Resource::Send)),
            ("acme/tasks/t1:cancel", None, v1_0(Some("acme"), Resource::Cancel(id()))),
            ("acme/tasks", None, v1_0(Some("acme"), Resource::Tasks)),
            ("acme/extendedAgentCard", None, v1_0(Some("acme"), Resource::ExtendedCard)),
            ("v1/message:send", None, v0_3(Resource::Send)),
            ("v1/tasks/t1", Some(Version::V0_3), v0_3(Resource::Task(id()))),
            ("v1/card", None, v0_3(Resource::ExtendedCard)),
            ("v1/tasks", Some(Version::V1_0), v1_0(Some("v1"), Resource::Tasks)),
            (".well-known/agent-card.json", Some(Version::V1_0), Target::Card(Form::V1_0)),
            (".well-known/agent.json", None, Target::Card(Form::April2025)),
        ];
        for (path, said, target) in table {
            assert_eq!(parse(path, said), Some(Place { agent: None, target }), "{path}");
        }
    }

    #[test]
    fn every_agent_has_the_same_paths() {
        let of = |path| parse(path, None).map(|place| (place.agent, place.target));
        let writer = || Some("writer".to_owned());
        assert_eq!(of("agents/writer"), Some((writer(), Target::Rpc)));
        assert_eq!(of("agents/writer/"), Some((writer(), Target::Rpc)));
        assert_eq!(of("agents/writer/message:send"), Some((writer(), v1_0(None, Resource::Send))));
        assert_eq!(of("agents/writer/acme/tasks"), Some((writer(), v1_0(Some("acme"), Resource::Tasks))));
        assert_eq!(of("agents/writer/v1/tasks/t"), Some((writer(), v0_3(Resource::Task("t".to_owned())))));
        assert_eq!(of("agents/writer/.well-known/agent-card.json"), Some((writer(), Target::Card(Form::V0_3))));
    }

    #[test]
    fn nothing_else_is_there() {
        for path in [
            "",
            "agents",
            "agents/",
            "message",
            "tasks/",
            "tasks/%zz",
            "a/b/tasks",
            "v1",
            "v1/extendedAgentCard",
            "card",
        ] {
            assert_eq!(parse(path, None), None, "{path}");
        }
    }

    #[test]
    fn each_operation_has_its_methods() {
        let subscribe = Resource::Subscribe("t".to_owned());
        assert_eq!(subscribe.name(&Method::GET), Ok(Name::Subscribe));
        assert_eq!(subscribe.name(&Method::POST), Ok(Name::Subscribe));
        assert_eq!(subscribe.name(&Method::PUT), Err("GET, POST"));
        let configs = Resource::PushConfigs("t".to_owned());
        assert_eq!(configs.name(&Method::GET), Ok(Name::ListPushConfigs));
        assert_eq!(configs.name(&Method::POST), Ok(Name::CreatePushConfig));
        let config = Resource::PushConfig("t".to_owned(), "c".to_owned());
        assert_eq!(config.name(&Method::GET), Ok(Name::GetPushConfig));
        assert_eq!(config.name(&Method::DELETE), Ok(Name::DeletePushConfig));
        assert_eq!(Resource::Tasks.name(&Method::POST), Err("GET"));
        assert_eq!(Resource::Send.name(&Method::GET), Err("POST"));
    }

    #[test]
    fn queries_are_decoded() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [pair("a b", "c&d"), pair("e", "")];
        assert_eq!(query(Some("a+b=c%26d&e&%zz=1&f=%ff")), expected);
    }
}
