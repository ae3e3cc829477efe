//! What the shell asks of an aggregate in order to host it: where it lives, how facts change it, and what follows from them.
//!
//! Everything that is the same for all of them (loading, deciding, committing, leaving memory, subscribing) is written
//! once, for any [`Aggregate`]. The trait is implemented for the engine's state types.

use std::sync::Arc;

use factum_engine::{Context, Decision, IndexChange};
use factum_model::id::SessionId;
use factum_model::{Event, NewEvent, Refusal, Scope, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::at_rest::AtRest;
use crate::cell::Cell;
use crate::cells::Cells;
use crate::options::ShellLimits;
use crate::runtime::Runtime;

pub(crate) trait Aggregate: Default + Serialize + DeserializeOwned + Send + 'static {
    type Id: Clone + Send + Sync + 'static;
    /// What goes on beside the state while it is in memory.
    type Work: Default + Send + Sync + 'static;

    /// The name of its stream, by account and id: another account's cannot even be addressed.
    fn stream(account: &str, id: &Self::Id) -> Arc<str>;

    /// Whose feed its commits are in.
    fn partition(account: &Arc<str>) -> Arc<str>;

    /// Where those in memory are.
    fn cells(runtime: &Runtime) -> &Cells<Self>;

    /// Those that came to rest, where only so many may stay in memory.
    fn at_rest(_: &Runtime) -> Option<&AtRest<Self>> {
        None
    }

    /// What facts about the whole of it are about.
    fn scope(id: &Self::Id) -> Scope;

    /// The session it is, for whoever takes part in sessions.
    fn session_id(_: &Self::Id) -> Option<&SessionId> {
        None
    }

    /// The last sequence of its stream that the state knows.
    fn sequence(&self) -> u64;

    /// False before its first fact.
    fn exists(&self) -> bool;

    /// When it last changed. Its time never runs backwards, whatever the machine's clock does.
    fn updated_at(&self) -> Option<Timestamp>;

    fn apply(&mut self, event: &Event);

    /// Completes the ids of what was decided, before it is written.
    fn name_owners(&self, _: &mut [NewEvent]) {}

    /// Applies the facts of one commit and says what they change in the index. `more` gives facts that follow from them at
    /// once; they are added to the commit.
    fn apply_commit(
        &mut self,
        events: &mut Vec<Event>,
        more: impl FnOnce(&Self, &[Event]) -> Vec<Event>,
    ) -> Vec<IndexChange>;

    /// What follows from facts so quickly that it can be in the same commit.
    fn at_once(_: &Runtime, _: &Self, _: &[Event]) -> Option<AtOnce<Self>> {
        None
    }

    /// Events between two snapshots: the most that has to be folded to open one. A state that is large for what it holds
    /// open asks for more, so that writing it down stays a small part of the work.
    fn snapshot_events(&self, limits: &ShellLimits) -> u64;

    /// What has to be recorded before anyone works with a state that was just loaded; nothing where all is well.
    fn recover(&self) -> Option<Recover<Self>>;

    /// What follows from facts that are durable now.
    fn committed(runtime: &Runtime, cell: &Arc<Cell<Self>>, events: &Arc<Vec<Event>>);

    /// Whether nothing goes on that needs the state in memory.
    fn is_quiet(work: &Self::Work) -> bool;
}

/// Something to decide right behind the facts that it follows from.
pub(crate) struct AtOnce<S> {
    /// Who does it.
    pub(crate) principal: String,
    pub(crate) decide: Decide<S>,
}

type Decide<S> = Box<dyn FnOnce(&S, &mut Context<'_>) -> Result<Decision<()>, Refusal>>;

pub(crate) type Recover<S> = fn(&S, &mut Context<'_>) -> Result<Decision<()>, Refusal>;
