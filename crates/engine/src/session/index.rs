//! The index rules of sessions: which keys a fact puts or deletes. Pure functions of the events, so the whole index can
//! be deleted and made again, and `factum verify` can compare.

use factum_model::events::{ActionRequired, CommandAccepted, OnTimeout, ResolutionSource};
use factum_model::id::{ActionId, SessionId, TurnId};
use factum_model::{Event, Fact, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::apply::apply;
use super::state::{SessionState, Shell};
use crate::key::{IndexChange, Key, KeyReader, row_bytes};

/// The keys, and how to read them back.
pub mod keys {
    use super::*;

    /// Sessions of an account, newest first.
    pub fn session(account: &str, created_at: Timestamp, session_id: &SessionId) -> Vec<u8> {
        Key::table("session").text(account).instant_reversed(created_at).text(session_id.as_str()).into_bytes()
    }

    pub fn sessions_of(account: &str) -> Vec<u8> {
        Key::table("session").text(account).into_bytes()
    }

    /// Sessions that have to be carried on after a restart.
    pub fn unfinished(account: &str, session_id: &SessionId) -> Vec<u8> {
        Key::table("unfinished").text(account).text(session_id.as_str()).into_bytes()
    }

    pub fn all_unfinished() -> Vec<u8> {
        Key::table("unfinished").into_bytes()
    }

    /// The account and session of an `unfinished` key.
    pub fn read_unfinished(key: &[u8]) -> Option<(String, SessionId)> {
        let mut reader = KeyReader::new(key);
        reader.text().filter(|table| *table == "unfinished")?;
        Some((reader.text()?.to_owned(), reader.text()?.parse().ok()?))
    }

    /// Where an action is, and what became of it.
    pub fn action(account: &str, action_id: &ActionId) -> Vec<u8> {
        Key::table("action").text(account).text(action_id.as_str()).into_bytes()
    }

    /// A turn of a session that is over. Those that are not are in its state.
    pub fn turn(account: &str, session_id: &SessionId, turn_id: &TurnId) -> Vec<u8> {
        Key::table("turn").text(account).text(session_id.as_str()).text(turn_id.as_str()).into_bytes()
    }

    /// What is due when, soonest first.
    pub fn timer(timer: &Timer) -> Vec<u8> {
        let key = Key::table("timer").instant(timer.due).text(&timer.account).text(timer.session_id.as_str());
        key.text(timer.kind.as_str()).text(&timer.id).into_bytes()
    }

    pub fn timers() -> Vec<u8> {
        Key::table("timer").into_bytes()
    }

    /// Reads a timer back.
    pub fn read_timer(key: &[u8]) -> Option<Timer> {
        let mut reader = KeyReader::new(key);
        reader.text().filter(|table| *table == "timer")?;
        let due = Timestamp::from_millisecond(i64::try_from(reader.number()?).ok()?).ok()?;
        let account = reader.text()?.to_owned();
        let session_id = reader.text()?.parse().ok()?;
        Some(Timer { due, account, session_id, kind: TimerKind::parse(reader.text()?)?, id: reader.text()?.to_owned() })
    }

    /// The answer to a command with this key. Keys belong to the principal that used them.
    pub fn idempotency(account: &str, principal: &str, key: &str) -> Vec<u8> {
        // Principals and keys are free text; a digest bounds their length and keeps them out of the index.
        let digest = crate::digest::sha256(format!("{principal}\n{key}").as_bytes());
        Key::table("idempotency").text(account).text(&digest).into_bytes()
    }
}

/// A durable timer. Its row is there for exactly as long as firing it would change something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    pub due: Timestamp,
    pub account: String,
    pub session_id: SessionId,
    pub kind: TimerKind,
    /// Of the action, task, job or schedule.
    pub id: String,
}

/// What happens when a timer fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimerKind {
    /// Nobody decided an action in time.
    Action,
    /// The next attempt of a task begins.
    TaskRetry,
    /// An attempt of a task took too long.
    TaskTimeout,
    /// An attempt of a task said nothing for too long.
    TaskInactivity,
    /// A run that should have ended did not say so in time.
    TaskCancel,
    /// A job took too long.
    JobTimeout,
    /// The next attempt of items of a job begins.
    JobRetry,
    /// A schedule makes its next job.
    Schedule,
    /// Running work of a child agent had its time to settle.
    SubagentClose,
}

