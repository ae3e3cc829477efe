//! Runs that an agent elsewhere does: what the shell saw at the peer, and what that means for the run and its task.
//!
//! Nothing here fails a task because a peer cannot be reached. A run ends when the peer is done and everything it made is
//! here, when the peer does not take it, or when nobody can say any more where it is; that last one is `lost`.

use factum_model::events::*;
use factum_model::id::{RunId, TaskId};
use factum_model::peer::{ChannelMessageKind, Direction, DisconnectReason, PeerRecovery, ResumeMethod, Side};
use factum_model::task::*;
use factum_model::value::{Failure, Part};
use factum_model::{Fact, NewEvent, Refusal};

use super::draft::Draft;
use super::finish_attempt::{Leavings, attempt_completed, attempt_failed};
use super::link_tasks::{add_edge, room};
use crate::context::{Context, Decision};
use crate::session::delegations::{
    ANSWER_UNKNOWN, Delegation, Observed, PeerArtifact, PeerChange, PeerNews, WORDS_MAX, ask, changed, stands,
    superseded, taken_in,
};
use crate::session::state::SessionState;
use crate::session::text::clip;
use crate::session::thread_start::open_thread;
use crate::session::waiting::{actions_changed, giver};

/// Records what was seen of a run that a peer does. A run that is over with changes nothing.
pub fn observe_peer(
    state: &SessionState,
    run_id: &RunId,
    observed: &Observed,
    context: &mut Context<'_>,
) -> Result<Decision<()>, Refusal> {
    let mut draft = Draft::of(state, &[], context)?;
    let delegation = state.delegations.get(run_id);
    if let Some(delegation) = delegation {
        record(&mut draft, delegation, observed)?;
    }
    let mut decision = draft.finish(|_| ());
    let asks = |event: &NewEvent| matches!(event.fact, Fact::ActionRequired(_) | Fact::ActionResolved(_));
    if let Some(turn_id) = delegation.and_then(|delegation| giver(state, &delegation.task_id))
        && decision.events.iter().any(asks)
    {
        actions_changed(state, turn_id, context, &mut decision.events);
    }
    Ok(decision)
}

fn record(draft: &mut Draft<'_, '_>, delegation: &Delegation, observed: &Observed) -> Result<(), Refusal> {
    match observed {
        Observed::Task(news) if news.of_another(delegation) => {}
        Observed::Task(news) => see(draft, delegation, news)?,
        Observed::Replied { text, artifacts } => replied(draft, delegation, text, artifacts),
        Observed::Said { text } => said(draft, delegation, text),
        Observed::Unavailable { recovery, problem, connected } => {
            unavailable(draft, delegation, *recovery, problem, *connected);
        }
        Observed::Missing { problem } => {
            update(draft, delegation, PeerChange::only(delegation, PeerRecovery::Missing, Some(problem)));
            lose(draft, delegation, "peer_task_missing", problem);
        }
        // Nobody wants it any more, and nobody can say whether there is anything to stop.
        Observed::Untraceable { problem } if delegation.over => not_there(draft, delegation, problem),
        Observed::Untraceable { problem } => {
            update(draft, delegation, PeerChange::only(delegation, PeerRecovery::Unknown, Some(problem)));
            lose(draft, delegation, "peer_task_unknown", problem);
        }
        Observed::Refused { problem } => {
            not_there(draft, delegation, problem);
            end(draft, delegation, AttemptStatus::Failed, "peer_refused", problem, false);
        }
        Observed::NotSent => {
            let problem = "the task was cancelled before the peer had it";
            not_there(draft, delegation, problem);
            end(draft, delegation, AttemptStatus::Cancelled, "cancelled", problem, false);
        }
        Observed::Answered { action_id, text } => {
            let fact = ChannelMessage {
                kind: ChannelMessageKind::Message,
                direction: Direction::Outbound,
                parts: vec![Part::Text { text: clip(text, WORDS_MAX) }],
                native_id: Some(action_id.as_str().to_owned()),
                native_type: Some("answer".to_owned()),
            };
            draft.push(channel_scope(draft, delegation), fact);
        }
        Observed::Doubted => keep_back(draft, delegation, ANSWER_UNKNOWN),
        Observed::Declined { problem } => declined(draft, delegation, problem),
    }
    Ok(())
}

/// The envelope ids of the run, also where it has ended meanwhile.
fn scope(draft: &Draft<'_, '_>, delegation: &Delegation) -> factum_model::Scope {
    draft.scope(&delegation.task_id).run_id(&delegation.run_id).attempt_id(&delegation.attempt_id)
}

/// The same for what is of the channel that the peer is spoken to through.
fn channel_scope(draft: &Draft<'_, '_>, delegation: &Delegation) -> factum_model::Scope {
    factum_model::Scope { channel_id: delegation.channel_id(), ..scope(draft, delegation) }
}

