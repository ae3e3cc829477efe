//! What a decision is made with besides the state, and what it is.

use factum_model::id::*;
use factum_model::report::ModelIntent;
use factum_model::{NewEvent, Refusal, Timestamp};
use uuid::Uuid;

use crate::size::json_bytes;

/// Everything a decision may depend on that is neither state nor command.
pub struct Context<'a> {
    pub now: Timestamp,
    pub ids: &'a mut dyn IdSource,
    /// Who asks: a principal such as `agent://assistant`, or a part of the runtime such as `runtime://timer`.
    pub caller: &'a str,
    pub account: &'a str,
    /// The remote channel the command came through, where it did.
    pub through: Option<&'a Through>,
    pub limits: &'a Limits,
    /// How many events the shell puts in front of the decision's own, in the same commit.
    pub prelude: u64,
    /// What an agent does first with a turn, where that is known before it runs: it asks this model.
    pub opening: &'a dyn Fn(&str) -> Option<ModelIntent>,
}

/// A remote channel that commands come through. The shell has looked that it is the caller's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Through {
    pub channel_id: ChannelId,
    /// Whether its peer decides what its turns ask permission for.
    pub decides: bool,
}

/// Agents whose first step is not known before they run.
pub fn no_opening(_agent: &str) -> Option<ModelIntent> {
    None
}

impl Context<'_> {
    /// The channel that decides what a turn submitted now will ask permission for.
    pub(crate) fn decider(&self) -> Option<ChannelId> {
        self.through.filter(|through| through.decides).map(|through| through.channel_id.clone())
    }

    fn uuid(&mut self) -> Uuid {
        self.ids.next_uuid()
    }

    pub fn session_id(&mut self) -> SessionId {
        SessionId::from_uuid(self.uuid())
    }

    pub fn thread_id(&mut self) -> ThreadId {
        ThreadId::from_uuid(self.uuid())
    }

    pub fn turn_id(&mut self) -> TurnId {
        TurnId::from_uuid(self.uuid())
    }

    pub fn step_id(&mut self) -> StepId {
        StepId::from_uuid(self.uuid())
    }

    pub fn action_id(&mut self) -> ActionId {
        ActionId::from_uuid(self.uuid())
    }

    pub fn tool_call_id(&mut self) -> ToolCallId {
        ToolCallId::from_uuid(self.uuid())
    }

    pub fn model_request_id(&mut self) -> ModelRequestId {
        ModelRequestId::from_uuid(self.uuid())
    }

    pub fn artifact_id(&mut self) -> ArtifactId {
        ArtifactId::from_uuid(self.uuid())
    }

    pub fn subagent_id(&mut self) -> SubagentId {
        SubagentId::from_uuid(self.uuid())
    }

    pub fn job_id(&mut self) -> JobId {
        JobId::from_uuid(self.uuid())
    }

    pub fn job_item_id(&mut self) -> JobItemId {
        JobItemId::from_uuid(self.uuid())
    }

    pub fn schedule_id(&mut self) -> ScheduleId {
        ScheduleId::from_uuid(self.uuid())
    }

    pub fn message_id(&mut self) -> MessageId {
        MessageId::from_uuid(self.uuid())
    }

    pub fn task_id(&mut self) -> TaskId {
        TaskId::from_uuid(self.uuid())
    }

    pub fn run_id(&mut self) -> RunId {
        RunId::from_uuid(self.uuid())
    }

    pub fn attempt_id(&mut self) -> AttemptId {
        AttemptId::from_uuid(self.uuid())
    }

    /// A number nobody can foresee, from the same source as ids.
    pub fn random(&mut self) -> u64 {
        self.uuid().as_u64_pair().1
    }

    pub fn key_id(&mut self) -> KeyId {
        KeyId::from_uuid(self.uuid())
    }

    /// The sequence the last of `events` will have.
    pub fn sequence_after(&self, current: u64, events: &[NewEvent]) -> u64 {
        current + self.prelude + events.len() as u64
    }
}

/// What follows from a command: facts to record and an answer to give once they are durable.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision<T> {
    pub events: Vec<NewEvent>,
    pub output: T,
}

impl<T> Decision<T> {
    /// The same facts with another answer.
    pub fn map<U>(self, answer: impl FnOnce(T) -> U) -> Decision<U> {
        Decision { events: self.events, output: answer(self.output) }
    }
}