impl TimerKind {
    pub const ALL: [TimerKind; 9] = [
        Self::Action,
        Self::TaskRetry,
        Self::TaskTimeout,
        Self::TaskInactivity,
        Self::TaskCancel,
        Self::JobTimeout,
        Self::JobRetry,
        Self::Schedule,
        Self::SubagentClose,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::TaskRetry => "task_retry",
            Self::TaskTimeout => "task_timeout",
            Self::TaskInactivity => "task_inactivity",
            Self::TaskCancel => "task_cancel",
            Self::JobTimeout => "job_timeout",
            Self::JobRetry => "job_retry",
            Self::Schedule => "schedule",
            Self::SubagentClose => "subagent_close",
        }
    }

    pub fn parse(text: &str) -> Option<TimerKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl Shell {
    /// A timer of this session.
    pub(super) fn timer(&self, due: Timestamp, kind: TimerKind, id: &str) -> Timer {
        Timer { due, account: self.account.clone(), session_id: self.session_id.clone(), kind, id: id.to_owned() }
    }
}

/// A line of `list_sessions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRow {
    pub session_id: SessionId,
    pub title: Option<String>,
    pub agent: String,
    pub created_by: String,
    #[serde(serialize_with = "factum_model::time::serialize")]
    pub created_at: Timestamp,
}

/// Where an action is, and the decision once there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionRow {
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ResolutionSource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
}

/// What a repeated command is answered with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdempotencyRow {
    pub command: String,
    pub params_digest: String,
    pub result: Value,
}

/// Applies the events of one commit and returns what they change in the index.
pub fn apply_commit(state: &mut SessionState, events: &[Event]) -> Vec<IndexChange> {
    let mut commit = CommitFold::begin(state);
    commit.fold(state, events);
    commit.end(state, events)
}

/// Room for the changes of most commits.
const CHANGES: usize = 12;

/// A commit that is being applied, in one or several parts.
///
/// A commit is the unit: what is put and deleted within it is not written, and a key of an account can be made although
/// the fact that names the account stands later in the commit.
pub struct CommitFold {
    unfinished_before: bool,
    timers_ended: Vec<(Timestamp, ActionId)>,
    tasks: super::tasks::RowDiff,
    jobs: super::jobs::RowDiff,
    subagents: super::subagents::RowDiff,
    inbound: super::tasks::inbound::RowDiff,
    resting: super::resting::RowDiff,
}

impl CommitFold {
    pub fn begin(state: &SessionState) -> Self {
        Self {
            unfinished_before: state.unfinished(),
            timers_ended: Vec::new(),
            tasks: super::tasks::RowDiff::begin(&state.tasks),
            jobs: super::jobs::RowDiff::default(),
            subagents: super::subagents::RowDiff::begin(&state.subagents),
            inbound: super::tasks::inbound::RowDiff::begin(&state.inbound),
            resting: super::resting::RowDiff::default(),
        }
    }

    /// Applies the next events of the commit.
    pub fn fold(&mut self, state: &mut SessionState, events: &[Event]) {
        self.jobs.before(&state.jobs, events);
        for event in events {
            self.timers_ended.extend(timer_of_resolved(state, event));
            self.subagents.before(&state.subagents, event);
            apply(state, event);
            self.tasks.saw(&state.tasks, event);
            self.jobs.saw(&state.jobs, event);
            self.inbound.saw(&state.inbound, event);
            self.subagents.saw(&state.subagents, event);
            self.resting.saw(&state.resting);
        }
    }

    /// What the whole commit, which is `events`, changes in the index.
    pub fn end(self, state: &SessionState, events: &[Event]) -> Vec<IndexChange> {
        let Some(shell) = &state.shell else { return Vec::new() };
        let mut changes = Vec::with_capacity(CHANGES);
        self.tasks.end(&state.tasks, shell, events, &mut changes);
        self.jobs.end(&state.jobs, shell, &mut changes);
        self.subagents.end(&state.subagents, shell, &mut changes);
        self.inbound.end(&state.inbound, shell, &mut changes);
        self.resting.end(shell, &mut changes);
        for event in events {
            rows_of(event, shell, &mut changes);
        }
        for (due, action_id) in self.timers_ended {
            let key = keys::timer(&shell.timer(due, TimerKind::Action, action_id.as_str()));
            changes.push(IndexChange::Delete { key });
        }
        let key = || keys::unfinished(&shell.account, &shell.session_id);
        match (self.unfinished_before, state.unfinished()) {
            (false, true) => changes.push(IndexChange::Put { key: key(), value: Vec::new() }),
            (true, false) => changes.push(IndexChange::Delete { key: key() }),
            _ => {}
        }
        changes
    }
}

