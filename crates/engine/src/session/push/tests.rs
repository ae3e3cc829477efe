//! Setting, setting anew, deleting twice, and the bound.

use factum_model::Refusal;
use factum_model::id::{IdSource, TaskId};
use uuid::Uuid;

use super::*;
use crate::session::state::{SessionState, Shell};
use crate::{Context, Decision, Limits, no_opening};

struct Ids;

impl IdSource for Ids {
    fn next_uuid(&mut self) -> Uuid {
        Uuid::nil()
    }
}

fn state() -> SessionState {
    let now = factum_model::Timestamp::UNIX_EPOCH;
    let shell = Shell {
        account: "acme".to_owned(),
        session_id: "sess_1".parse().expect("an id"),
        runtime_id: "rt_1".parse().expect("an id"),
        title: None,
        agent: "demo".to_owned(),
        created_by: "agent://alice".to_owned(),
        created_at: now,
        updated_at: now,
        metadata: Default::default(),
    };
    SessionState { shell: Some(shell), ..SessionState::default() }
}

fn task() -> TaskId {
    "task_1".parse().expect("an id")
}

fn decide<T>(decide: impl FnOnce(&SessionState, &mut Context<'_>) -> Result<T, Refusal>) -> Result<T, Refusal> {
    let limits = Limits { push_configs_max: 2, ..Limits::default() };
    let mut context = Context {
        now: factum_model::Timestamp::UNIX_EPOCH,
        ids: &mut Ids,
        caller: "agent://alice",
        account: "acme",
        through: None,
        limits: &limits,
        prelude: 0,
        opening: &no_opening,
        through: None,
    };
    decide(&state(), &mut context)
}

fn set(known: &[PushConfig], config_id: &str, url: &str) -> Result<Decision<PushConfig>, Refusal> {
    let new = NewPushConfig { config_id, native_protocol: "a2a", url, scheme: None, sealed_secrets: None };
    decide(|state, context| set_push_config(state, &task(), known, &new, context))
}

#[test]
fn a_task_has_a_bounded_number_of_them() {
    let one = set(&[], "one", "https://example.com/1").expect("set").output;
    let two = set(std::slice::from_ref(&one), "two", "https://example.com/2").expect("set").output;
    let both = [one, two];
    assert_eq!(
        set(&both, "three", "https://example.com/3").expect_err("full").details["limit"]["name"],
        "push_configs"
    );
    let anew = set(&both, "two", "https://example.com/4").expect("set anew").output;
    assert_eq!(anew.url, "https://example.com/4");
}

#[test]
fn deleting_again_changes_nothing() {
    let known = [set(&[], "one", "https://example.com").expect("set").output];
    let delete = |id: &str| decide(|state, context| delete_push_config(state, &task(), &known, id, context));
    assert_eq!(delete("one").expect("deleted").events.len(), 1);
    assert_eq!(delete("two").expect("not there").events.len(), 0);
}
