//! Scripted agents: a model and its tools in a file.
//!
//! A script is a TOML 1.1 file (or the same as JSON) that says what an agent does about an input. It drives the whole runtime
//! without a provider: demos, tests, benchmarks and replays are scripts.
//!
//! ```toml
//! name = "demo"
//! description = "Shows what an agent can do here."
//!
//! [[on]]
//! starts_with = "ask:"
//! steps = [
//!   { reasoning = "I need to know more." },
//!   { say = "One question first. " },
//!   { ask = "{rest}", save = "answer" },
//!   { say = "You said: {answer}", when = { answer = "succeeded" } },
//! ]
//!
//! [[on]]
//! any = true
//! steps = [{ say = "{input}" }]
//! ```
//!
//! ## Entries
//!
//! `name` is how turns ask for the agent: letters, digits, `_` and `-`. `description` is for people. `accepts = ["text/plain"]` is what
//! the agent takes over A2A: its card says so, and a message with a part of another media type is refused; without it that is
//! `text/plain` and `application/json`. `*/*` takes anything. Each `[[on]]` is one entry; the first whose matcher fits the input's text is taken, and a turn that fits none fails with `script_no_entry`.
//!
//! | matcher | fits | `{rest}` is |
//! |---|---|---|
//! | `starts_with = "ask:"` | input that begins so, leading white space aside | what is behind it, trimmed |
//! | `equals = "ping"` | exactly this, surrounding white space aside | the whole input |
//! | `contains = "deploy"` | input with this anywhere | the whole input |
//! | `any = true` | everything; has to be the last entry | the whole input |
//!
//! `reply = "message"` in an entry says that a peer which sends such an input over A2A gets one message back and no task (`"task"`
//! is the default). Such an entry cannot ask, need an approval or make artifacts: there is no task to do it in.
//!
//! ## Steps
//!
//! Each step is a table with one of these keys. Any step may also have `when`.
//!
//! | step | does | beside it |
//! |---|---|---|
//! | `say = "text"` | streams text | `chunk = "words"` (default), `"chars"` or a number of characters (up to 1000); `delay_ms = 20` between pieces (default 0) or `over_ms = 10000` for all of them |
//! | `reasoning = "text"`, `reasoning_summary = "text"` | reasoning outside the answer | |
//! | `status = { title = "…" }` | says what is being done | inside: `phase = "planning"`, `preparing`, `working` (default), `verifying`, `delivering`, `waiting` or `recovering`; `detail` |
//! | `wait_ms = 500`, `wait = "forever"` | nothing, for a while or until interrupted | |
//! | `tool = { name = "…" }` | calls a tool, see below | |
//! | `ask = "question"` | asks the user; the answer is the result | `save`, `schema` (JSON Schema of the answer), `timeout_ms`, `on_timeout` |
//! | `tools = [ { name = "…" }, { ask = "…" } ]` | several calls in one answer | |
//! | `artifact = { text = "…" }` | keeps content beside the answer | inside: `name`, `media_type` (has a default for each), and one of `text`, `data = { … }` (any value, as JSON), `base64`, `url` (content that is elsewhere; nobody fetches it) |
//! | `usage = { input_tokens = 10 }` | what the answer cost, added up | inside: `input_tokens`, `output_tokens`, `reasoning_tokens`, `cached_tokens` |
//! | `error = { message = "…" }` | fails the model request | inside: `category` (default `model_error`), `retryable` (default `true` with `times`, else `false`), `times = 2` (only the first two tries fail) |
//! | `steps = [ … ]` | a group, for one `when` over several steps | |
//! | `repeat = { times = 3, steps = [ … ] }` | the same steps again; `{index}` counts from 1 | inside: `until = { answer = { equals = "done" } }`, looked at behind each time, written like `when` |
//! | `finish = "stop_reason"` | ends the turn here | |
//!
//! ## Tools
//!
//! ```toml
//! { tool = {
//!     name = "deploy",
//!     args = { target = "{rest}" },     # what the call is made with; what an approval is bound to
//!     effect = "once",                  # pure, idempotent, once or unknown (default): what a crash may do about it
//!     approval = true,                  # somebody has to allow it; default false, or true with a prompt
//!     prompt = "Deploy {rest}?",        # default "Allow deploy?"
//!     timeout_ms = 60000,               # how long the decision may take; default for ever
//!     on_timeout = "deny",              # deny (default), cancel (ends the turn) or wait (stays open)
//!     duration_ms = 200,                # how long it runs; default 0
//!     progress = ["building", "pushing"],   # spread over the duration
//!     result = { url = "https://…" },   # any value; default "ok"
//!     # error = "no space left",        # instead of a result: the tool fails
//!     save = "deploy",
//! } }
//! ```
//!
//! Calls of `tools` that are `pure` run together, others one after the other. A call that failed, was denied or got lost does not
//! end the turn: the script goes on behind it, and `when` tells the cases apart.
//!
//! ## Saved outcomes
//!
//! `save = "deploy"` gives the outcome of a call a name for the steps behind it.
//!
//! - `when = { deploy = "succeeded" }` takes a step only where the call ended so. A list means any of them, several names mean all
//!   of them. The outcomes are `succeeded`, `failed`, `denied`, `cancelled`, `timed_out`, `lost`, and `skipped` for a call that was
//!   not made because its own `when` did not hold.
//! - `when = { answer = { equals = "yes" } }` looks at what the call gave, white space around it aside; `{ not = "yes" }` is the
//!   opposite. A list means any of them for `equals`, none of them for `not`. What was not made or not answered gave nothing.
//! - `{deploy}` is the result as text (the answer of an `ask`), or the error's message where there is none.
//! - `{deploy.url}` is a field of a structured result, `{deploy.items.0.name}` one further inside. The answer of an `ask` is structured
//!   where its `schema` asks for an object or a list.
//! - `{deploy.outcome}` is the word for how it ended, `{deploy.error}` the error's message.
//!
//! ## Names in braces
//!
//! All texts, those inside `args` and `result` too, may use `{input}`, `{rest}`, `{turn_id}`, `{agent}`, `{index}`,
//! `{options.key}` (of the turn's options) and saved names. `{{` and `}}` stand for single braces. What has no value is empty; a
//! name that nothing saves is an error when the script is loaded.
//!
//! ## Where a script stands
//!
//! A script keeps no position. One answer of the model covers the steps up to and including the next `tool`, `tools` or `ask`;
//! the next answer goes on behind it. How many answers have been given is in the facts of the turn, and so are the outcomes that
//! `when` looks at, so the script is walked again from its beginning each time and arrives at the same place. A crash therefore
//! repeats at most the answer under way, and a tool run says what the script says at that place. A script that is edited while a
//! turn is under way goes on behind the same number of boundaries.
//!
//! A failed try of an answer starts at its first step again; what it had streamed stays in the log, under its own request id.
//!
//! ## Bounds
//!
//! 10,000 steps and 199 boundaries per entry with all repetitions written out, 64 calls in one `tools`, 4 tries per answer.
//!
//! The code: `table` and `problem` read a file and say what is wrong with it, `entry`, `step`, `invoke`, `condition`, `say`
//! and `template` are what it says, `play` walks it, [`ScriptModel`] and [`ScriptTools`] put it behind the seams.

