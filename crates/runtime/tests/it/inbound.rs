//! What comes of a peer's message, as whoever waits for it hears.

use factum_model::Fact;
use factum_model::peer::DeliveryMechanism;
use factum_runtime::{Begun, PeerMessage, Received};

use crate::world::{World, turn};

/// What a peer says that begins a conversation.
pub(crate) fn message(text: &str) -> PeerMessage {
    PeerMessage {
        native_protocol: "a2a",
        delivery: DeliveryMechanism::Polling,
        agent: None,
        task_id: None,
        own_task_id: None,
        context_id: None,
        own_contexts: true,
        input: turn(text).input,
        message: Default::default(),
        metadata: Default::default(),
        push: None,
        idempotency_key: None,
    }
}

async fn begin(world: &World, text: &str) -> (Received, Begun) {
    let mut received = world.runtime.receive_message(&world.caller, message(text)).await.unwrap();
    let begun = received.begun.take().expect("a session was begun");
    (received, begun)
}

fn is_end(fact: &Fact) -> bool {
    matches!(fact, Fact::TaskCompleted(_) | Fact::TaskFailed(_))
}

#[tokio::test]
async fn what_is_answered_in_the_commit_of_its_message_is_told_whole_and_not_followed() {
    let world = World::new().await;
    let (Received { accepted, .. }, Begun { mut facts, behind }) = begin(&world, "hello").await;
    assert_eq!(facts.first().map(|fact| fact.sequence), Some(accepted.first_sequence));
    assert!(facts.iter().any(|event| is_end(&event.fact)));
    assert!(behind.is_none(), "nothing comes behind the end of the task");
    let (mut taken, told) = (Vec::new(), facts.iter().map(|event| event.sequence).collect::<Vec<_>>());
    while let Some(event) = facts.take_first() {
        taken.push(event.sequence);
    }
    assert_eq!(taken, told, "one after the other, each once");
    assert!(facts.is_empty());
}

#[tokio::test]
async fn what_a_run_does_is_followed_from_behind_the_commit_of_its_message() {
    let world = World::new().await;
    let (Received { accepted, .. }, Begun { facts, behind }) = begin(&world, "fail: no reason").await;
    let mut last = facts.last().expect("facts").sequence;
    assert_eq!(last, accepted.sequence);
    let mut behind = behind.expect("what comes of it");
    loop {
        for event in behind.next().await.unwrap().iter() {
            assert_eq!(event.sequence, last + 1, "without a gap");
            last = event.sequence;
            if is_end(&event.fact) {
                return;
            }
        }
    }
}
