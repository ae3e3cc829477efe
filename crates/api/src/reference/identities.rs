//! `identities.md`: the ids, their prefixes, what each names.

use factum_model::id::IDENTITIES;

use super::markdown::{Page, code};

const ABOUT: &str = "\
Ids that the server makes are a prefix, `_` and a UUIDv7, so those of one kind sort by age. The prefix is for people and
logs: nothing is decided by it. Where a command takes an id of your own (`turn_id`, `session_id`, `task_id`, …), any text
of 1 to 128 letters, digits and `_ . : -` will do, and makes the call safe to repeat: the same answer again, or for
`create_session` a `conflict`, and in neither case a second one.

An id is unique within its account. Another account's id does not exist for you.";

pub(super) fn page() -> String {
    let mut page = Page::new("Identities", ABOUT);
    let row = |(name, prefix): (&str, &str)| {
        let example = format!("{prefix}_0198c0de-0000-7000-8000-000000000000");
        [name.to_owned(), code(&format!("{prefix}_")), meaning(name).to_owned(), code(&example)]
    };
    page.table(["identity", "prefix", "names", "example"], IDENTITIES.iter().copied().map(row));
    page.finish()
}

/// What an identity names. A test asks that none is without words.
pub(super) fn meaning(name: &str) -> &'static str {
    match name {
        "RuntimeId" => "an installation of the runtime; stays over restarts",
        "SessionId" => "a durable, user-visible work container; owns threads",
        "ThreadId" => "an ordered execution context of a session",
        "TurnId" => "one submitted input and what came of it",
        "TaskId" => "a unit of work with objective, lifecycle, attempts and acceptance",
        "RunId" => "one execution attempt of a task",
        "AttemptId" => "the same attempt, as the retry policy counts it",
        "StepId" => "an ordered item of a turn, task or run",
        "ToolCallId" => "one invocation of a tool",
        "ActionId" => "one pending decision of a person or a policy",
        "SubagentId" => "a child agent's execution context",
        "ArtifactId" => "a durable deliverable",
        "EvidenceId" => "a trace, replay, verification or review",
        "JobId" => "a batch of work items",
        "ScheduleId" => "what makes jobs at given times",
        "JobItemId" => "one item of a batch",
        "ProcessId" => "a process under a tool call",
        "EventId" => "one event",
        "ModelRequestId" => "one request to a model",
        "ChannelId" => "a link to a peer",
        "MessagingChannelId" => "a messaging channel",
        "MessageId" => "one message of a messaging channel",
        "KeyId" => "an API key; never the secret itself",
        "HookRunId" => "one run of a hook",
        _ => "",
    }
}