mod condition;
mod entry;
mod invoke;
mod model;
mod play;
mod problem;
mod say;
mod step;
mod table;
mod template;
mod tools;

#[cfg(test)]
mod tests;

use serde_json::Value;

use entry::{Entry, read_entries};
use problem::Reading;
use table::Table;

pub use invoke::ASK_TOOL;
pub use model::ScriptModel;
pub use problem::ScriptError;
pub use tools::ScriptTools;

const DEMO: &str = include_str!("../../scripts/demo.toml");
const WAITING: &str = include_str!("../../scripts/waiting.toml");

/// A script that has been read and makes sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub name: String,
    pub description: String,
    /// The media types its agent takes from peers; empty where it takes anything.
    pub accepts: Vec<String>,
    entries: Vec<Entry>,
}

impl Script {
    /// Reads a script, TOML or JSON. `file` is what the problems name.
    pub fn parse(file: &str, text: &str) -> Result<Script, ScriptError> {
        let reading = Reading::new(file);
        let script = parse_value(&reading, text).and_then(|value| read_script(&reading, value));
        reading.finish(script)
    }

    /// The entry for an input, and what `{rest}` stands for in it.
    fn entry_for<'i>(&self, input: &'i str) -> Option<(&Entry, &'i str)> {
        self.entries.iter().find_map(|entry| entry.matcher.rest(input).map(|rest| (entry, rest)))
    }

    /// The agent of `factum dev`.
    pub fn demo() -> Script {
        built_in("demo.toml", DEMO)
    }

    /// An agent that works until it is interrupted.
    pub fn waiting() -> Script {
        built_in("waiting.toml", WAITING)
    }
}

#[allow(clippy::expect_used, reason = "a test reads the scripts that are part of the binary")]
fn built_in(file: &str, text: &str) -> Script {
    Script::parse(file, text).expect("a script that is part of the binary makes sense")
}

/// No TOML file begins with a brace, and every JSON script does.
fn parse_value(reading: &Reading, text: &str) -> Option<Value> {
    let parsed = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"))
    } else {
        toml::from_str(text).map_err(|error| format!("this is not TOML: {}", error.to_string().trim_end()))
    };
    parsed.map_err(|message| reading.problem("", message)).ok()
}

fn read_script(reading: &Reading, value: Value) -> Option<Script> {
    let mut table = Table::new(reading, "", value)?;
    let name = table.text("name");
    let name = table.require("name", name, r#"name = "helper""#);
    if let Some(name) = name.as_deref().filter(|name| !may_be_called(name)) {
        table.problem(format_args!("name {name:?} cannot be used; take letters, digits, _ and -"));
    }
    let description = table.text("description").unwrap_or_default();
    let accepts = read_accepts(&mut table);
    let on = table.list("on");
    let on = table.require("on", on, r#"[[on]] with any = true and steps = [{ say = "…" }]"#);
    table.finish();
    let entries = read_entries(reading, on?);
    Some(Script { name: name?, description, accepts, entries })
}

fn read_accepts(table: &mut Table<'_>) -> Vec<String> {
    let types = table.list("accepts").unwrap_or_default();
    let is_type = |text: &&str| text.split_once('/').is_some_and(|(kind, sub)| !kind.is_empty() && !sub.is_empty());
    let known: Vec<String> = types.iter().filter_map(|one| one.as_str().filter(is_type).map(str::to_owned)).collect();
    if known.len() != types.len() {
        table.problem(r#"accepts has to list media types, such as accepts = ["text/plain"]"#);
    }
    known
}

fn may_be_called(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}
