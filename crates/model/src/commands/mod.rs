//! The catalogue of commands: the control plane of seed 003, the channels of seed 002 and what we add to both.
//!
//! `commands!` gives each params struct its name, result, scope and kind. Adding a command is a struct in its family's
//! file and a line here; the compiler then asks for a handler, and the tests for an authorization row.

mod access;
mod actions;
mod channels;
mod evidence;
mod jobs;
mod messaging;
mod permissions;
mod processes;
mod sessions;
mod subagents;
mod task_lifecycle;
mod tasks;
mod turns;
mod workers;

use crate::registry::{Command, CommandInfo, Kind, Scope};

pub use access::*;
pub use actions::*;
pub use channels::*;
pub use evidence::*;
pub use jobs::*;
pub use messaging::*;
pub use permissions::*;
pub use processes::*;
pub use sessions::*;
pub use subagents::*;
pub use task_lifecycle::*;
pub use tasks::*;
pub use turns::*;
pub use workers::*;

macro_rules! commands {
    ($($family:literal { $($(#[doc = $doc:literal])* $params:ident -> $result:ident = $name:literal, $scope:ident, $kind:ident;)* })*) => {
        $($(impl Command for $params {
            type Output = $result;

            const NAME: &'static str = $name;
            const SCOPE: Scope = Scope::$scope;
            const KIND: Kind = Kind::$kind;

            fn idempotency_key(&self) -> Option<&str> {
                commands!(@key $kind self)
            }
        })*)*

        /// Every command, family by family.
        pub const COMMANDS: &[CommandInfo] = &[$($(CommandInfo {
            name: $name,
            family: $family,
            summary: concat!($($doc),*).trim_ascii(),
            scope: Scope::$scope,
            kind: Kind::$kind,
            params: |generator| generator.subschema_for::<$params>(),
            result: |generator| generator.subschema_for::<$result>(),
        },)*)*];

        /// Calls a macro with the params type of every command: `mac! { SubmitTurn, InterruptTurn, … }`.
        #[macro_export]
        macro_rules! for_each_command {
            ($mac:ident) => { $mac! { $($($params,)*)* } };
        }
    };
    (@key Mutation $self:ident) => { $self.idempotency_key.as_deref() };
    (@key Read $self:ident) => { None };
}

commands! {
    "turns" {
        /// Submit input to an agent. A missing session or thread is created.
        SubmitTurn -> SubmitTurnResult = "submit_turn", SessionsWrite, Mutation;
        /// Stop the active turn, or the one named.
        InterruptTurn -> InterruptTurnResult = "interrupt_turn", SessionsWrite, Mutation;
        /// Carry a thread on where it stands.
        ResumeThread -> ResumeThreadResult = "resume_thread", SessionsWrite, Mutation;
        /// Take a turn out of the queue.
        RemoveQueuedTurn -> QueueResult = "remove_queued_turn", SessionsWrite, Mutation;
        /// Move a queued turn forward.
        PromoteQueuedTurn -> QueueResult = "promote_queued_turn", SessionsWrite, Mutation;
    }
    "sessions" {
        /// Create a session before its first turn.
        CreateSession -> CreateSessionResult = "create_session", SessionsWrite, Mutation;
        /// Change a session's title or metadata.
        UpdateSession -> UpdateSessionResult = "update_session", SessionsWrite, Mutation;
        /// The durable snapshot of a session.
        GetSession -> GetSessionResult = "get_session", SessionsRead, Read;
        /// Sessions of the account, newest first.
        ListSessions -> ListSessionsResult = "list_sessions", SessionsRead, Read;
        /// The current state of a thread.
        GetThreadRead -> GetThreadReadResult = "get_thread_read", SessionsRead, Read;
        /// The turns that wait in a thread.
        GetQueue -> GetQueueResult = "get_queue", SessionsRead, Read;
        /// A page of a session's events.
        ReadEvents -> EventPage = "read_events", SessionsRead, Read;
    }
    "actions" {
        /// Answer an open action. The first answer wins.
        RespondAction -> RespondActionResult = "respond_action", ActionsRespond, Mutation;
    }
    "permissions" {
        /// Ask what the rules say about something, and record the answer.
        EvaluatePermission -> EvaluatePermissionResult = "evaluate_permission", SessionsWrite, Mutation;
        /// Decide an open permission question. The first answer wins.
        ResolvePermission -> ResolvePermissionResult = "resolve_permission", ActionsRespond, Mutation;
        /// The tools somebody may use here and now.
        GetToolInventory -> GetToolInventoryResult = "get_tool_inventory", SessionsRead, Read;
        /// Where and within which bounds things run.
        GetExecutionEnvironment -> GetExecutionEnvironmentResult = "get_execution_environment", SessionsRead, Read;
    }
    "tasks" {
        /// Create a task. A missing session is created.
        CreateTask -> CreateTaskResult = "create_task", TasksWrite, Mutation;
        /// Change a task's own data.
        UpdateTask -> TaskResult = "update_task", TasksWrite, Mutation;
        /// Begin the first attempt of a task.
        StartTask -> StartTaskResult = "start_task", TasksWrite, Mutation;
        /// Report how far a task has come.
        AppendTaskProgress -> TaskResult = "append_task_progress", TasksWrite, Mutation;
        /// Put a task aside.
        PauseTask -> PropagatedTaskResult = "pause_task", TasksWrite, Mutation;
        /// Let a paused task go on.
        ResumeTask -> PropagatedTaskResult = "resume_task", TasksWrite, Mutation;
        /// End a task. Running work settles first.
        CancelTask -> PropagatedTaskResult = "cancel_task", TasksWrite, Mutation;
        /// Begin another attempt. The old ones stay.
        RetryTask -> RetryTaskResult = "retry_task", TasksWrite, Mutation;
        /// Declare a task complete. Refused with a list while something it needs is missing.
        CompleteTask -> TaskResult = "complete_task", TasksWrite, Mutation;
        /// Declare a task failed.
        FailTask -> TaskResult = "fail_task", TasksWrite, Mutation;
        /// Tasks of the account, newest first.
        ListTasks -> ListTasksResult = "list_tasks", TasksRead, Read;
        /// One task with all its attempts and edges.
        GetTask -> GetTaskResult = "get_task", TasksRead, Read;
        /// Add an edge to the task graph.
        LinkTasks -> LinkTasksResult = "link_tasks", TasksWrite, Mutation;
        /// Take an edge out of the task graph.
        UnlinkTasks -> UnlinkTasksResult = "unlink_tasks", TasksWrite, Mutation;
        /// What goes on among the tasks of a session.
        GetTaskSnapshot -> GetTaskSnapshotResult = "get_task_snapshot", TasksRead, Read;
    }
    "subagents" {
        /// Start a child agent below a thread.
        SpawnSubagent -> SpawnSubagentResult = "spawn_subagent", TasksWrite, Mutation;
        /// Say something to a child agent.
        SendSubagentInput -> SubagentResult = "send_subagent_input", TasksWrite, Mutation;
        /// Wait until child agents have come to rest, or the time is over.
        WaitSubagents -> WaitSubagentsResult = "wait_subagents", TasksRead, Read;
        /// Carry on a child agent that stopped and is not closed.
        ResumeSubagent -> SubagentResult = "resume_subagent", TasksWrite, Mutation;
        /// Stop a child agent and everything below it.
        CloseSubagent -> SubagentResult = "close_subagent", TasksWrite, Mutation;
        /// Child agents, direct or all the way down.
        ListSubagents -> ListSubagentsResult = "list_subagents", TasksRead, Read;
    }
    "jobs" {
        /// Create a batch. It starts by itself.
        CreateJob -> CreateJobResult = "create_job", TasksWrite, Mutation;
        /// Batches of the account, newest first.
        ListJobs -> ListJobsResult = "list_jobs", TasksRead, Read;
        /// One batch with a page of its items.
        GetJob -> GetJobResult = "get_job", TasksRead, Read;
        /// Stop a batch. Finished items stay finished.
        CancelJob -> CancelJobResult = "cancel_job", TasksWrite, Mutation;
        /// Try one item of a batch again, alone.
        RetryJobItem -> RetryJobItemResult = "retry_job_item", TasksWrite, Mutation;
        /// Make jobs at given times.
        CreateSchedule -> CreateScheduleResult = "create_schedule", TasksWrite, Mutation;
        /// Schedules of the account, newest first.
        ListSchedules -> ListSchedulesResult = "list_schedules", TasksRead, Read;
        /// Stop a schedule. Jobs it made go on.
        EndSchedule -> EndScheduleResult = "end_schedule", TasksWrite, Mutation;
        /// The child agents and jobs of a session at a glance.
        GetSubagentJobSummary -> GetSubagentJobSummaryResult = "get_subagent_job_summary", TasksRead, Read;
    }
    "workers" {
        /// Take runs to work on. Waits for one where there is none.
        ClaimRuns -> ClaimRunsResult = "claim_runs", TasksWrite, Mutation;
        /// Keep a run.
        HeartbeatRun -> HeartbeatRunResult = "heartbeat_run", TasksWrite, Mutation;
        /// Say what a run does: progress, steps, model and tool facts, artifacts.
        ReportRun -> RunResult = "report_run", TasksWrite, Mutation;
        /// A run ended well. Whether that completes its task is its owner's to say.
        CompleteRun -> RunResult = "complete_run", TasksWrite, Mutation;
        /// A run ended otherwise. The retry policy says what follows.
        FailRun -> RunResult = "fail_run", TasksWrite, Mutation;
        /// Give a run back; the next worker gets it.
        ReleaseRun -> RunResult = "release_run", TasksWrite, Mutation;
    }
    "processes" {
        /// Write to a process.
        WriteProcessStdin -> ProcessResult = "write_process_stdin", ProcessesWrite, Mutation;
        /// End a process and everything it started.
        TerminateProcess -> ProcessResult = "terminate_process", ProcessesWrite, Mutation;
    }
    "evidence" {
        /// Export an evidence pack.
        ExportEvidence -> ExportEvidenceResult = "export_evidence", EvidenceExport, Mutation;
        /// Export a replay case that can be run.
        ExportReplay -> ExportReplayResult = "export_replay", EvidenceExport, Mutation;
        /// Export a review template with findings and audit refs.
        ExportReview -> ExportReviewResult = "export_review", EvidenceExport, Mutation;
    }
    "channels" {
        /// Become known as a peer: a worker that claims runs, a client, a host, another runtime.
        EnrollChannel -> EnrollChannelResult = "enroll_channel", ChannelsWrite, Mutation;
        /// Come back: load the snapshot, then go on behind the last acknowledged sequence.
        ReconnectChannel -> ReconnectChannelResult = "reconnect_channel", ChannelsWrite, Mutation;
        /// Say up to where events have been taken in.
        AckEvents -> AckEventsResult = "ack_events", ChannelsWrite, Mutation;
        /// Begin or cease to follow sessions.
        FollowSessions -> FollowSessionsResult = "follow_sessions", ChannelsWrite, Mutation;
        /// Say that the peer is there.
        HeartbeatChannel -> HeartbeatChannelResult = "heartbeat_channel", ChannelsWrite, Mutation;
        /// Leave for good.
        CloseChannel -> CloseChannelResult = "close_channel", ChannelsWrite, Mutation;
        /// A remote channel, what it follows and up to where, and what it was asked to decide.
        GetChannelSummary -> GetChannelSummaryResult = "get_channel_summary", SessionsRead, Read;
        /// The caller's remote channels.
        ListRemoteChannels -> ListRemoteChannelsResult = "list_remote_channels", SessionsRead, Read;
    }
    "messaging" {
        /// Create a messaging channel. The caller owns it.
        CreateChannel -> ChannelResult = "channels/create", MessagingWrite, Mutation;
        /// One messaging channel, by its id or by the peer of a direct one.
        GetChannel -> ChannelResult = "channels/get", MessagingRead, Read;
        /// The caller's messaging channels and the public ones.
        ListChannels -> ListChannelsResult = "channels/list", MessagingRead, Read;
        /// Change a messaging channel's name or metadata. Owners only.
        UpdateChannel -> ChannelResult = "channels/update", MessagingWrite, Mutation;
        /// Delete a messaging channel. Owners only.
        DeleteChannel -> DeleteChannelResult = "channels/delete", MessagingWrite, Mutation;
        /// Add a member to a messaging channel, or change a role. Owners only.
        AddChannelMember -> ChannelResult = "channels/addMember", MessagingWrite, Mutation;
        /// Take a member out of a messaging channel. Owners only.
        RemoveChannelMember -> ChannelResult = "channels/removeMember", MessagingWrite, Mutation;
        /// Publish a message. Members only.
        PublishMessage -> PublishMessageResult = "channels/publish", MessagingWrite, Mutation;
        /// A page of a messaging channel's messages.
        ReadChannelHistory -> ReadChannelHistoryResult = "channels/history", MessagingRead, Read;
        /// Say up to where the caller has read. Members only.
        MarkChannelRead -> MarkChannelReadResult = "channels/markRead", MessagingWrite, Mutation;
        /// Who follows a messaging channel right now.
        GetChannelPresence -> GetChannelPresenceResult = "channels/presence", MessagingRead, Read;
        /// Who did what in the account's messaging channels.
        AuditChannels -> AuditChannelsResult = "channels/audit", Admin, Read;
    }
    "access" {
        /// Issue an API key. The key is shown once.
        CreateApiKey -> CreateApiKeyResult = "create_api_key", Admin, Mutation;
        /// The account's API keys, without their secrets.
        ListApiKeys -> ListApiKeysResult = "list_api_keys", Admin, Read;
        /// Stop accepting an API key.
        RevokeApiKey -> RevokeApiKeyResult = "revoke_api_key", Admin, Mutation;
    }
}

#[cfg(test)]
mod tests;
