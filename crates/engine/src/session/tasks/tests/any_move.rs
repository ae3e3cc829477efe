//! The moves of the property test, and how they are drawn.

use factum_model::task::{Propagation, TaskStatus};
use proptest::prelude::*;
use proptest::sample::Index;

use super::model::Who;

#[derive(Clone, Debug)]
pub(super) enum Move {
    Create {
        status: TaskStatus,
        parent: Option<Index>,
        blocked_by: Vec<Index>,
        who: Who,
        auto: bool,
        policy: u8,
    },
    Start(Index),
    Update(Index, TaskStatus),
    Pause(Index, Propagation),
    Resume(Index, Propagation),
    Cancel(Index, Propagation),
    Retry(Index),
    Complete(Index),
    Fail(Index, bool),
    Progress(Index),
    Link {
        parent: bool,
        from: Index,
        to: Index,
    },
    Unlink {
        parent: bool,
        from: Index,
        to: Index,
    },
    /// Whatever waits in the queue, or a run that does not.
    Claim(Index),
    Work(Index, Work),
    Turn(Index, Turn),
    /// Somebody talks to the agent in the thread of a task.
    Beside(Index),
    /// What the agent was asked there is done.
    BesideEnds(Index),
    /// A child agent or a job begins to work for a task.
    Help(Index, Helping),
    /// What a child agent or a job does for a task is done.
    HelperEnds(Index),
    /// A child agent that rests is asked for more.
    HelperAgain(Index),
    /// A child agent is closed, a job is cancelled.
    HelperCloses(Index),
    Pass(i64),
    Snapshot,
    Crash,
}

/// What a worker that holds a run does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Report,
    Complete,
    Fail,
    Release,
    Vanish,
}

/// What works for a task beside its own runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Helping {
    Agent,
    Job,
}

/// How an agent's turn ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn {
    Complete,
    Fail,
    Interrupt,
}

pub(super) fn any_move() -> impl Strategy<Value = Move> {
    let task = any::<Index>;
    let reach = || prop_oneof![Just(Propagation::None), Just(Propagation::Children), Just(Propagation::Descendants)];
    prop_oneof![
        6 => any_create(),
        4 => task().prop_map(Move::Start),
        6 => (task(), any_status()).prop_map(|(task, status)| Move::Update(task, status)),
        2 => (task(), reach()).prop_map(|(task, reach)| Move::Pause(task, reach)),
        3 => (task(), reach()).prop_map(|(task, reach)| Move::Resume(task, reach)),
        2 => (task(), reach()).prop_map(|(task, reach)| Move::Cancel(task, reach)),
        3 => task().prop_map(Move::Retry),
        5 => task().prop_map(Move::Complete),
        3 => (task(), any::<bool>()).prop_map(|(task, may_help)| Move::Fail(task, may_help)),
        1 => task().prop_map(Move::Progress),
        4 => (any::<bool>(), task(), task()).prop_map(|(parent, from, to)| Move::Link { parent, from, to }),
        2 => (any::<bool>(), task(), task()).prop_map(|(parent, from, to)| Move::Unlink { parent, from, to }),
        5 => task().prop_map(Move::Claim),
        6 => (task(), any_work()).prop_map(|(task, work)| Move::Work(task, work)),
        4 => (task(), any_turn()).prop_map(|(task, turn)| Move::Turn(task, turn)),
        4 => task().prop_map(Move::Beside),
        4 => task().prop_map(Move::BesideEnds),
        4 => (task(), prop_oneof![Just(Helping::Agent), Just(Helping::Job)]).prop_map(|(task, kind)| Move::Help(task, kind)),
        3 => task().prop_map(Move::HelperEnds),
        1 => task().prop_map(Move::HelperAgain),
        1 => task().prop_map(Move::HelperCloses),
        4 => (0i64..40).prop_map(Move::Pass),
        1 => Just(Move::Snapshot),
        1 => Just(Move::Crash),
    ]
}

fn any_create() -> impl Strategy<Value = Move> {
    use TaskStatus::*;
    let status = prop_oneof![1 => Just(Draft), 2 => Just(Accepted), 3 => Just(Queued)];
    let who = prop_oneof![3 => Just(Who::Assignee), 3 => Just(Who::Queue), 2 => Just(Who::Agent)];
    let parent = proptest::option::weighted(0.6, any::<Index>());
    let blocked_by = proptest::collection::vec(any::<Index>(), 0..3);
    (status, parent, blocked_by, who, any::<bool>(), 0u8..5).prop_map(
        |(status, parent, blocked_by, who, auto, policy)| Move::Create {
            status,
            parent,
            blocked_by,
            who,
            auto,
            policy,
        },
    )
}

fn any_status() -> impl Strategy<Value = TaskStatus> {
    proptest::sample::select(TaskStatus::ALL.to_vec())
}

fn any_work() -> impl Strategy<Value = Work> {
    use Work::*;
    prop_oneof![2 => Just(Report), 3 => Just(Complete), 2 => Just(Fail), 1 => Just(Release), 2 => Just(Vanish)]
}

fn any_turn() -> impl Strategy<Value = Turn> {
    prop_oneof![Just(Turn::Complete), Just(Turn::Fail), Just(Turn::Interrupt)]
}
