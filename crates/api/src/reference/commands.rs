//! `commands.md`: every command, family by family, with its fields and a request to start from.

use factum_model::commands::COMMANDS;
use factum_model::registry::{CommandInfo, Kind};
use factum_runtime::UNAVAILABLE;

use super::example::example;
use super::markdown::{Page, anchor, code};
use super::shapes::Shapes;

const ABOUT: &str = "\
Every command is `POST /v1/{command}` with the params as the body, a JSON-RPC method of the same name at `/rpc` (HTTP or
WebSocket), the gRPC call `factum.v1.Runtime/Call`, and `factum call COMMAND`. A refusal is one of the codes in
[errors.md](errors.md). Who may call what is in [access.md](access.md), shapes that several commands share are in
[types.md](types.md).

A command that writes is durable when it is answered, and `sequence` in its result is the last one it wrote. The same
`idempotency_key` gives the same answer; with other params it gives `conflict`. `POST /v1/{command}` also takes the key as the
header `Idempotency-Key`, where the params have none. Fields that do not apply are absent, and `null` in the records
of tasks, attempts, jobs and child agents. Where an object is asked for, a list is refused.

The commands of messaging have the names and the camelCase fields of the A2A extension they are from: their key is
`idempotencyKey`, or `idempotency_key` as elsewhere, and their results are the extension's.";

pub(super) fn page(shapes: &Shapes) -> String {
    let mut page = Page::new("Commands", ABOUT);
    page.list(families().into_iter().map(contents));
    for family in families() {
        page.heading(2, family);
        for info in of(family) {
            command(&mut page, shapes, info);
        }
    }
    page.finish()
}

/// The families, in the order of the registry.
pub(super) fn families() -> Vec<&'static str> {
    let mut families: Vec<_> = COMMANDS.iter().map(|info| info.family).collect();
    families.dedup();
    families
}

pub(super) fn of(family: &str) -> impl Iterator<Item = &'static CommandInfo> {
    COMMANDS.iter().filter(move |info| info.family == family)
}

fn contents(family: &str) -> String {
    let links: Vec<_> = of(family).map(|info| format!("[{}](#{})", code(info.name), anchor(info.name))).collect();
    format!("[{family}](#{}): {}", anchor(family), links.join(", "))
}

fn command(page: &mut Page, shapes: &Shapes, info: &CommandInfo) {
    page.heading(3, info.name);
    page.text(info.summary.trim());
    let kind = match info.kind {
        Kind::Read => "Reads",
        Kind::Mutation => "Writes",
    };
    let availability = if UNAVAILABLE.contains(&info.name) {
        " **Not available in this version**: it is answered with `unavailable`."
    } else {
        ""
    };
    page.text(&format!("{kind}. Needs the scope `{}`.{availability}", info.scope));
    let params = shapes.command(info.name, "params");
    page.text("Params:");
    shapes.write_fields(page, params);
    page.text("Result:");
    shapes.write_fields(page, shapes.command(info.name, "result"));
    let body = example(shapes, params);
    page.code("sh", &curl(info.name, &body.to_string()));
}

fn curl(command: &str, body: &str) -> String {
    let body = body.replace('\'', "'\\''");
    format!(
        "curl http://127.0.0.1:7420/v1/{command} -H \"Authorization: Bearer $FACTUM_KEY\" \\\n  \
         -H 'Content-Type: application/json' -d '{body}'"
    )
}
