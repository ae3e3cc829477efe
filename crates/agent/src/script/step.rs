//! The steps of a script as they are understood, and how each is read.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use factum_model::events::Phase;
use factum_model::value::Usage;
use serde_json::Value;

use super::condition::{Condition, read_conditions};
use super::invoke::{Invocation, read_ask, read_delegate, read_tool, read_tools};
use super::say::{Pace, read_pace};
use super::table::{Table, kind};
use super::template::{Template, ValueTemplate};
use crate::transcript::INTERRUPTED;

/// How many steps an entry may come to when everything it repeats is written out.
pub(super) const STEPS_MAX: u64 = 10_000;

/// One step, and when it is taken.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub when: Vec<Condition>,
    pub does: Does,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Does {
    Say {
        text: Template,
        pace: Pace,
    },
    Reason(Template),
    Summarize(Template),
    /// `None` is forever.
    Wait(Option<Duration>),
    /// The boundary: the answer ends here, and the next one begins behind it.
    Call(Vec<Invocation>),
    Artifact {
        name: Option<Template>,
        media_type: String,
        content: Content,
    },
    Use(Usage),
    Fail {
        category: String,
        message: Template,
        retryable: bool,
        times: Option<u64>,
    },
    Status {
        phase: Phase,
        title: Template,
        detail: Option<Template>,
    },
    Group(Vec<Step>),
    Repeat {
        times: u64,
        /// Looked at behind each time; where there is none, all of them.
        until: Vec<Condition>,
        steps: Vec<Step>,
    },
    Finish(Template),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Text(Template),
    Bytes(Bytes),
    Data(ValueTemplate),
    Url(Template),
}

/// The keys that say what a step does. Exactly one of them stands in each.
const KINDS: [&str; 16] = [
    "say",
    "reasoning",
    "reasoning_summary",
    "wait",
    "wait_ms",
    "tool",
    "tools",
    "ask",
    "delegate",
    "artifact",
    "usage",
    "error",
    "status",
    "steps",
    "repeat",
    "finish",
];

const PHASES: [(&str, Phase); 7] = [
    ("planning", Phase::Planning),
    ("preparing", Phase::Preparing),
    ("working", Phase::Working),
    ("verifying", Phase::Verifying),
    ("delivering", Phase::Delivering),
    ("waiting", Phase::Waiting),
    ("recovering", Phase::Recovering),
];

