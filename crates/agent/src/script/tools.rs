//! Tools that follow a script: they take their time, say how far they are, and give the result that is written there.

use std::sync::Arc;

use async_trait::async_trait;
use factum_model::events::{ToolEntry, ToolOwner, ToolPolicy};
use factum_model::value::{Effect, Failure};
use serde_json::Value;
use tokio::time::Instant;

use super::Script;
use super::invoke::{ASK_TOOL, Calls, Invocation};
use super::play::{Course, End, plan};
use super::say::sleep_to;
use super::step::{Does, Step};
use crate::tools::{DELEGATE_TOOL, ProgressSink, ToolInvocation, ToolOutput, Tools};

/// The tools a script mentions. Keeps nothing: which call it is, is read from the transcript.
pub struct ScriptTools {
    script: Arc<Script>,
}

impl ScriptTools {
    pub fn new(script: Arc<Script>) -> Self {
        Self { script }
    }

    /// What the script says about a call. The answers before it lead to it.
    fn course(&self, call: &ToolInvocation<'_>) -> Option<Course> {
        let rounds = call.turn.transcript.rounds.get(..call.round)?;
        let End::Calls(calls) = plan(&self.script, call.turn, rounds)?.end else { return None };
        calls
            .into_iter()
            .nth(call.index)
            .filter(|planned| planned.draft.tool_name == call.name)
            .map(|planned| planned.course)
    }
}

#[async_trait]
impl Tools for ScriptTools {
    fn catalog(&self) -> Vec<ToolEntry> {
        let mut entries = Vec::new();
        for entry in &self.script.entries {
            mentioned(&entry.steps, &mut |invocation| list(invocation, &mut entries));
        }
        entries
    }

    async fn run(&self, call: &ToolInvocation<'_>, progress: &ProgressSink) -> Result<ToolOutput, Failure> {
        let Some(course) = self.course(call) else {
            let message = format!("the script {:?} does not call {} here", self.script.name, call.name);
            let advice =
                "a script that is edited while a turn is under way may no longer fit it; submit the turn again";
            return Err(Failure { advice: Some(advice.to_owned()), ..failed(message) });
        };
        let start = Instant::now();
        let parts = u32::try_from(course.progress.len()).unwrap_or(u32::MAX).saturating_add(1);
        for (part, note) in (1..parts).zip(course.progress) {
            sleep_to(start, course.duration * part / parts).await;
            let percent = u8::try_from(u64::from(part) * 100 / u64::from(parts)).ok();
            progress.note(Some(note), percent).await;
        }
        sleep_to(start, course.duration).await;
        course.result.map(output).map_err(failed)
    }
}

/// Calls `visit` with every call that is written in the steps.
fn mentioned<'s>(steps: &'s [Step], visit: &mut dyn FnMut(&'s Invocation)) {
    for step in steps {
        match &step.does {
            Does::Call(invocations) => invocations.iter().for_each(&mut *visit),
            Does::Group(steps) | Does::Repeat { steps, .. } => mentioned(steps, visit),
            _ => {}
        }
    }
}

/// Adds a call's tool. One that is mentioned several times is as careful as the most careful mention.
fn list(invocation: &Invocation, entries: &mut Vec<ToolEntry>) {
    let (name, effect, policy) = match &invocation.calls {
        Calls::Ask { .. } => (ASK_TOOL, Effect::Pure, ToolPolicy::Allowed),
        // What the call gives away is found again by its id.
        Calls::Delegate { .. } => (DELEGATE_TOOL, Effect::Idempotent, ToolPolicy::Allowed),
        Calls::Tool(tool) => {
            let policy = if tool.approval.is_some() { ToolPolicy::Ask } else { ToolPolicy::Allowed };
            (tool.name.as_str(), tool.effect, policy)
        }
    };
    let Some(entry) = entries.iter_mut().find(|entry| entry.tool_name == name) else {
        return entries.push(tool_entry(name, effect, policy));
    };
    if effect != entry.effect {
        entry.effect = careful(effect, entry.effect);
        entry.is_read_only = entry.effect == Effect::Pure;
        entry.is_concurrency_safe = entry.is_read_only;
    }
    if policy == ToolPolicy::Ask {
        entry.policy = policy;
    }
}

fn tool_entry(name: &str, effect: Effect, policy: ToolPolicy) -> ToolEntry {
    ToolEntry {
        tool_name: name.to_owned(),
        description: None,
        input_schema: None,
        capabilities: Vec::new(),
        policy,
        runtime_owner: ToolOwner::Local,
        is_read_only: effect == Effect::Pure,
        is_concurrency_safe: effect == Effect::Pure,
        is_destructive: false,
        interrupt_behavior: None,
        effect,
        metadata_ref: None,
    }
}

fn careful(one: Effect, other: Effect) -> Effect {
    let rank = |effect| match effect {
        Effect::Pure => 0,
        Effect::Idempotent => 1,
        Effect::Once => 2,
        Effect::Unknown => 3,
    };
    if rank(one) >= rank(other) { one } else { other }
}

/// A text is a text; anything else is structured.
fn output(result: Value) -> ToolOutput {
    match result {
        Value::String(text) => ToolOutput { text: Some(text), structured: None },
        structured => ToolOutput { text: None, structured: Some(structured) },
    }
}

fn failed(message: String) -> Failure {
    Failure { category: "tool_failed".to_owned(), message, retryable: false, advice: None }
}