fn update(draft: &mut Draft<'_, '_>, delegation: &Delegation, change: PeerChange) {
    if let Some(fact) = changed(delegation, change) {
        draft.push(channel_scope(draft, delegation), fact);
    }
}

/// There is no task at the peer to see to.
fn not_there(draft: &mut Draft<'_, '_>, delegation: &Delegation, problem: &str) {
    update(draft, delegation, PeerChange::only(delegation, PeerRecovery::Missing, Some(problem)));
}

/// Whether the run still has no outcome.
fn is_open(draft: &Draft<'_, '_>, delegation: &Delegation) -> bool {
    draft.tasks.of_run(&delegation.run_id).is_some()
}

/// The peer's task, as it was seen.
fn see(draft: &mut Draft<'_, '_>, delegation: &Delegation, news: &PeerNews) -> Result<(), Refusal> {
    resume(draft, delegation);
    update(draft, delegation, PeerChange::of(delegation, news));
    if !is_open(draft, delegation) {
        // Only the peer had to hear of the end; it is done now, or it is not.
        if news.recovery == PeerRecovery::CompletedUnreconciled {
            reconciled(draft, delegation, news);
        }
        return Ok(());
    }
    take_in(draft, delegation, &news.artifacts)?;
    match news.recovery {
        PeerRecovery::WaitingInput | PeerRecovery::WaitingAuthorization => wait(draft, delegation, news)?,
        PeerRecovery::CompletedUnreconciled if news.whole => finish(draft, delegation, news),
        PeerRecovery::CompletedUnreconciled => {}
        _ => go_on(draft, delegation, news),
    }
    Ok(())
}

/// The peer is heard of again.
fn resume(draft: &mut Draft<'_, '_>, delegation: &Delegation) {
    let away =
        matches!(delegation.peer_task.recovery, PeerRecovery::NetworkUnavailable | PeerRecovery::AuthUnavailable);
    if away {
        let fact = ChannelResumed {
            method: ResumeMethod::Snapshot,
            resume_from: delegation.generation,
            last_acknowledged_sequence: None,
            cursors: Default::default(),
            gap: None,
            resume_token_ref: None,
        };
        draft.push(channel_scope(draft, delegation), fact);
    }
}

/// What the peer made becomes ours: by reference, with an edge of the graph.
fn take_in(draft: &mut Draft<'_, '_>, delegation: &Delegation, seen: &[PeerArtifact]) -> Result<(), Refusal> {
    let task_id = &delegation.task_id;
    let names = draft.tasks.get(task_id).map(|task| task.row.artifacts.clone()).unwrap_or_default();
    let scope = scope(draft, delegation);
    for taken in taken_in(delegation, seen, &scope, &names, draft.context) {
        if taken.new {
            let row = draft.require(task_id)?.row;
            room(draft, &row)?;
            let reason = Some(format!("made by peer:{}", delegation.peer));
            let relationship = Relationship::ProducedArtifact;
            add_edge(draft, task_id, &taken.label, relationship, EdgeStatus::Active, reason, EdgeChange::Added);
        }
        draft.push_event(taken.event);
    }
    Ok(())
}

/// The peer needs something from somebody here.
fn wait(draft: &mut Draft<'_, '_>, delegation: &Delegation, news: &PeerNews) -> Result<(), Refusal> {
    let status = draft.status(&delegation.task_id);
    if status == TaskStatus::Cancelling || stands(delegation, news, draft.context.now) {
        return Ok(());
    }
    // Whatever was asked before is not asked any more, and what was answered to it is not the answer to this.
    supersede(draft, delegation, Side::Remote);
    keep_back(draft, delegation, "answer_superseded");
    let own = draft.tasks.get(&delegation.task_id).and_then(|task| task.row.thread_id.clone());
    let own = own.filter(|thread_id| draft.state.thread(thread_id).is_some());
    let thread = match own.or_else(|| draft.state.threads.first().map(|thread| thread.thread_id.clone())) {
        Some(thread_id) => thread_id,
        None => {
            let known = draft.events.len();
            let Some(shell) = &draft.state.shell else { return Ok(()) };
            let (scope, agent) = (scope(draft, delegation), shell.agent.clone());
            let (state, events) = (draft.state, &mut draft.events);
            let thread = open_thread(state, &scope, &agent, ThreadOrigin::Task, None, None, draft.context, events)?;
            draft.catch_up(known);
            thread
        }
    };
    for event in ask(delegation, news, &scope(draft, delegation), &thread, draft.context) {
        draft.push_event(event);
    }
    let waits = if news.recovery == PeerRecovery::WaitingAuthorization {
        TaskStatus::WaitingPermission
    } else {
        TaskStatus::WaitingInput
    };
    if status != TaskStatus::Paused {
        let fact = TaskWaiting {
            status: waits,
            reason: news.message.as_deref().map(|text| clip(text, WORDS_MAX)),
            resource: None,
            native_status: Some(news.native_status.clone()),
        };
        draft.push(scope(draft, delegation), fact);
    }
    Ok(())
}

