//! How the process ends, and how an error is told: what happened, why, and what to do.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use factum_model::Refusal;
use serde_json::Value;

use crate::render::{Breaks, clean};

/// The exit codes, as `--help` documents them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok = 0,
    /// A check found something, or the server refused.
    Findings = 1,
    /// The command line or the configuration is wrong, or the command cannot run here.
    CannotRun = 2,
    /// The server cannot be reached.
    Unreachable = 3,
}

/// The end of `--help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    done; for checks: nothing found
  1    a check found something, or the server refused
  2    wrong usage or configuration, or it cannot run here
  3    the server cannot be reached
  130  a second signal ended it before it had drained

Data goes to stdout, messages to stderr. Settings: flag > FACTUM_* variable > factum.toml > default.";

/// An error that knows its exit code and what to do about it.
#[derive(Debug)]
pub(crate) struct Problem {
    exit: Exit,
    what: String,
    why: Option<Box<dyn Error + Send + Sync>>,
    advice: Option<String>,
    /// What the server said, where it was the server.
    refusal: Option<Box<Refusal>>,
}

impl Problem {
    fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { exit, what: what.into(), why: None, advice: None, refusal: None }
    }

    pub(crate) fn cannot_run(what: impl Into<String>) -> Self {
        Self::new(Exit::CannotRun, what)
    }

    pub(crate) fn unreachable(what: impl Into<String>) -> Self {
        Self::new(Exit::Unreachable, what)
    }

    pub(crate) fn refused(what: impl Into<String>) -> Self {
        Self::new(Exit::Findings, what)
    }

    /// A refusal of a runtime, in the same words whether it was reached in process or over a socket.
    pub(crate) fn refusal(doing: &str, refusal: &Refusal) -> Self {
        let mut problem = Self::refused(format!("{doing} was refused")).because(why(refusal));
        problem.refusal = Some(Box::new(refusal.clone()));
        if refusal.retryable { problem.advice("the same request may succeed later") } else { problem }
    }

    pub(crate) fn because(mut self, why: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.why = Some(why.into());
        self
    }

    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for Problem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.why.as_ref().map(|why| &**why as &(dyn Error + 'static))
    }
}