/// The timer of an action that this event resolves; only the state before the event still knows it.
fn timer_of_resolved(state: &SessionState, event: &Event) -> Option<(Timestamp, ActionId)> {
    let Fact::ActionResolved(_) = &event.fact else { return None };
    let action = state.action(event.scope.action_id.as_ref()?)?;
    Some((timer_due(&action.required)?, action.action_id.clone()))
}

/// A time that changes nothing when it comes needs no timer; its row would only stay due for ever.
fn timer_due(required: &ActionRequired) -> Option<Timestamp> {
    required.timeout_at.filter(|_| required.on_timeout != OnTimeout::Wait)
}

fn rows_of(event: &Event, shell: &Shell, changes: &mut Vec<IndexChange>) {
    let account = shell.account.as_str();
    let session_id = || shell.session_id.clone();
    match &event.fact {
        Fact::SessionCreated(_) | Fact::SessionUpdated(_) => {
            let row = SessionRow {
                session_id: session_id(),
                title: shell.title.clone(),
                agent: shell.agent.clone(),
                created_by: shell.created_by.clone(),
                created_at: shell.created_at,
            };
            put(changes, keys::session(account, shell.created_at, &shell.session_id), &row);
        }
        Fact::ActionRequired(fact) => {
            let Some(action_id) = &event.scope.action_id else { return };
            let row =
                ActionRow { session_id: session_id(), decision: None, resolved_by: None, source: None, sequence: None };
            put(changes, keys::action(account, action_id), &row);
            if let Some(due) = timer_due(fact) {
                let key = keys::timer(&shell.timer(due, TimerKind::Action, action_id.as_str()));
                changes.push(IndexChange::Put { key, value: Vec::new() });
            }
        }
        Fact::ActionResolved(fact) => {
            let Some(action_id) = &event.scope.action_id else { return };
            let row = ActionRow {
                session_id: session_id(),
                decision: Some(fact.decision.clone()),
                resolved_by: Some(fact.resolved_by.clone()),
                source: Some(fact.source),
                sequence: Some(event.sequence),
            };
            put(changes, keys::action(account, action_id), &row);
        }
        Fact::TurnCompleted(_) | Fact::TurnFailed(_) => {
            let Some(turn_id) = &event.scope.turn_id else { return };
            let key = keys::turn(account, &shell.session_id, turn_id);
            changes.push(IndexChange::Put { key, value: Vec::new() });
        }
        Fact::CommandAccepted(fact) => changes.push(idempotency_row(account, fact)),
        Fact::PushConfigSet(_) | Fact::PushConfigDeleted(_) => super::push::rows_of(event, shell, changes),
        _ => {}
    }
}

/// What a repeat of the command is answered from. Streams other than sessions use it too.
pub(crate) fn idempotency_row(account: &str, fact: &CommandAccepted) -> IndexChange {
    idempotency_row_at(keys::idempotency(account, &fact.principal, &fact.idempotency_key), fact)
}

/// The same where keys are not of a principal alone.
pub(crate) fn idempotency_row_at(key: Vec<u8>, fact: &CommandAccepted) -> IndexChange {
    /// An [`IdempotencyRow`] that is written without being copied first.
    #[derive(Serialize)]
    struct Row<'a> {
        command: &'a str,
        params_digest: &'a str,
        result: &'a Value,
    }
    let row = Row { command: &fact.command, params_digest: &fact.params_digest, result: &fact.result };
    row_put(key, &row)
}

pub(super) fn put(changes: &mut Vec<IndexChange>, key: Vec<u8>, row: &impl Serialize) {
    changes.push(row_put(key, row));
}

fn row_put(key: Vec<u8>, row: &impl Serialize) -> IndexChange {
    IndexChange::Put { key, value: row_bytes(row) }
}
