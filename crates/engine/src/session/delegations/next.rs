//! What the shell has to do about a peer's task.

use super::state::{Delegation, PendingAnswer};

/// The next thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The peer's task is not known: give it to the peer, or find out whether it has it.
    Give,
    /// Ask the peer to stop.
    Cancel,
    /// Tell the peer what somebody answered.
    Answer(PendingAnswer),
    /// The peer is done: take in what it made.
    Reconcile,
    /// See what becomes of it.
    Follow,
}

/// Decided anew after each step: an order that came meanwhile goes first.
pub fn next(delegation: &Delegation) -> Step {
    if delegation.peer_task.remote_task_id.is_none() {
        return Step::Give;
    }
    if delegation.peer_is_done() {
        return Step::Reconcile;
    }
    if delegation.cancel {
        return Step::Cancel;
    }
    match &delegation.answer {
        Some(answer) => Step::Answer(answer.clone()),
        None => Step::Follow,
    }
}
