//! Where a script stands, and what the answer under way says.
//!
//! A script has no position of its own. It is walked from its beginning each time: a `tool` or `ask` step that the transcript
//! has an answer for is passed, with its outcome saved; steps before it are passed in silence, because they belong to that
//! answer. Behind the last one, steps are collected until the next boundary. The same facts give the same plan.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use factum_model::events::{Phase, ToolOwner};
use factum_model::report::{Gate, ToolDraft};
use factum_model::value::{Effect, Failure, Usage, text_of};
use serde_json::{Value, json};

use super::Script;
use super::condition::{Condition, Ended, Is};
use super::invoke::{ASK_TOOL, Calls, Invocation};
use super::say::Pace;
use super::step::{Content, Does, Step};
use super::template::Values;
use crate::model::{Artifact, ArtifactContent, TurnView};
use crate::tools::DELEGATE_TOOL;
use crate::transcript::{Call, Outcome, Round};

/// One answer: what is done for it, and how it ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub plays: Vec<Play>,
    pub end: End,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Play {
    Say { text: String, pace: Pace },
    Reason(String),
    Summarize(String),
    Wait(Option<Duration>),
    Artifact(Artifact),
    Use(Usage),
    Fail { error: Failure, times: Option<u64> },
    Status { phase: Phase, title: String, detail: Option<String> },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    Calls(Vec<Planned>),
    Stop(String),
}

/// A call, and what it will come to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Planned {
    pub draft: ToolDraft,
    pub course: Course,
}

/// The run of a scripted tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Course {
    pub duration: Duration,
    pub progress: Vec<String>,
    pub result: Result<Value, String>,
}

/// The answer that comes after `rounds`; `None` where no entry is for this input.
pub(super) fn plan(script: &Script, turn: TurnView<'_>, rounds: &[Round]) -> Option<Plan> {
    let input = text_of(turn.input);
    let (entry, rest) = script.entry_for(&input)?;
    let names = Names { script, turn, rest: rest.to_owned(), input: input.clone(), index: 1, saved: BTreeMap::new() };
    let mut walk = Walk { names, answered: rounds.iter(), plays: Vec::new() };
    let end = match walk.steps(&entry.steps) {
        ControlFlow::Break(end) => end,
        ControlFlow::Continue(()) => End::Stop("end_turn".to_owned()),
    };
    walk.plays.shrink_to_fit();
    Some(Plan { plays: walk.plays, end })
}

struct Walk<'a> {
    names: Names<'a>,
    /// Answers that are not passed yet.
    answered: std::slice::Iter<'a, Round>,
    plays: Vec<Play>,
}

