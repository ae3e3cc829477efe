//! What a peer is told is what was to be said when it was linked: the same words under the same message id, however often.

use factum_model::commands::*;
use factum_runtime::Agents;
use serde_json::json;

use super::fake::{Fake, Mood, State};
use super::{given, until_fact, world};
use crate::tasks::call;

#[tokio::test]
async fn an_objective_that_changes_meanwhile_does_not_change_what_is_sent() {
    type Change = fn(&mut State);
    let table: [(&str, Change, usize); 2] = [
        ("its answer is lost", |state| state.mood = Mood::Swallows, 2),
        ("it is away", |state| state.mood = Mood::Down, 1),
    ];
    for (kind, change, sent) in table {
        let fake = Fake::new(|state| {
            state.keeps_keys = true;
            change(state);
        });
        let mut world = world(&fake).await;
        let session_id = given(&world).await;
        if sent == 2 {
            fake.until(|state| state.told.len() == 1).await;
        }
        call::<UpdateTask>(&world, json!({ "task_id": "t", "objective": "count to a hundred" })).await.unwrap();
        world.restart(Agents::demo()).await;
        fake.change(|state| state.mood = Mood::Well);
        fake.until(|state| state.told.len() == sent).await;
        let told = fake.state.lock().told.clone();
        assert!(told.iter().all(|(id, text)| *id == told[0].0 && text == "count to ten"), "{kind}: {told:?}");
        until_fact(&world, &session_id, super::recovered("running")).await;
    }
}

/// The run is over here before it is known whether the peer has it: it is looked for and stopped, and not sent again.
#[tokio::test]
async fn a_run_that_is_over_is_stopped_at_the_peer_and_not_sent_again() {
    let fake = Fake::new(|state| (state.keeps_keys, state.mood) = (true, Mood::Swallows));
    let mut world = world(&fake).await;
    given(&world).await;
    fake.until(|state| state.told.len() == 1).await;
    let failed = json!({ "task_id": "t", "error": { "category": "x", "message": "enough" } });
    call::<FailTask>(&world, failed).await.unwrap();
    world.restart(Agents::demo()).await;
    fake.change(|state| state.mood = Mood::Well);
    fake.until(|state| state.tasks[0].cancelled == 1).await;
    assert_eq!(fake.state.lock().told.len(), 1);
}
