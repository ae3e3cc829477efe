//! Names out of credentials: whether they may be principals, accounts, scopes. Nothing here knows where they came from.

use factum_model::registry::{Scope, Scopes};
use serde_json::Value;

/// What names a principal that has no scheme of its own.
const SCHEME: &str = "agent://";

/// The longest principal, in bytes: the engine's own bound for those that API keys are issued to.
const PRINCIPAL_BYTES_MAX: usize = 200;

/// The principal a name stands for: itself where it has a scheme (`agent://x`, `user://x`), otherwise below `agent://`.
pub(super) fn principal(name: &str) -> Option<String> {
    let full = if has_scheme(name) { name.to_owned() } else { format!("{SCHEME}{name}") };
    let fine = |c: char| !c.is_control() && !c.is_whitespace();
    let (_, rest) = full.split_once("://")?;
    let named = !rest.is_empty() && !factum_runtime::is_the_runtimes(&full);
    (named && full.len() <= PRINCIPAL_BYTES_MAX && full.chars().all(fine)).then_some(full)
}

/// The account of this name, if it may be one.
pub(super) fn account(name: &str) -> Option<&str> {
    factum_runtime::valid_account(name).then_some(name)
}

/// The scopes we know among those a claim lists.
pub(super) fn scopes(claim: Option<&Value>) -> Scopes {
    match claim {
        Some(Value::String(text)) => text.split(' ').filter_map(Scope::parse).collect(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).filter_map(Scope::parse).collect(),
        _ => Scopes::default(),
    }
}

fn has_scheme(name: &str) -> bool {
    let Some((scheme, _)) = name.split_once("://") else { return false };
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn principals() {
        let long = "x".repeat(PRINCIPAL_BYTES_MAX);
        for (name, expected) in [
            ("ada", Some("agent://ada")),
            ("agent://ada", Some("agent://ada")),
            ("user://ada", Some("user://ada")),
            ("auth0|12", Some("agent://auth0|12")),
            ("mailto:a@b.c", Some("agent://mailto:a@b.c")),
            ("1://x", Some("agent://1://x")),
            ("", None),
            ("agent://", None),
            ("runtime://timer", None),
            ("peer:north", Some("agent://peer:north")),
            ("a b", None),
            ("a\u{a0}b", None),
            ("a\nb", None),
            ("a\0b", None),
            (&long, None),
        ] {
            assert_eq!(principal(name).as_deref(), expected, "{name:?}");
        }
    }

    #[test]
    fn accounts() {
        for good in ["dev", "acme", "a", "A-1_b.c", &"x".repeat(64)] {
            assert_eq!(account(good), Some(good));
        }
        for bad in ["", ".", "..", "-", "a/b", "../a", "a b", "ü", "а", "a\0", "*runtime", "a\n", &"x".repeat(65)] {
            assert_eq!(account(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn unknown_scopes_are_ignored() {
        let two: Scopes = [Scope::SessionsRead, Scope::Admin].into_iter().collect();
        assert_eq!(scopes(Some(&json!("sessions:read  root admin"))), two);
        assert_eq!(scopes(Some(&json!(["sessions:read", 7, null, "admin", ["tasks:read"]]))), two);
        for none in [json!(""), json!("ADMIN"), json!("admin,"), json!(1), json!({ "admin": true }), json!(null)] {
            assert_eq!(scopes(Some(&none)), Scopes::default(), "{none}");
        }
        assert_eq!(scopes(None), Scopes::default());
    }
}
