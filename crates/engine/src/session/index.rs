//! The index rules of sessions: which keys a fact puts or deletes. Pure functions of the events, so the whole index can
//! be deleted and made again, and `factum verify` can compare.

use factum_model::events::{ActionRequired, CommandAccepted, OnTimeout, ResolutionSource};
use factum_model::id::{ActionId, SessionId};
use factum_model::{Event, Fact, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::apply::apply;
use super::state::{SessionState, Shell};
use crate::key::{IndexChange, Key, KeyReader};

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

    /// Due times of open actions, soonest first.
    pub fn timer(due: Timestamp, account: &str, session_id: &SessionId, action_id: &ActionId) -> Vec<u8> {
        Key::table("timer").instant(due).text(account).text(session_id.as_str()).text(action_id.as_str()).into_bytes()
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
        Some(Timer { due, account, session_id: reader.text()?.parse().ok()?, action_id: reader.text()?.parse().ok()? })
    }

    /// The answer to a command with this key. Keys belong to the principal that used them.
    pub fn idempotency(account: &str, principal: &str, key: &str) -> Vec<u8> {
        // Principals and keys are free text; a digest bounds their length and keeps them out of the index.
        let digest = crate::digest::sha256(format!("{principal}\n{key}").as_bytes());
        Key::table("idempotency").text(account).text(&digest).into_bytes()
    }
}

/// A durable timer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    pub due: Timestamp,
    pub account: String,
    pub session_id: SessionId,
    pub action_id: ActionId,
}

/// A line of `list_sessions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRow {
    pub session_id: SessionId,
    pub title: Option<String>,
    pub agent: String,
    pub created_by: String,
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
///
/// A commit is the unit: what is put and deleted within it is not written, and a key of an account can be made although
/// the fact that names the account stands later in the commit.
pub fn apply_commit(state: &mut SessionState, events: &[Event]) -> Vec<IndexChange> {
    let unfinished_before = state.unfinished();
    let mut timers_ended = Vec::new();
    for event in events {
        timers_ended.extend(timer_of_resolved(state, event));
        apply(state, event);
    }
    let Some(shell) = &state.shell else { return Vec::new() };
    let mut changes = Vec::new();
    for event in events {
        rows_of(event, shell, &mut changes);
    }
    for (due, action_id) in timers_ended {
        changes.push(IndexChange::Delete { key: keys::timer(due, &shell.account, &shell.session_id, &action_id) });
    }
    let key = keys::unfinished(&shell.account, &shell.session_id);
    match (unfinished_before, state.unfinished()) {
        (false, true) => changes.push(IndexChange::Put { key, value: Vec::new() }),
        (true, false) => changes.push(IndexChange::Delete { key }),
        _ => {}
    }
    changes
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
    let session_id = shell.session_id.clone();
    match &event.fact {
        Fact::SessionCreated(_) | Fact::SessionUpdated(_) => {
            let row = SessionRow {
                session_id,
                title: shell.title.clone(),
                agent: shell.agent.clone(),
                created_by: shell.created_by.clone(),
                created_at: shell.created_at,
            };
            put(changes, keys::session(account, shell.created_at, &shell.session_id), &row);
        }
        Fact::ActionRequired(fact) => {
            let Some(action_id) = &event.scope.action_id else { return };
            let row = ActionRow { session_id, decision: None, resolved_by: None, source: None, sequence: None };
            put(changes, keys::action(account, action_id), &row);
            if let Some(due) = timer_due(fact) {
                let key = keys::timer(due, account, &shell.session_id, action_id);
                changes.push(IndexChange::Put { key, value: Vec::new() });
            }
        }
        Fact::ActionResolved(fact) => {
            let Some(action_id) = &event.scope.action_id else { return };
            let row = ActionRow {
                session_id,
                decision: Some(fact.decision.clone()),
                resolved_by: Some(fact.resolved_by.clone()),
                source: Some(fact.source),
                sequence: Some(event.sequence),
            };
            put(changes, keys::action(account, action_id), &row);
        }
        Fact::CommandAccepted(fact) => changes.push(idempotency_row(account, fact)),
        _ => {}
    }
}

/// What a repeat of the command is answered from. Streams other than sessions use it too.
pub(crate) fn idempotency_row(account: &str, fact: &CommandAccepted) -> IndexChange {
    /// An [`IdempotencyRow`] that is written without being copied first.
    #[derive(Serialize)]
    struct Row<'a> {
        command: &'a str,
        params_digest: &'a str,
        result: &'a Value,
    }
    let row = Row { command: &fact.command, params_digest: &fact.params_digest, result: &fact.result };
    row_put(keys::idempotency(account, &fact.principal, &fact.idempotency_key), &row)
}

fn put(changes: &mut Vec<IndexChange>, key: Vec<u8>, row: &impl Serialize) {
    changes.push(row_put(key, row));
}

fn row_put(key: Vec<u8>, row: &impl Serialize) -> IndexChange {
    // Rows are plain structs of texts and numbers; writing them as JSON cannot fail.
    IndexChange::Put { key, value: serde_json::to_vec(row).unwrap_or_default() }
}