/// The peer is at work, or will be: whatever the task waited for is over.
fn go_on(draft: &mut Draft<'_, '_>, delegation: &Delegation, news: &PeerNews) {
    supersede(draft, delegation, Side::Remote);
    let Some(task) = draft.tasks.get(&delegation.task_id) else { return };
    let waited = matches!(task.row.status, TaskStatus::WaitingInput | TaskStatus::WaitingPermission);
    let known = task.row.native_status.as_ref() == Some(&news.native_status);
    if !waited && known {
        return;
    }
    let fact = TaskUpdated {
        updated_by: draft.context.caller.to_owned(),
        status: waited.then_some(TaskStatus::Running),
        native_status: Some(news.native_status.clone()),
        ..TaskUpdated::default()
    };
    draft.push(scope(draft, delegation), fact);
}

/// Both sides are done with it.
fn finish(draft: &mut Draft<'_, '_>, delegation: &Delegation, news: &PeerNews) {
    supersede(draft, delegation, Side::Remote);
    let fact = TaskUpdated {
        updated_by: draft.context.caller.to_owned(),
        native_status: Some(news.native_status.clone()),
        ..TaskUpdated::default()
    };
    draft.push(scope(draft, delegation), fact);
    reconciled(draft, delegation, news);
    let message = news.message.as_deref().map(|text| clip(text, WORDS_MAX));
    let leavings = Leavings { output_refs: refs_of(&news.artifacts), ..Leavings::default() };
    let task_id: &TaskId = &delegation.task_id;
    let error = |category: &str, words: &str| Failure {
        category: category.to_owned(),
        message: message.clone().unwrap_or_else(|| words.to_owned()),
        retryable: true,
        advice: None,
    };
    match news.status {
        TaskStatus::Completed => attempt_completed(draft, task_id, message, leavings),
        TaskStatus::Cancelled => {
            let error = Failure { retryable: false, ..error("peer_cancelled", "the peer cancelled the task") };
            attempt_failed(draft, task_id, AttemptStatus::Cancelled, error, leavings);
        }
        _ => {
            let error = error("peer_failed", "the peer failed the task and says no more");
            attempt_failed(draft, task_id, AttemptStatus::Failed, error, leavings);
        }
    }
}

