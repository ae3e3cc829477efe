//! What the shell has to do once a fact is durable. A function of the fact alone, so that it is the same after a restart.

use factum_model::events::ResolutionSource;
use factum_model::id::{RunId, ThreadId, TurnId};
use factum_model::peer::{Direction, PeerRecovery};
use factum_model::{Event, Fact};

/// Something outside the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Let the agent work on the turn, until it is over or waits. Running it twice at once is the shell's to prevent.
    RunTurn { thread_id: ThreadId, turn_id: TurnId },
    /// Stop whatever still works on the turn.
    StopTurn { turn_id: TurnId },
    /// See to a run that a peer does. `fresh` where the peer cannot have heard of it yet.
    Delegate { run_id: RunId, fresh: bool },
    /// Whoever sees to runs of peers looks again.
    WakeDelegates,
}

/// The effect of a durable fact, if it has one.
pub fn effects(event: &Event) -> Option<Effect> {
    let Some(turn_id) = event.scope.turn_id.clone() else { return delegate(event) };
    match &event.fact {
        // Its turn ends in the same commit; there is nothing to go on with.
        Fact::ActionResolved(fact) if fact.source == ResolutionSource::Superseded => None,
        // A task that was put aside goes on with it; a tool of it may still have been running.
        Fact::TurnStarted(_) | Fact::ActionResolved(_) | Fact::TaskResumed(_) => {
            Some(Effect::RunTurn { thread_id: event.scope.thread_id.clone()?, turn_id })
        }
        Fact::TurnCompleted(_) | Fact::TurnFailed(_) => Some(Effect::StopTurn { turn_id }),
        _ => None,
    }
}

/// What a fact means for the runs of peers.
fn delegate(event: &Event) -> Option<Effect> {
    let run_id = event.scope.run_id.clone();
    match &event.fact {
        Fact::ChannelPeerTaskLinked(fact) if fact.direction == Direction::Outbound => {
            Some(Effect::Delegate { run_id: run_id?, fresh: true })
        }
        // A restart says so of each: nobody knows how it stands until the peer is asked.
        Fact::ChannelPeerTaskUpdated(fact)
            if matches!(fact.peer_task.recovery, PeerRecovery::Unknown | PeerRecovery::CompletedUnreconciled) =>
        {
            Some(Effect::Delegate { run_id: run_id?, fresh: false })
        }
        Fact::ActionResolved(_)
        | Fact::TaskCancelRequested(_)
        | Fact::TaskAttemptFailed(_)
        | Fact::TaskAttemptCompleted(_) => Some(Effect::WakeDelegates),
        _ => None,
    }
}
