//! `access.md`: who may do what: credentials, scopes, and the matrix of commands.

use factum_model::commands::COMMANDS;
use factum_model::registry::{CommandInfo, Kind, Scope, Scopes};

use super::markdown::{Page, anchor, code};

const ABOUT: &str = "\
Every request on every transport passes the same two questions. *Who is it?* is answered by its credential; without a good
one the answer is `unauthenticated`. *Is the credential good for this command?* is answered by its scopes; where the one
below is missing the answer is `permission_denied`, before anything is looked up. After that, what belongs to another
account does not exist: the answer is `not_found`.

## Credentials

`Authorization: Bearer …` carries one of these:

- An API key (`fct_…`), made by `create_api_key` for a principal of the account with the scopes it is given: those of a
  member where none are named. It is good until it expires or is revoked.
- A token (JWT) of a configured issuer, signed with one of the issuer's keys and an allowed algorithm. `iss` and `aud` must
  fit, `exp` must be there, `nbf` is honoured. Its account is in the claim `account`, its principal in `sub` (a name
  without a scheme gets `agent://` in front), its scopes in `scope`; the operator may name other claims. Scopes that are
  not listed here are ignored, and a token that has none of these may do nothing.
- With `factum dev`, for peers on loopback only: nothing at all (`agent://local`, an admin of the account `dev`),
  `dev:agent://NAME` (a member of `dev`) or `dev:agent://NAME@ACCOUNT` (a member of another account).

An API key's principal is taken as it is written: write `agent://` out for somebody who also comes with a token. Names that begin
with `runtime://` or `peer:` are the runtime's own, and no credential has one.";

pub(super) fn page() -> String {
    let mut page = Page::new("Access", ABOUT);
    page.heading(2, "Scopes");
    page.text("A member has every scope but `admin`; an admin has them all. A key or token may have any selection.");
    let scope_row = |scope: Scope| {
        let commands = COMMANDS.iter().filter(|info| info.scope == scope);
        let names: Vec<_> = commands.map(link).collect();
        [code(scope.as_str()), allowed(&Scopes::member(), scope), allowed(&Scopes::admin(), scope), names.join(", ")]
    };
    page.table(["scope", "member", "admin", "commands"], Scope::ALL.map(scope_row));
    page.heading(2, "Matrix");
    page.text(
        "Besides the commands, a session's events and the feed need `sessions:read`, on every transport. Reading a direct channel \
         that nobody has used yet makes it, and needs `messaging:write`.",
    );
    let row = |info: &CommandInfo| {
        let kind = if info.kind == Kind::Read { "reads" } else { "writes" };
        let (member, admin) = (allowed(&Scopes::member(), info.scope), allowed(&Scopes::admin(), info.scope));
        [info.family.to_owned(), link(info), kind.to_owned(), code(info.scope.as_str()), member, admin]
    };
    page.table(["family", "command", "kind", "scope", "member", "admin"], COMMANDS.iter().map(row));
    page.heading(2, "Without a credential");
    page.text("`/healthz`, `/readyz`, `/metrics`, `/openapi.json` and `/schemas` say nothing of any account.");
    page.finish()
}

fn link(info: &CommandInfo) -> String {
    format!("[{}](commands.md#{})", code(info.name), anchor(info.name))
}

fn allowed(scopes: &Scopes, scope: Scope) -> String {
    if scopes.allows(scope) { "yes" } else { "no" }.to_owned()
}
