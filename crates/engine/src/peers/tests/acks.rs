//! Acknowledging: which stream a number is about, that it never goes back, and that nothing is acknowledged before it exists.

use factum_model::commands::{AckEvents, FollowSessions};
use factum_model::peer::OWN_STREAM;

use super::*;

/// Checks and records; gives what is acknowledged of the stream it was about, or the code.
fn ack(world: &mut World, caller: &str, params: Value, heads: &Heads) -> Result<u64, ErrorCode> {
    let mut params = params;
    params["channel_id"] = json!("chan-1");
    let command: AckEvents = serde_json::from_value(params).expect("params");
    let shown = command.resume_token.as_deref();
    let checked = check_ack(&world.state, &command, shown, heads, caller).map_err(|refusal| refusal.code)?;
    let recorded = world.decide(caller, |state, context| ack_events(state, &checked.cursors, context));
    let sequence = recorded.map_err(|refusal| refusal.code)?;
    Ok(acknowledged(world.peer(), &checked.about, sequence).last_acknowledged_sequence)
}

#[test]
fn a_lone_number_is_about_the_only_stream_it_can_mean() {
    let at = heads(&[("s", 9), ("t", 9)]);
    let several = json!({ "s": 2, "t": 3, OWN_STREAM: 1 });
    for (sessions, params, expected) in [
        (&[][..], json!({ "acknowledged_sequence": 1 }), Ok((OWN_STREAM, 1))),
        (&[], json!({ "acknowledged_sequence": 2 }), Err(ErrorCode::PreconditionFailed)),
        (&["s"], json!({ "acknowledged_sequence": 7 }), Ok(("s", 7))),
        (&["s"], json!({ "acknowledged_sequence": 7, "session_id": "s" }), Ok(("s", 7))),
        (&["s"], json!({ "acknowledged_sequence": 7, "session_id": "t" }), Err(ErrorCode::PreconditionFailed)),
        (&["s"], json!({ "acknowledged_sequence": 10 }), Err(ErrorCode::PreconditionFailed)),
        (&["s"], json!({ "cursors": { OWN_STREAM: 1 } }), Ok((OWN_STREAM, 1))),
        (&["s"], json!({ "cursors": { "nobody": 1 } }), Err(ErrorCode::PreconditionFailed)),
        (&["s"], json!({ "cursors": { "not an id": 1 } }), Err(ErrorCode::PreconditionFailed)),
        (&["s", "t"], json!({ "acknowledged_sequence": 7 }), Err(ErrorCode::InvalidParams)),
        (&["s", "t"], json!({ "acknowledged_sequence": 7, "session_id": "t" }), Ok(("t", 7))),
        (&["s", "t"], json!({ "cursors": several }), Ok((OWN_STREAM, 1))),
        (&["s"], json!({ "acknowledged_sequence": 4, "cursors": { "s": 5 } }), Err(ErrorCode::InvalidParams)),
        (&["s"], json!({ "acknowledged_sequence": 5, "cursors": { "s": 5 } }), Ok(("s", 5))),
        (&["s"], json!({ "acknowledged_sequence": 4, "cursors": { OWN_STREAM: 1 } }), Ok(("s", 4))),
        (&["s"], json!({}), Err(ErrorCode::InvalidParams)),
        (&["s"], json!({ "acknowledged_sequence": 1, "resume_token": "rt_1" }), Ok(("s", 1))),
        (&["s"], json!({ "acknowledged_sequence": 1, "resume_token": "rt_0" }), Err(ErrorCode::PermissionDenied)),
    ] {
        let mut world = client(sessions);
        let before = world.state.clone();
        let found = ack(&mut world, ALICE, params.clone(), &at);
        match expected {
            Ok((stream, sequence)) => {
                assert_eq!(found, Ok(sequence), "{params}");
                assert_eq!(world.peer().cursor(stream).expect("a stream").acknowledged, sequence, "{params}");
            }
            Err(code) => {
                assert_eq!(found, Err(code), "{params}");
                assert_eq!(world.state, before, "{params}");
            }
        }
        world.check();
    }
}

#[test]
fn it_never_goes_back_and_saying_it_again_writes_nothing() {
    let mut world = client(&["s"]);
    let at = heads(&[("s", 50)]);
    for (said, stands) in [(10, 10), (10, 10), (7, 10), (0, 10), (12, 12)] {
        assert_eq!(ack(&mut world, ALICE, json!({ "acknowledged_sequence": said }), &at), Ok(stands));
    }
    assert_eq!(world.types(), ["channel.connected", "channel.acknowledged", "channel.acknowledged"]);
    world.check();
}

#[test]
fn for_another_principal_there_is_nothing_to_acknowledge() {
    let mut world = client(&["s"]);
    let refused = ack(&mut world, BOB, json!({ "acknowledged_sequence": 1 }), &heads(&[("s", 9)]));
    assert_eq!(refused, Err(ErrorCode::NotFound));
}

#[test]
fn what_is_followed_changes_and_keeps_its_place() {
    let mut world = client(&["s", "t"]);
    ack(&mut world, ALICE, json!({ "acknowledged_sequence": 4, "session_id": "s" }), &heads(&[("s", 9)]))
        .expect("acked");
    let follow = |world: &mut World, follow: &[&str], unfollow: &[&str]| {
        let command: FollowSessions =
            serde_json::from_value(json!({ "channel_id": "chan-1", "follow": follow, "unfollow": unfollow }))
                .expect("params");
        world.decide(ALICE, |state, context| follow_sessions(state, &command, context))
    };
    let result = follow(&mut world, &["s", "u"], &["t"]).expect("followed");
    assert_eq!(result.session_ids, [session("s"), session("u")]);
    assert_eq!(world.peer().cursor("s").expect("s").acknowledged, 4, "it was followed before");
    assert_eq!(world.peer().cursor("t"), None);
    let again = follow(&mut world, &["s", "u"], &["t"]).expect("nothing to do");
    assert_eq!(again.sequence, result.sequence);
    let many: Vec<String> = (0..255).map(|at| format!("n{at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(follow(&mut world, &many, &[]).expect_err("too many").code, ErrorCode::LimitExceeded);
    let since = BTreeMap::from([(session("s"), 3), (session("v"), 7)]);
    world.decide(ALICE, |state, context| join_sessions(state, &since, context)).expect("joined");
    assert_eq!(world.peer().cursor("s").expect("s").acknowledged, 4, "it was followed before");
    let cursor = world.peer().cursor("v").expect("v");
    assert_eq!((cursor.acknowledged, cursor.position), (7, 7));
    world.check();
}
