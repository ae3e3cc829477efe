//! `tool`, `tools`, `ask` and `delegate`: what a script calls, and what the call comes to.

use std::time::Duration;

use factum_model::events::OnTimeout;
use factum_model::value::Effect;
use serde_json::Value;

use super::step::expected;
use super::table::Table;
use super::template::{Template, ValueTemplate, may_save};
use crate::ask::CALLS_PER_ANSWER_MAX;
use crate::tools::DELEGATE_TOOL;

/// The tool name of a question to the user.
pub const ASK_TOOL: &str = "ask_user";

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Invocation {
    pub save: Option<String>,
    pub calls: Calls,
    pub timeout_ms: Option<u64>,
    pub on_timeout: OnTimeout,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Calls {
    Tool(Box<Tool>),
    Ask { question: Template, schema: Option<Value> },
    Delegate { peer: Template, message: Template },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tool {
    pub name: String,
    pub args: ValueTemplate,
    pub effect: Effect,
    /// The question to whoever may allow it; `None` needs no approval.
    pub approval: Option<Template>,
    pub duration: Duration,
    pub progress: Vec<Template>,
    pub result: Result<ValueTemplate, Template>,
}

pub(super) fn read_tools(table: &mut Table<'_>) -> Option<Vec<Invocation>> {
    let list = table.list("tools")?;
    if list.is_empty() || list.len() > CALLS_PER_ANSWER_MAX {
        table.problem(format_args!("tools has to list 1 to {CALLS_PER_ANSWER_MAX} calls, not {}", list.len()));
        return None;
    }
    let place = table.place.clone();
    let numbered = list.into_iter().enumerate();
    let calls = numbered.map(|(at, value)| {
        let mut call = Table::new(table.reading, format!("{place}, call {}", at + 1), value)?;
        if !call.has("ask") {
            return read_tool(call);
        }
        let ask = read_ask(&mut call);
        call.finish();
        ask
    });
    // All are read before the first problem counts, so that all problems are told.
    let calls: Vec<Option<Invocation>> = calls.collect();
    calls.into_iter().collect()
}

pub(super) fn read_tool(mut table: Table<'_>) -> Option<Invocation> {
    let name = table.text("name");
    let name = table.require("name", name, r#"name = "search""#);
    if name.as_deref() == Some(DELEGATE_TOOL) {
        table.problem(format_args!(
            "name {DELEGATE_TOOL:?} is kept for peers; use delegate = {{ peer = \"…\", message = \"…\" }}"
        ));
    }
    if name.as_deref() == Some(ASK_TOOL) {
        table.problem(format_args!("name {ASK_TOOL:?} is kept for questions; use ask = \"…\""));
    }
    let args = if table.has("args") { table.value_template("args") } else { Some(ValueTemplate::Table(Vec::new())) };
    let effect = table.effect().unwrap_or_default();
    let prompt = table.template("prompt");
    let needs_approval = table.flag("approval").unwrap_or(prompt.is_some());
    let result = read_result(&mut table);
    let duration = Duration::from_millis(table.whole("duration_ms").unwrap_or(0));
    let progress = read_progress(&mut table);
    let (timeout_ms, on_timeout) = read_timeout(&mut table);
    if timeout_ms.is_some() && !needs_approval {
        table.problem("timeout_ms is about the approval, and there is none; add approval = true");
    }
    let save = read_save(&mut table);
    table.finish();
    let name = name?;
    let approval = needs_approval.then(|| prompt.unwrap_or_else(|| Template::plain(&format!("Allow {name}?"))));
    let tool = Tool { name, args: args?, effect, approval, duration, progress: progress?, result: result? };
    Some(Invocation { save, calls: Calls::Tool(Box::new(tool)), timeout_ms, on_timeout })
}

/// What the tool comes to: `result`, `error`, or `"ok"` where neither is given.
fn read_result(table: &mut Table<'_>) -> Option<Result<ValueTemplate, Template>> {
    match (table.has("result"), table.has("error")) {
        (true, true) => {
            table.problem("result and error in one tool; keep the one you mean");
            table.pass_over(["result", "error"]);
            None
        }
        (_, true) => {
            table.value("result");
            table.template("error").map(Err)
        }
        (true, false) => {
            table.value("error");
            table.value_template("result").map(Ok)
        }
        (false, false) => {
            table.pass_over(["result", "error"]);
            Some(Ok(ValueTemplate::Text(Template::plain("ok"))))
        }
    }
}

fn read_progress(table: &mut Table<'_>) -> Option<Vec<Template>> {
    let notes = table.list("progress").unwrap_or_default();
    let place = format!("{}, progress", table.place);
    let read = |note: Value| match note {
        Value::String(text) => Template::parse(&text, table.reading, &place),
        other => {
            expected(table, "progress to list texts", &other);
            None
        }
    };
    notes.into_iter().map(read).collect()
}

/// Reads a question: `ask = "…"` and what stands beside it.
pub(super) fn read_ask(table: &mut Table<'_>) -> Option<Invocation> {
    let question = table.template("ask");
    let schema = table.value("schema");
    let (timeout_ms, on_timeout) = read_timeout(table);
    let save = read_save(table);
    Some(Invocation { save, calls: Calls::Ask { question: question?, schema }, timeout_ms, on_timeout })
}

/// Reads `delegate = { peer = "…", message = "…" }`.
pub(super) fn read_delegate(mut table: Table<'_>) -> Option<Invocation> {
    let peer = table.template("peer");
    let peer = table.require("peer", peer, r#"peer = "north""#);
    let message = table.template("message");
    let message = table.require("message", message, r#"message = "{rest}""#);
    let save = read_save(&mut table);
    table.finish();
    let calls = Calls::Delegate { peer: peer?, message: message? };
    Some(Invocation { save, calls, timeout_ms: None, on_timeout: OnTimeout::Wait })
}

fn read_timeout(table: &mut Table<'_>) -> (Option<u64>, OnTimeout) {
    const WORDS: [(&str, OnTimeout); 3] =
        [("wait", OnTimeout::Wait), ("deny", OnTimeout::Deny), ("cancel", OnTimeout::Cancel)];
    let timeout_ms = table.whole("timeout_ms");
    let declared = table.word("on_timeout", &WORDS);
    if declared.is_some() && timeout_ms.is_none() {
        table.problem("on_timeout without timeout_ms; add timeout_ms = 60000");
    }
    (timeout_ms, declared.unwrap_or(OnTimeout::Deny))
}

fn read_save(table: &mut Table<'_>) -> Option<String> {
    let name = table.text("save")?;
    if !may_save(&name) {
        table.problem(format_args!("cannot save as {name:?}; take letters, digits, _ and -, and no built-in name"));
        return None;
    }
    Some(name)
}
