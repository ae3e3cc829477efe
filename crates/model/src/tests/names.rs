//! The names the seeds ask for, typed in from their tables.

use std::collections::BTreeSet;

use crate::commands::COMMANDS;
use crate::events::{EVENTS, Family};
use crate::registry::{Kind, Scope};
use crate::samples;

/// Seed 003, "Standard event classes", row by row.
const STANDARD: &str = "
    session.created session.updated
    thread.started thread.updated
    turn.submitted turn.started turn.completed turn.failed
    task.created task.accepted task.queued task.started task.updated task.progress task.waiting task.blocked task.paused
    task.resumed task.retrying task.cancel_requested task.cancelled task.timed_out task.failed task.lost task.completed
    task.archived
    run.status
    model.requested model.delta model.completed model.failed
    reasoning.delta reasoning.summary
    tool.catalog.resolved
    tool.started tool.args tool.progress tool.result tool.failed
    action.required action.resolved
    queue.changed
    context.resolved
    context.compaction.started context.compaction.completed context.compaction.failed
    artifact.changed
    evidence.changed
    subagent.spawned subagent.status subagent.input subagent.completed subagent.failed subagent.closed
    limit.changed
    snapshot.updated
    runtime.warning runtime.error";

/// Seed 003, "Expanded event families", row by row.
const EXPANDED: &str = "
    permission.evaluated permission.requested permission.resolved
    sandbox.applied sandbox.violation
    hook.started hook.completed hook.failed policy.changed
    process.started process.output process.input process.completed process.failed process.terminated
    task.profile.resolved routing.candidates.resolved routing.decided routing.fallback.applied routing.not_possible
    routing.single_candidate
    task.delegated task.dependency.updated task.attempt.started task.attempt.completed task.attempt.failed
    cost.estimated cost.recorded rate_limit.hit quota.low quota.blocked
    channel.connected channel.disconnected channel.resumed channel.message channel.permission_forwarded
    channel.permission_returned
    job.created job.started job.progress job.item.started job.item.completed job.item.failed job.completed job.failed
    job.cancelled
    output.spilled output.truncated output.redacted output.expired
    history.window.loaded history.reconstructed history.rollback.started history.rollback.completed snapshot.repaired";

/// Seed 000, "Event classes": what seed 003 does not list already.
const CHANNEL: &str = "channel.peer_task.linked channel.peer_task.updated";

/// Seed 003, "Control plane", row by row.
const CONTROL_PLANE: &str = "
    submit_turn
    interrupt_turn
    resume_thread
    create_task update_task start_task append_task_progress
    pause_task resume_task cancel_task retry_task
    complete_task fail_task list_tasks get_task
    link_tasks unlink_tasks
    respond_action
    remove_queued_turn promote_queued_turn
    get_session
    get_thread_read
    get_tool_inventory
    spawn_subagent send_subagent_input wait_subagents resume_subagent close_subagent
    export_evidence export_replay
    evaluate_permission resolve_permission
    get_execution_environment
    write_process_stdin terminate_process
    list_subagents list_jobs get_job cancel_job
    reconnect_channel ack_events
    export_review";

/// Seed 002, "Methods", row by row, but for `channels/stream`, which is a subscription.
const MESSAGING: &str = "
    channels/create channels/get channels/list channels/update channels/delete channels/addMember channels/removeMember
    channels/publish channels/history";

#[test]
fn the_catalogue_has_the_seeds_events_in_the_seeds_order() {
    for (family, names) in [(Family::Standard, STANDARD), (Family::Expanded, EXPANDED), (Family::Channel, CHANNEL)] {
        let declared: Vec<_> = EVENTS.iter().filter(|info| info.family == family).map(|info| info.type_name).collect();
        assert_eq!(declared, names.split_whitespace().collect::<Vec<_>>(), "{family:?}");
    }
    assert!(EVENTS.is_sorted_by_key(|info| info.family as u8), "families stand together");
}

#[test]
fn the_catalogue_has_the_seeds_commands() {
    let declared: BTreeSet<_> = COMMANDS.iter().map(|info| info.name).collect();
    let missing: Vec<_> = CONTROL_PLANE
        .split_whitespace()
        .chain(MESSAGING.split_whitespace())
        .filter(|name| !declared.contains(name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn nothing_is_declared_twice() {
    let events: BTreeSet<_> = EVENTS.iter().map(|info| info.type_name).collect();
    assert_eq!(events.len(), EVENTS.len());
    let commands: BTreeSet<_> = COMMANDS.iter().map(|info| info.name).collect();
    assert_eq!(commands.len(), COMMANDS.len());
    let mut families: Vec<_> = COMMANDS.iter().map(|info| info.family).collect();
    families.dedup();
    assert_eq!(families.len(), families.iter().collect::<BTreeSet<_>>().len(), "families stand together");
}

#[test]
fn every_scope_is_needed_by_some_command() {
    let used: BTreeSet<_> = COMMANDS.iter().map(|info| info.scope).collect();
    assert_eq!(used, Scope::ALL.into_iter().collect());
}

#[test]
fn every_command_says_what_it_does() {
    for info in COMMANDS {
        assert!(info.summary.trim().ends_with('.'), "{}", info.name);
    }
}

#[test]
fn reading_needs_no_more_than_a_reading_scope() {
    let reading = [Scope::SessionsRead, Scope::TasksRead, Scope::MessagingRead, Scope::Admin];
    for info in COMMANDS {
        assert_eq!(
            info.kind == Kind::Read || info.scope == Scope::Admin,
            reading.contains(&info.scope),
            "{}",
            info.name
        );
    }
}

#[test]
fn every_class_has_a_sample() {
    let mut sampled: Vec<_> = samples::payloads().into_iter().map(|(type_name, _)| type_name).collect();
    sampled.dedup();
    assert_eq!(sampled, EVENTS.iter().map(|info| info.type_name).collect::<Vec<_>>());
}