impl<'a> Walk<'a> {
    fn steps(&mut self, steps: &[Step]) -> ControlFlow<End> {
        for step in steps {
            if step.when.iter().all(|condition| self.names.holds(condition)) {
                self.step(&step.does)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn step(&mut self, does: &Does) -> ControlFlow<End> {
        match does {
            Does::Group(steps) => self.steps(steps),
            Does::Repeat { times, until, steps } => self.repeat(*times, until, steps),
            Does::Call(invocations) => self.call(invocations),
            Does::Finish(reason) if self.is_here() => ControlFlow::Break(End::Stop(reason.fill(&self.names))),
            other => {
                if self.is_here() {
                    self.plays.extend(play(other, &self.names));
                }
                ControlFlow::Continue(())
            }
        }
    }

    /// Whether the step belongs to the answer under way, not to one that was given.
    fn is_here(&self) -> bool {
        self.answered.as_slice().is_empty()
    }

    fn repeat(&mut self, times: u64, until: &[Condition], steps: &[Step]) -> ControlFlow<End> {
        let outer = self.names.index;
        for index in 1..=times {
            self.names.index = index;
            self.steps(steps)?;
            if !until.is_empty() && until.iter().all(|condition| self.names.holds(condition)) {
                break;
            }
        }
        self.names.index = outer;
        ControlFlow::Continue(())
    }

    /// Passes a boundary that is behind us, and ends the answer at the one that is not.
    fn call(&mut self, invocations: &[Invocation]) -> ControlFlow<End> {
        let Some(round) = self.answered.next() else {
            return ControlFlow::Break(End::Calls(invocations.iter().map(|call| planned(call, &self.names)).collect()));
        };
        for (invocation, call) in invocations.iter().zip(&round.calls) {
            if let Some(name) = &invocation.save {
                self.names.saved.insert(name.clone(), call);
            }
        }
        ControlFlow::Continue(())
    }
}

fn play(does: &Does, names: &Names<'_>) -> Option<Play> {
    Some(match does {
        Does::Say { text, pace } => Play::Say { text: text.fill(names), pace: *pace },
        Does::Reason(text) => Play::Reason(text.fill(names)),
        Does::Summarize(text) => Play::Summarize(text.fill(names)),
        Does::Wait(time) => Play::Wait(*time),
        Does::Artifact { name, media_type, content } => Play::Artifact(Artifact {
            name: name.as_ref().map(|name| name.fill(names)),
            media_type: media_type.clone(),
            content: match content {
                Content::Text(text) => ArtifactContent::Bytes(text.fill(names).into()),
                Content::Bytes(bytes) => ArtifactContent::Bytes(bytes.clone()),
                Content::Data(data) => ArtifactContent::Bytes(data.fill(names).to_string().into()),
                Content::Url(url) => ArtifactContent::Url(url.fill(names)),
            },
        }),
        Does::Use(usage) => Play::Use(usage.clone()),
        Does::Fail { category, message, retryable, times } => {
            let (category, message) = (category.clone(), message.fill(names));
            Play::Fail { error: Failure { category, message, retryable: *retryable, advice: None }, times: *times }
        }
        Does::Status { phase, title, detail } => {
            let detail = detail.as_ref().map(|detail| detail.fill(names));
            Play::Status { phase: *phase, title: title.fill(names), detail }
        }
        Does::Call(_) | Does::Group(_) | Does::Repeat { .. } | Does::Finish(_) => return None,
    })
}

fn planned(invocation: &Invocation, names: &Names<'_>) -> Planned {
    let Invocation { timeout_ms, on_timeout, .. } = *invocation;
    let draft = |tool_name: &str, arguments, effect, gate| ToolDraft {
        tool_name: tool_name.to_owned(),
        arguments,
        owner: ToolOwner::Local,
        effect,
        gate,
        native_call_id: None,
    };
    match &invocation.calls {
        Calls::Ask { question, schema } => {
            let (prompt, input_schema) = (question.fill(names), schema.clone());
            let arguments = json!({ "question": prompt });
            let gate = Gate::Question { prompt, input_schema, timeout_ms, on_timeout };
            // The answer is the result, so nothing ever runs.
            let course = Course { duration: Duration::ZERO, progress: Vec::new(), result: Ok(Value::Null) };
            Planned { draft: draft(ASK_TOOL, arguments, Effect::Pure, gate), course }
        }
        Calls::Delegate { peer, message } => {
            let arguments = json!({ "peer": peer.fill(names), "message": message.fill(names) });
            // What the peer makes of it is the result.
            let course = Course { duration: Duration::ZERO, progress: Vec::new(), result: Ok(Value::Null) };
            Planned { draft: draft(DELEGATE_TOOL, arguments, Effect::Idempotent, Gate::Open), course }
        }
        Calls::Tool(tool) => {
            let gate = match &tool.approval {
                Some(prompt) => Gate::Approval { prompt: prompt.fill(names), timeout_ms, on_timeout },
                None => Gate::Open,
            };
            let result = tool.result.as_ref().map(|value| value.fill(names)).map_err(|message| message.fill(names));
            let progress = tool.progress.iter().map(|note| note.fill(names)).collect();
            let course = Course { duration: tool.duration, progress, result };
            Planned { draft: draft(&tool.name, tool.args.fill(names), tool.effect, gate), course }
        }
    }
}

/// What the names in a script stand for at one point of it.
struct Names<'a> {
    script: &'a Script,
    turn: TurnView<'a>,
    input: String,
    rest: String,
    index: u64,
    saved: BTreeMap<String, &'a Call>,
}

impl Names<'_> {
    fn holds(&self, condition: &Condition) -> bool {
        let saved = condition.saved.as_str();
        match &condition.is {
            Is::Ended(ended) => ended.contains(&self.ended(saved)),
            Is::Equal(texts) => texts.contains(&self.given(saved)),
            Is::Not(texts) => !texts.contains(&self.given(saved)),
        }
    }

    /// What a saved call gave, as text.
    fn given(&self, saved: &str) -> String {
        let outcome = self.saved.get(saved).and_then(|call| call.outcome());
        outcome.map_or_else(String::new, |outcome| outcome_text(outcome, &[]).trim().to_owned())
    }

    fn ended(&self, saved: &str) -> Ended {
        Ended::of(self.saved.get(saved).and_then(|call| call.outcome()))
    }
}

impl Values for Names<'_> {
    fn value(&self, path: &[String]) -> String {
        let Some((first, fields)) = path.split_first() else { return String::new() };
        match first.as_str() {
            "input" => self.input.clone(),
            "rest" => self.rest.clone(),
            "turn_id" => self.turn.turn_id.to_string(),
            "agent" => self.script.name.clone(),
            "index" => self.index.to_string(),
            "options" => fields.split_first().map_or_else(String::new, |(key, fields)| {
                self.turn.options.get(key).map_or_else(String::new, |value| field_text(value, fields))
            }),
            saved => match fields {
                [field] if field == "outcome" => self.ended(saved).word().to_owned(),
                fields => self
                    .saved
                    .get(saved)
                    .and_then(|call| call.outcome())
                    .map_or_else(String::new, |outcome| outcome_text(outcome, fields)),
            },
        }
    }
}

fn outcome_text(outcome: &Outcome, fields: &[String]) -> String {
    match (outcome, fields) {
        (Outcome::Failed { error, .. }, []) => error.message.clone(),
        (Outcome::Failed { error, .. }, [field]) if field == "error" => error.message.clone(),
        (Outcome::Failed { .. }, _) => String::new(),
        (Outcome::Succeeded { preview: Some(preview), .. }, []) => preview.clone(),
        (Outcome::Succeeded { structured, .. }, fields) => {
            structured.as_ref().map_or_else(String::new, |value| field_text(value, fields))
        }
    }
}

/// A field of a value as a text. Lists are reached into by number, from 0; what is not there is empty.
fn field_text(value: &Value, fields: &[String]) -> String {
    let found = fields.iter().try_fold(value, |value, field| match value {
        Value::Array(list) => field.parse::<usize>().ok().and_then(|at| list.get(at)),
        value => value.get(field),
    });
    match found {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
