//! Whatever is acknowledged and however often a peer comes back: what it is sent begins where it left off, nothing is said
//! to be acknowledged twice or before it exists, and the fold of the bytes is the state.

use factum_model::commands::ReconnectChannel;
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    /// Events happen in a session.
    Grow(bool, u64),
    Ack(bool, u64),
    Back(bool, Option<u64>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (any::<bool>(), 0_u64..60).prop_map(|(first, by)| Step::Grow(first, by)),
        (any::<bool>(), 0_u64..200).prop_map(|(first, to)| Step::Ack(first, to)),
        (any::<bool>(), proptest::option::of(0_u64..200)).prop_map(|(first, to)| Step::Back(first, to)),
    ]
}

proptest! {
    #[test]
    fn cursors_are_kept(steps in proptest::collection::vec(step(), 1..40)) {
        let mut world = client(&["s", "t"]);
        let mut at = heads(&[("s", 0), ("t", 0)]);
        let name = |first: bool| if first { "s" } else { "t" };
        for step in steps {
            let before = world.state.clone();
            match step {
                Step::Grow(first, by) => *at.get_mut(&session(name(first))).expect("a head") += by,
                Step::Ack(first, to) => {
                    let command = json!({ "channel_id": "chan-1", "acknowledged_sequence": to, "session_id": name(first) });
                    let command = serde_json::from_value(command).expect("params");
                    let checked = check_ack(&world.state, &command, None, &at, ALICE);
                    prop_assert_eq!(checked.is_ok(), to <= at[&session(name(first))]);
                    if let Ok(checked) = checked {
                        world.decide(ALICE, |state, context| ack_events(state, &checked.cursors, context)).expect("acked");
                        prop_assert!(world.peer().cursor(name(first)).expect("a cursor").acknowledged >= to);
                    }
                }
                Step::Back(first, to) => {
                    let command = json!({ "channel_id": "chan-1", "last_acknowledged_sequence": to, "session_id": name(first) });
                    let command: ReconnectChannel = serde_json::from_value(command).expect("params");
                    let back = Return { shown: None, token_ref: "rt".into(), replaces: false, last_seen_at: None, heads: &at };
                    let result = world.decide(ALICE, |state, context| reconnect_channel(state, &command, &back, context));
                    let result = result.expect("back");
                    let head = at[&session(name(first))];
                    let had = before.peer.as_ref().expect("a peer").cursor(name(first)).expect("a cursor").acknowledged;
                    // What it has and what it is sent meet, or what is between them is said to be missing.
                    let wanted = to.filter(|to| *to <= head).unwrap_or(had);
                    let gap = result.gap.map(|gap| (gap.from_sequence, gap.to_sequence));
                    prop_assert_eq!(gap, match (result.resume_from > wanted, to.filter(|to| *to > head)) {
                        (true, _) => Some((wanted + 1, result.resume_from)),
                        (false, Some(ahead)) => Some((head + 1, ahead)),
                        (false, None) => None,
                    });
                    prop_assert!(result.resume_from >= wanted);
                    let now = world.peer().cursor(name(first)).expect("a cursor").acknowledged;
                    prop_assert_eq!(now, had.max(wanted), "what was not sent is not acknowledged");
                    prop_assert!(result.resume_from <= head && head - result.resume_from <= REPLAY_MAX);
                }
            }
            for (stream, cursor) in before.peer.as_ref().expect("a peer").streams() {
                let now = world.peer().cursor(stream).expect("still there");
                prop_assert!(now.acknowledged >= cursor.acknowledged, "acknowledgements never go back");
                if let Some(head) = stream.parse().ok().and_then(|id: SessionId| at.get(&id)) {
                    prop_assert!(now.acknowledged <= *head && now.position <= *head);
                }
            }
        }
        world.check();
    }
}
