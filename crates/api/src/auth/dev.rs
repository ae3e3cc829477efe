//! The rules of `factum dev`: who may come in without a secret. Whether the peer is on loopback was asked before.

use std::sync::LazyLock;

use factum_model::registry::Scopes;
use factum_runtime::Caller;

use super::names;

const ACCOUNT: &str = "dev";
const LOCAL: &str = "agent://local";

/// Who calls without any credential. Made once: every request of that kind is the same caller.
pub(super) fn local() -> Caller {
    static CALLER: LazyLock<Caller> = LazyLock::new(|| Caller::new(LOCAL, ACCOUNT, Scopes::admin()));
    CALLER.clone()
}

/// Who `dev:agent://NAME` or `dev:agent://NAME@ACCOUNT` is: a member, never an admin.
pub(super) fn named(token: &str) -> Option<Caller> {
    let name = token.strip_prefix("dev:")?;
    let (principal, account) = name.rsplit_once('@').unwrap_or((name, ACCOUNT));
    // One name, one meaning: a second `@` could be read in two ways.
    if !principal.starts_with("agent://") || principal.contains('@') {
        return None;
    }
    Some(Caller::new(&names::principal(principal)?, names::account(account)?, Scopes::member()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_dev_tokens() {
        for (token, expected) in [
            ("dev:agent://ada", Some(("agent://ada", "dev"))),
            ("dev:agent://ada@acme", Some(("agent://ada", "acme"))),
            ("dev:agent://ada@", None),
            ("dev:agent://@acme", None),
            ("dev:agent://", None),
            ("dev:ada", None),
            ("dev:user://ada", None),
            ("dev:", None),
            ("dev", None),
            ("DEV:agent://ada", None),
            ("dev:agent://ada@..", None),
            ("dev:agent://ada@a/b", None),
            ("dev:agent://a@b@acme", None),
        ] {
            let caller = named(token);
            let found = caller.as_ref().map(|caller| (&*caller.principal, &*caller.account));
            assert_eq!(found, expected, "{token}");
            assert!(caller.is_none_or(|caller| *caller.scopes == Scopes::member()));
        }
    }
}