/// A refusal in words. What is missing is a line each, since it is a list of things to do.
fn why(refusal: &Refusal) -> String {
    let mut why = format!("{}: {}", refusal.code.as_str(), refusal.message);
    let mut details = refusal.details.clone();
    let missing = match details.get("missing") {
        Some(Value::Array(_)) => details.shift_remove("missing"),
        _ => None,
    };
    if details.values().any(|value| value.is_object() || value.is_array()) {
        why = format!("{why} {}", Value::Object(details));
    } else if !details.is_empty() {
        let words = details
            .iter()
            .map(|(name, value)| format!("{name} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
        why = format!("{why} ({})", words.collect::<Vec<_>>().join(", "));
    }
    let missing = missing.as_ref().and_then(Value::as_array).into_iter().flatten();
    missing.fold(why, |why, item| format!("{why}\n- {}", clean(&missing_item(item), Breaks::Shown)))
}

/// What is missing, and how it stands, in words.
fn missing_item(item: &Value) -> String {
    let word = |field: &str| item[field].as_str().unwrap_or_default();
    match (word("kind"), item) {
        ("artifact", _) => format!("the artifact {} is not there", word("name")),
        ("evidence", _) => format!("evidence of the kind {} is not there", word("name")),
        ("criterion", _) => format!("the criterion {} is {}", word("criterion_id"), word("state")),
        ("child", _) => format!("the child {} is {}", word("task_id"), word("status")),
        ("action", _) => format!("the action {} waits for an answer: {}", word("action_id"), word("prompt")),
        ("run", _) => {
            format!("the run {} is {} {}", word("run_id"), word("status"), word("worker")).trim_end().to_owned()
        }
        (_, Value::String(text)) => text.clone(),
        _ => item.to_string(),
    }
}

/// The exit code of an error: that of the problem in it, if there is one.
pub(crate) fn exit_of(error: &anyhow::Error) -> Exit {
    error.chain().find_map(|cause| cause.downcast_ref::<Problem>()).map_or(Exit::CannotRun, |problem| problem.exit)
}

/// What the server refused with, if that is what the error is about.
pub(crate) fn refusal_of(error: &anyhow::Error) -> Option<&Refusal> {
    error.chain().find_map(|cause| cause.downcast_ref::<Problem>()?.refusal.as_deref())
}

/// How long to wait, where the server refused for the moment only.
pub(crate) fn retry_after(error: &anyhow::Error) -> Option<Duration> {
    let refusal = refusal_of(error).filter(|refusal| refusal.retryable)?;
    let ms = refusal.details.get("retry_after_ms").and_then(Value::as_u64);
    Some(Duration::from_millis(ms.unwrap_or(1_000)))
}

/// Whether somebody closed the pipe we write to: not worth a word.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(broken)
}

/// The error as one block, with styles for a terminal.
pub(crate) fn render(error: &anyhow::Error) -> String {
    const RED: Style = AnsiColor::Red.on_default().bold();
    const BLUE: Style = AnsiColor::Cyan.on_default().bold();
    let mut causes = error.chain().map(ToString::to_string);
    let mut block = format!("{RED}error:{RED:#} {}", indent(&causes.next().unwrap_or_default()));
    let mut last = String::new();
    for cause in causes.filter(|cause| !cause.is_empty()) {
        // Libraries like to repeat their source in their own text.
        if !last.contains(&cause) {
            block.push_str(&format!("\n  because: {}", indent(&cause)));
        }
        last = cause;
    }
    let advice = error.chain().filter_map(|cause| cause.downcast_ref::<Problem>()?.advice.as_deref());
    for advice in advice {
        block.push_str(&format!("\n  {BLUE}try:{BLUE:#} {}", indent(advice)));
    }
    block
}

/// Words of a server and names that strangers gave stand in errors too, so they are cleaned here, once for all of them.
fn indent(text: &str) -> String {
    clean(text.trim_end(), Breaks::Kept).replace('\n', "\n    ")
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn errors_say_what_why_and_what_to_do() {
        let io = std::io::Error::other("disk on fire");
        let problem = Problem::unreachable("no answer").because(io).advice("call the fire brigade");
        let error = Err::<(), _>(problem).context("cannot tail").unwrap_err();
        let text = anstream::adapter::strip_str(&render(&error)).to_string();
        assert_eq!(
            text,
            "error: cannot tail\n  because: no answer\n  because: disk on fire\n  try: call the fire brigade"
        );
        assert_eq!(exit_of(&error), Exit::Unreachable);
        assert_eq!(exit_of(&anyhow::anyhow!("other")), Exit::CannotRun);
    }

    #[test]
    fn an_error_tells_a_terminal_nothing() {
        let refusal = Refusal::precondition("\u{202e}evil\u{9b}31m is no member").with("who", "\u{1b}[2J");
        let problem = Problem::refusal("remove\u{200f}", &refusal).advice("ask \u{2066}them");
        let text = anstream::adapter::strip_str(&render(&problem.into())).to_string();
        let expected = "error: remove\\u{200f} was refused
  because: precondition_failed: \\u{202e}evil\\u{9b}31m is no member (who \\u{1b}[2J)
  try: ask \\u{2066}them";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_broken_pipe_is_recognised_through_context() {
        let broken = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let error = Err::<(), _>(broken).context("writing").unwrap_err();
        assert!(is_broken_pipe(&error));
        assert!(!is_broken_pipe(&anyhow::anyhow!("other")));
    }

    #[test]
    fn what_is_missing_is_a_list() {
        let missing = serde_json::json!([
            { "kind": "artifact", "name": "report.pdf" },
            { "kind": "evidence", "name": "review" },
            { "kind": "criterion", "criterion_id": "tests", "state": "open" },
            { "kind": "child", "task_id": "task_1", "status": "running" },
            { "kind": "action", "action_id": "act_1", "prompt": "may\u{1b} I?" },
            { "kind": "run", "run_id": "run_1", "status": "running", "worker": null },
            { "kind": "something_new", "size": 1 },
        ]);
        let refusal = Refusal::precondition("not yet").with("status", "running").with("missing", missing);
        let error = anyhow::Error::from(Problem::refusal("complete_task", &refusal));
        let expected = "error: complete_task was refused
  because: precondition_failed: not yet (status running)
    - the artifact report.pdf is not there
    - evidence of the kind review is not there
    - the criterion tests is open
    - the child task_1 is running
    - the action act_1 waits for an answer: may\\u{1b} I?
    - the run run_1 is running
    - {\"kind\":\"something_new\",\"size\":1}";
        assert_eq!(anstream::adapter::strip_str(&render(&error)).to_string(), expected);
    }

    #[test]
    fn refusals_show_their_code_and_details() {
        let refusal = Refusal::limit("title_chars", 300, 256);
        let error = anyhow::Error::from(Problem::refusal("create_session", &refusal));
        let text = anstream::adapter::strip_str(&render(&error)).to_string();
        let expected = "error: create_session was refused\n  because: limit_exceeded: title_chars is 300, the limit is 256 \
                        {\"limit\":{\"name\":\"title_chars\",\"actual\":300,\"max\":256}}";
        assert_eq!(text, expected);
        assert_eq!(exit_of(&error), Exit::Findings);
    }
}