/// Where the content of what the peer made is.
fn refs_of(artifacts: &[PeerArtifact]) -> Vec<String> {
    artifacts.iter().filter_map(|artifact| artifact.content.as_ref()).map(|content| content.r#ref.clone()).collect()
}

fn reconciled(draft: &mut Draft<'_, '_>, delegation: &Delegation, news: &PeerNews) {
    let mut change = PeerChange::of(delegation, news);
    change.peer_task.recovery = PeerRecovery::Reconciled;
    let previous_recovery = Some(PeerRecovery::CompletedUnreconciled);
    let fact = ChannelPeerTaskUpdated { previous_recovery, message: change.message, peer_task: change.peer_task };
    draft.push(channel_scope(draft, delegation), fact);
}

/// A message instead of a task. Its words are kept as what the run came to; whatever of it they do not say is kept as what the
/// peer made, since nobody can ask for it again.
fn replied(draft: &mut Draft<'_, '_>, delegation: &Delegation, text: &str, artifacts: &[PeerArtifact]) {
    let output_refs = refs_of(artifacts);
    let words = Some(clip(text, WORDS_MAX)).filter(|words| !words.is_empty() || output_refs.is_empty());
    let parts = words.iter().map(|text| Part::Text { text: text.clone() });
    let parts = parts.chain(output_refs.iter().map(|output| Part::Ref { r#ref: output.clone() })).collect();
    let fact = ChannelMessage {
        kind: ChannelMessageKind::Message,
        direction: Direction::Inbound,
        parts,
        native_id: None,
        native_type: Some("message".to_owned()),
    };
    draft.push(channel_scope(draft, delegation), fact);
    let open = is_open(draft, delegation);
    // One that the task has no room for is the run's alone, as with what an agent makes: there is no second message to wait for.
    let _ = if open { take_in(draft, delegation, artifacts) } else { Ok(()) };
    let change = PeerChange::only(delegation, PeerRecovery::Reconciled, None);
    update(draft, delegation, change);
    if open {
        supersede(draft, delegation, Side::Remote);
        let shown = || artifacts.iter().find_map(|artifact| artifact.content.as_ref()?.preview.clone());
        let leavings = Leavings { output_refs, ..Leavings::default() };
        attempt_completed(draft, &delegation.task_id, words.or_else(shown), leavings);
    }
}

fn unavailable(
    draft: &mut Draft<'_, '_>,
    delegation: &Delegation,
    recovery: PeerRecovery,
    problem: &str,
    connected: bool,
) {
    if connected && delegation.peer_task.recovery != recovery {
        let auth = recovery == PeerRecovery::AuthUnavailable;
        let fact = ChannelDisconnected {
            reason: if auth { DisconnectReason::AuthFailed } else { DisconnectReason::TransportError },
            detail: Some(clip(problem, WORDS_MAX)),
            last_seen_at: None,
            last_acknowledged_sequence: None,
        };
        draft.push(channel_scope(draft, delegation), fact);
    }
    update(draft, delegation, PeerChange::only(delegation, recovery, Some(problem)));
}

/// The peer does not take an answer or an order to stop. What it says of its task decides, so nothing is lost by it, and it
/// is followed until it ends, also where nobody here waits for it any more; an answer is not offered again.
fn declined(draft: &mut Draft<'_, '_>, delegation: &Delegation, problem: &str) {
    let details = [("peer".to_owned(), format!("peer:{}", delegation.peer).into())].into_iter().collect();
    let fact = RuntimeWarning { code: "peer_declined".to_owned(), message: clip(problem, WORDS_MAX), details };
    draft.push(scope(draft, delegation), fact);
    keep_back(draft, delegation, "answer_declined");
}

/// Words to a task that the peer has. How the task stands says what they mean for it.
fn said(draft: &mut Draft<'_, '_>, delegation: &Delegation, text: &str) {
    let fact = ChannelMessage {
        kind: ChannelMessageKind::Message,
        direction: Direction::Inbound,
        parts: vec![Part::Text { text: clip(text, WORDS_MAX) }],
        native_id: None,
        native_type: Some("message".to_owned()),
    };
    draft.push(channel_scope(draft, delegation), fact);
}

/// An answer that the peer does not get again by itself, and why.
fn keep_back(draft: &mut Draft<'_, '_>, delegation: &Delegation, why: &str) {
    let Some(answer) = &delegation.answer else { return };
    let fact = ChannelMessage {
        kind: ChannelMessageKind::Notice,
        direction: Direction::Outbound,
        parts: vec![Part::Text { text: clip(&answer.text, WORDS_MAX) }],
        native_id: Some(answer.action_id.as_str().to_owned()),
        native_type: Some(why.to_owned()),
    };
    draft.push(channel_scope(draft, delegation), fact);
}

fn lose(draft: &mut Draft<'_, '_>, delegation: &Delegation, category: &str, problem: &str) {
    if !is_open(draft, delegation) {
        return;
    }
    supersede(draft, delegation, Side::Remote);
    let error = Failure {
        category: category.to_owned(),
        message: clip(problem, WORDS_MAX),
        retryable: true,
        advice: Some("look at the peer first; retry_task gives it the task again, fail_task gives it up".to_owned()),
    };
    attempt_failed(draft, &delegation.task_id, AttemptStatus::Lost, error, Leavings::default());
}

fn end(
    draft: &mut Draft<'_, '_>,
    delegation: &Delegation,
    status: AttemptStatus,
    category: &str,
    problem: &str,
    retryable: bool,
) {
    if is_open(draft, delegation) {
        supersede(draft, delegation, Side::Remote);
        let message = clip(problem, WORDS_MAX);
        let error = Failure { category: category.to_owned(), message, retryable, advice: None };
        attempt_failed(draft, &delegation.task_id, status, error, Leavings::default());
    }
}

/// Nobody has to answer what the peer does not ask any more.
fn supersede(draft: &mut Draft<'_, '_>, delegation: &Delegation, decided_on: Side) {
    let by = draft.context.caller.to_owned();
    let there =
        |known: &NewEvent| matches!(known.fact, Fact::ActionResolved(_)) && known.scope.action_id == delegation.action;
    if draft.events.iter().any(there) {
        return;
    }
    for event in superseded(draft.state, delegation, &by, decided_on) {
        draft.push_event(event);
    }
}

/// The same, for a run that ends for another reason.
pub(super) fn run_ends(draft: &mut Draft<'_, '_>, task_id: &TaskId) {
    let run_id = draft.tasks.get(task_id).and_then(|task| task.row.attempt.as_ref()).map(|attempt| &attempt.run_id);
    let state = draft.state;
    if let Some(delegation) = run_id.and_then(|run_id| state.delegations.get(run_id)) {
        supersede(draft, delegation, Side::Local);
    }
}