/// Reads a list of steps. A step that cannot be read is left out; its problem is noted.
pub(super) fn read_steps(table: &mut Table<'_>) -> Vec<Step> {
    let list = table.list("steps");
    let Some(list) = table.require("steps", list, r#"steps = [{ say = "…" }]"#) else { return Vec::new() };
    if list.is_empty() {
        table.problem(r#"steps is empty; add a step such as { say = "…" }"#);
    }
    let numbered = list.into_iter().enumerate();
    numbered.filter_map(|(at, step)| read_step(table, at + 1, step)).collect()
}

fn read_step(parent: &Table<'_>, number: usize, value: Value) -> Option<Step> {
    let place = format!("{}, step {number}", parent.place);
    let mut table = Table::new(parent.reading, place, value)?;
    let kinds: Vec<&str> = KINDS.into_iter().filter(|key| table.has(key)).collect();
    match kinds[..] {
        [_] => {
            let when = read_conditions(&mut table, "when");
            let does = read_does(kinds[0], &mut table);
            table.finish();
            // What a step saves is known to the steps behind it, not to itself.
            if let Some(Does::Call(calls)) = &does {
                calls.iter().filter_map(|call| call.save.as_deref()).for_each(|name| parent.reading.save(name));
            }
            Some(Step { when, does: does? })
        }
        [] => {
            table.pass_over(KINDS);
            table.pass_over(["when"]);
            table.problem(format_args!("nothing to do; a step needs one of {}", KINDS.join(", ")));
            table.finish();
            None
        }
        _ => {
            table.problem(format_args!("{} in one step; make a step of each", kinds.join(" and ")));
            None
        }
    }
}

fn read_does(kind: &str, table: &mut Table<'_>) -> Option<Does> {
    match kind {
        "say" => {
            let text = table.template("say");
            let pace = read_pace(table);
            Some(Does::Say { text: text?, pace })
        }
        "reasoning" => table.template("reasoning").map(Does::Reason),
        "reasoning_summary" => table.template("reasoning_summary").map(Does::Summarize),
        "wait" => table.word("wait", &[("forever", Does::Wait as fn(Option<Duration>) -> Does)]).map(|wait| wait(None)),
        "wait_ms" => table.whole("wait_ms").map(|ms| Does::Wait(Some(Duration::from_millis(ms)))),
        "tool" => read_tool(table.table("tool")?).map(|tool| Does::Call(vec![tool])),
        "tools" => read_tools(table).map(Does::Call),
        "delegate" => read_delegate(table.table("delegate")?).map(|call| Does::Call(vec![call])),
        "ask" => read_ask(table).map(|ask| Does::Call(vec![ask])),
        "artifact" => read_artifact(table.table("artifact")?),
        "usage" => read_usage(table.table("usage")?),
        "error" => read_error(table.table("error")?),
        "status" => read_status(table.table("status")?),
        "steps" => Some(Does::Group(read_steps(table))),
        "repeat" => read_repeat(table.table("repeat")?),
        _ => table.template("finish").map(Does::Finish),
    }
}

fn read_artifact(mut table: Table<'_>) -> Option<Does> {
    const KINDS: [&str; 4] = ["text", "data", "base64", "url"];
    let name = table.template("name");
    let media_type = table.text("media_type");
    let kinds: Vec<&str> = KINDS.into_iter().filter(|key| table.has(key)).collect();
    let (usual, content) = match kinds[..] {
        ["text"] => ("text/plain; charset=utf-8", table.template("text").map(Content::Text)),
        ["data"] => ("application/json", table.value_template("data").map(Content::Data)),
        ["base64"] => ("application/octet-stream", read_base64(&mut table)),
        ["url"] => ("application/octet-stream", table.template("url").map(Content::Url)),
        _ => {
            table.problem(format_args!("an artifact needs one of {}", KINDS.join(", ")));
            ("", None)
        }
    };
    table.pass_over(KINDS);
    table.finish();
    Some(Does::Artifact { name, media_type: media_type.unwrap_or_else(|| usual.to_owned()), content: content? })
}

fn read_base64(table: &mut Table<'_>) -> Option<Content> {
    let text = table.text("base64")?;
    match STANDARD.decode(&text) {
        Ok(bytes) => Some(Content::Bytes(bytes.into())),
        Err(error) => {
            table.problem(format_args!("base64 cannot be decoded: {error}"));
            None
        }
    }
}

fn read_usage(mut table: Table<'_>) -> Option<Does> {
    let usage = Usage {
        input_tokens: table.whole("input_tokens"),
        output_tokens: table.whole("output_tokens"),
        reasoning_tokens: table.whole("reasoning_tokens"),
        cached_tokens: table.whole("cached_tokens"),
    };
    table.finish();
    Some(Does::Use(usage))
}

fn read_error(mut table: Table<'_>) -> Option<Does> {
    let category = table.text("category").unwrap_or_else(|| "model_error".to_owned());
    if category == INTERRUPTED {
        table.problem(format_args!("category {INTERRUPTED:?} is kept for restarts; use another word"));
    }
    let message = table.template("message");
    let message = table.require("message", message, r#"message = "what went wrong""#);
    let times = table.whole("times");
    let retryable = table.flag("retryable").unwrap_or(times.is_some());
    table.finish();
    Some(Does::Fail { category, message: message?, retryable, times })
}

fn read_status(mut table: Table<'_>) -> Option<Does> {
    let phase = table.word("phase", &PHASES).unwrap_or(Phase::Working);
    let title = table.template("title");
    let title = table.require("title", title, r#"title = "Reading files""#);
    let detail = table.template("detail");
    table.finish();
    Some(Does::Status { phase, title: title?, detail })
}

fn read_repeat(mut table: Table<'_>) -> Option<Does> {
    let times = table.whole("times");
    let times = table.require("times", times, "times = 3");
    let steps = read_steps(&mut table);
    // Read behind the steps, because it may look at what they save.
    let until = read_conditions(&mut table, "until");
    table.finish();
    Some(Does::Repeat { times: times?, until, steps })
}

/// How large an entry is when everything it repeats is written out: steps, and answers it takes to get through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub steps: u64,
    pub rounds: u64,
}

pub(super) fn size(steps: &[Step]) -> Size {
    steps.iter().fold(Size::default(), |sum, step| {
        let (own, inner, times) = match &step.does {
            Does::Call(_) => (Size { steps: 1, rounds: 1 }, Size::default(), 0),
            Does::Group(steps) => (Size { steps: 1, rounds: 0 }, size(steps), 1),
            Does::Repeat { times, steps, .. } => (Size { steps: 1, rounds: 0 }, size(steps), *times),
            _ => (Size { steps: 1, rounds: 0 }, Size::default(), 0),
        };
        let grown =
            |sum: u64, own: u64, inner: u64| sum.saturating_add(own).saturating_add(inner.saturating_mul(times));
        Size { steps: grown(sum.steps, own.steps, inner.steps), rounds: grown(sum.rounds, own.rounds, inner.rounds) }
    })
}

/// Notes what stands where a text or a table was expected.
pub(super) fn expected(table: &Table<'_>, what: &str, found: &Value) {
    table.problem(format_args!("expected {what}, not {}", kind(found)));
}
