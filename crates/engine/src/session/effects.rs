//! What the shell has to do once a fact is durable. A function of the fact alone, so that it is the same after a restart.

use factum_model::events::ResolutionSource;
use factum_model::id::{ThreadId, TurnId};
use factum_model::{Event, Fact};

/// Something outside the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Let the agent work on the turn, until it is over or waits. Running it twice at once is the shell's to prevent.
    RunTurn { thread_id: ThreadId, turn_id: TurnId },
    /// Stop whatever still works on the turn.
    StopTurn { turn_id: TurnId },
}

/// The effect of a durable fact, if it has one.
pub fn effects(event: &Event) -> Option<Effect> {
    let turn_id = event.scope.turn_id.clone()?;
    match &event.fact {
        // Its turn ends in the same commit; there is nothing to go on with.
        Fact::ActionResolved(fact) if fact.source == ResolutionSource::Superseded => None,
        Fact::TurnStarted(_) | Fact::ActionResolved(_) => {
            Some(Effect::RunTurn { thread_id: event.scope.thread_id.clone()?, turn_id })
        }
        Fact::TurnCompleted(_) | Fact::TurnFailed(_) => Some(Effect::StopTurn { turn_id }),
        _ => None,
    }
}