/// The bounds of the core, each with a name a user meets in errors and in the configuration reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Turns that wait in one thread.
    pub queue_turns_max: usize,
    /// Threads of one session; those at rest do not count.
    pub threads_max: usize,
    /// Actions open at once in one session.
    pub open_actions_max: usize,
    /// Parts of one input.
    pub input_parts_max: usize,
    /// Bytes of a caller's metadata or options, as JSON.
    pub metadata_bytes_max: usize,
    /// Characters of a title.
    pub title_chars_max: usize,
    /// Characters of an idempotency key.
    pub idempotency_key_chars_max: usize,
    /// Tool calls of one model answer.
    pub tool_calls_max: usize,
    /// Model requests of one turn: its answers and the tries of the round under way.
    pub model_rounds_max: u32,
    /// Tasks of one session in memory: open ones, and the last few that ended.
    pub open_tasks_max: usize,
    /// Characters of a task's objective.
    pub task_objective_chars_max: usize,
    /// Characters of a name in a task: its owner, assignee, kind and family, a worker, a native status, the category of an error, a counter.
    pub task_name_chars_max: usize,
    /// Characters of a text in a task: a reason, a summary, the message or the advice of an error.
    pub task_text_chars_max: usize,
    /// References in one list of a task: input, output, checkpoints; and categories that are not retried.
    pub task_refs_max: usize,
    /// Bytes of one such reference, and of the name of an artifact or of evidence.
    pub task_ref_bytes_max: usize,
    /// Bytes of what a task needs to complete, as JSON.
    pub task_acceptance_bytes_max: usize,
    /// Bytes of the names of a task's artifacts and evidence together.
    pub task_artifact_bytes_max: usize,
    /// Edges of one task.
    pub task_edges_max: usize,
    /// Tasks from a root down to the lowest below it.
    pub task_depth_max: usize,
    /// Attempts of one task.
    pub task_attempts_max: usize,
    /// How long work that is cancelled may take to settle before it is given up.
    pub task_cancel_grace_ms: u64,
    /// Facts of one report of a worker.
    pub report_facts_max: usize,
    /// Child agents of one session that are not closed.
    pub subagents_open_max: usize,
    /// How deep child agents may spawn child agents of their own.
    pub subagent_depth_max: u32,
    /// How long running work of a child agent that is closed may be given to settle.
    pub subagent_grace_ms_max: u64,
    /// Characters of a messaging channel's name.
    pub channel_name_chars_max: usize,
    /// Members of one messaging channel.
    pub channel_members_max: usize,
    /// Parts of one message.
    pub message_parts_max: usize,
    /// References of one message, to artifacts and tasks together.
    pub message_refs_max: usize,
    /// Bytes of one message as JSON: parts, references and metadata.
    pub message_bytes_max: usize,
    /// Addresses that one task's changes are pushed to.
    pub push_configs_max: usize,
    /// Capabilities of one peer.
    pub capabilities_max: usize,
    /// Queues that one worker takes runs from.
    pub worker_queues_max: usize,
    /// Sessions that one remote channel follows.
    pub channel_sessions_max: usize,
    /// Permission questions that one remote channel is asked at once.
    pub channel_permissions_max: usize,
    /// How long a remote channel counts as connected without a sign of life.
    pub channel_heartbeat_ms: u64,
    /// Events of one stream that a remote channel is sent again after it was away; what is older is said to be missing.
    pub replay_events_max: u64,
    /// Jobs at work at once in one session.
    pub jobs_open_max: usize,
    /// Items of one job.
    pub job_items_max: usize,
    /// Bytes of what the items of a session's jobs at work are about, as JSON.
    pub job_input_bytes_max: usize,
    /// Bytes of a job's instruction.
    pub job_instruction_bytes_max: usize,
    /// Items of one job at work at once.
    pub job_concurrency_max: u32,
    /// Attempts of one item of a job.
    pub job_item_attempts_max: u32,
    /// How long workers may take to settle the items of a job that was cancelled or took too long.
    pub job_settle_ms: u64,
    /// Schedules of one session.
    pub schedules_max: usize,
    /// Bytes of one schedule as JSON.
    pub schedule_bytes_max: usize,
    /// The shortest interval of a schedule.
    pub schedule_interval_ms_min: u64,
    /// How late a schedule's job may be made and still count as on time.
    pub schedule_late_ms: u64,
    /// Jobs that a schedule makes up for at most, after it could not run.
    pub schedule_catch_up_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue_turns_max: 1_000,
            threads_max: 1_000,
            open_actions_max: 1_000,
            input_parts_max: 64,
            metadata_bytes_max: 16 << 10,
            title_chars_max: 256,
            idempotency_key_chars_max: 128,
            tool_calls_max: 64,
            model_rounds_max: 200,
            open_tasks_max: 250_000,
            task_objective_chars_max: 16_000,
            task_name_chars_max: 256,
            task_text_chars_max: 4_000,
            task_refs_max: 64,
            task_ref_bytes_max: 512,
            task_acceptance_bytes_max: 64 << 10,
            task_artifact_bytes_max: 128 << 10,
            task_edges_max: 100_000,
            task_depth_max: 200,
            task_attempts_max: 1_000,
            task_cancel_grace_ms: 30_000,
            report_facts_max: 256,
            subagents_open_max: 100,
            subagent_depth_max: 8,
            subagent_grace_ms_max: 600_000,
            channel_name_chars_max: 128,
            channel_members_max: 1_000,
            message_parts_max: 32,
            message_refs_max: 64,
            message_bytes_max: 256 << 10,
            push_configs_max: 16,
            capabilities_max: 64,
            worker_queues_max: 64,
            channel_sessions_max: 256,
            channel_permissions_max: 1_000,
            channel_heartbeat_ms: 60_000,
            replay_events_max: 1_000_000,
            jobs_open_max: 100,
            job_items_max: 10_000,
            job_input_bytes_max: 2 << 20,
            job_instruction_bytes_max: 16 << 10,
            job_concurrency_max: 256,
            job_item_attempts_max: 100,
            job_settle_ms: 30_000,
            schedules_max: 100,
            schedule_bytes_max: 64 << 10,
            schedule_interval_ms_min: 1_000,
            schedule_late_ms: 60_000,
            schedule_catch_up_max: 100,
        }
    }
}

impl Limits {
    /// Refuses metadata or options over the bound.
    pub fn check_metadata(&self, name: &str, metadata: &factum_model::value::Metadata) -> Result<(), Refusal> {
        if metadata.is_empty() {
            return Ok(());
        }
        check(name, json_bytes(metadata), self.metadata_bytes_max)
    }

    /// Refuses a title over the bound.
    pub fn check_title(&self, title: Option<&str>) -> Result<(), Refusal> {
        check("title_chars", title.map_or(0, |title| title.chars().count()), self.title_chars_max)
    }
}

/// Refuses `actual` over `max`, naming the limit.
pub(crate) fn check(name: &str, actual: usize, max: usize) -> Result<(), Refusal> {
    if actual > max { Err(Refusal::limit(name, actual as u64, max as u64)) } else { Ok(()) }
}
