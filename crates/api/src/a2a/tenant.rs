//! Whom a `tenant` leads to: an account, which can only be the caller's own, and one of the agents.
//!
//! It says what stands between `/a2a/` and an operation over HTTP+JSON: `ACCOUNT`, `agents/NAME` or `agents/NAME/ACCOUNT`. gRPC has
//! no paths, so there it is the only way to an agent that is not the default one; the other bindings take it as well.

/// The segment in front of an agent's name, as in a path.
const AGENTS: &str = "agents/";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tenant<'a> {
    pub(super) agent: Option<&'a str>,
    pub(super) account: Option<&'a str>,
}

/// Reads a tenant. No account has a slash in its name, so none is taken for an agent.
pub(super) fn parse(text: &str) -> Tenant<'_> {
    let Some(below) = text.strip_prefix(AGENTS) else { return Tenant { agent: None, account: Some(text) } };
    match below.split_once('/') {
        Some((agent, account)) => Tenant { agent: Some(agent), account: Some(account) },
        None => Tenant { agent: Some(below), account: None },
    }
}

/// The tenant that leads to an agent.
pub(super) fn of_agent(name: &str) -> String {
    format!("{AGENTS}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_names_an_account_an_agent_or_both() {
        let of = |agent, account| Tenant { agent, account };
        for (text, expected) in [
            ("acme", of(None, Some("acme"))),
            ("agents", of(None, Some("agents"))),
            ("agents/writer", of(Some("writer"), None)),
            ("agents/writer/acme", of(Some("writer"), Some("acme"))),
            ("agents/", of(Some(""), None)),
            ("acme/agents/writer", of(None, Some("acme/agents/writer"))),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        assert_eq!(parse(&of_agent("writer")), of(Some("writer"), None));
    }
}
