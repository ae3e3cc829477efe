//! A peer that waits for an authorization where it waited for an answer, or the other way round, and need not say a word to it.

use factum_model::commands::RespondAction;
use factum_model::task::TaskStatus;
use factum_runtime::Agents;
use serde_json::json;

use super::fake::{Fake, Mood};
use super::{given, open_action, until_fact, world};
use crate::tasks::{call, until};

const INPUT: (&str, TaskStatus, &str, &str) = ("input-required", TaskStatus::WaitingInput, "blue", "input");
const AUTHORIZATION: (&str, TaskStatus, &str, &str) =
    ("auth-required", TaskStatus::WaitingPermission, "allow", "authorization");

#[tokio::test]
async fn what_is_answered_is_what_the_peer_waits_for_now() {
    for (first, second) in [(INPUT, AUTHORIZATION), (AUTHORIZATION, INPUT)] {
        let fake = Fake::new(|state| state.polled = true);
        let world = world(&fake).await;
        let session_id = given(&world).await;
        fake.until(|state| state.tasks.len() == 1).await;
        fake.task(|task| task.state = first.0);
        until(&world, &session_id, "t", first.1).await;
        let closed = open_action(&world, &session_id).await;
        fake.task(|task| task.state = second.0);
        let task = until(&world, &session_id, "t", second.1).await;
        assert_eq!(task.native_status.as_deref(), Some(second.0));
        let open = open_action(&world, &session_id).await;
        let too_late = json!({ "action_id": closed, "decision": first.2 });
        assert!(call::<RespondAction>(&world, too_late).await.is_err(), "nobody waits for it any more");
        call::<RespondAction>(&world, json!({ "action_id": open, "decision": second.2 })).await.unwrap();
        fake.until(|state| !state.tasks[0].answers.is_empty()).await;
        assert_eq!(fake.state.lock().tasks[0].answers, [(open, second.2.to_owned())]);
    }
}

/// Whether it got the answer is not known, but it waits for something else: it is not given the answer to that.
#[tokio::test]
async fn an_answer_that_may_have_arrived_is_not_sent_to_a_question_of_another_kind() {
    for (first, second) in [(INPUT, AUTHORIZATION), (AUTHORIZATION, INPUT)] {
        let fake = Fake::new(|_| {});
        let mut world = world(&fake).await;
        let session_id = given(&world).await;
        fake.until(|state| state.tasks.len() == 1).await;
        fake.task(|task| task.state = first.0);
        until(&world, &session_id, "t", first.1).await;
        let answered = open_action(&world, &session_id).await;
        fake.change(|state| state.mood = Mood::Swallows);
        call::<RespondAction>(&world, json!({ "action_id": answered, "decision": first.2 })).await.unwrap();
        fake.until(|state| !state.tasks[0].answers.is_empty()).await;
        fake.task(|task| task.state = second.0);
        fake.change(|state| state.mood = Mood::Well);
        world.restart(Agents::demo()).await;
        until_fact(&world, &session_id, |event| {
            event["type"] == "action.required" && event["payload"]["action_type"] == second.3
        })
        .await;
        assert_eq!(fake.state.lock().tasks[0].answers, [(answered, first.2.to_owned())]);
    }
}
