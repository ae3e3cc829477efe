//! Coming back: where each stream goes on, what is said to be missing, and which tokens are good.

use factum_model::commands::{ReconnectChannel, ReconnectChannelResult};
use factum_model::peer::{FollowedSession, ResumeMethod};

use super::*;

fn reconnect(world: &mut World, params: Value, heads: &Heads) -> Result<ReconnectChannelResult, Refusal> {
    reconnect_as(world, ALICE, params, heads, false)
}

fn reconnect_as(
    world: &mut World,
    caller: &str,
    params: Value,
    heads: &Heads,
    replaces: bool,
) -> Result<ReconnectChannelResult, Refusal> {
    let mut params = params;
    params["channel_id"] = json!("chan-1");
    let command: ReconnectChannel = serde_json::from_value(params).expect("params");
    let token_ref = format!("rt_{}", world.state.sequence + 1);
    let back = Return { shown: command.resume_token.as_deref(), token_ref, replaces, last_seen_at: None, heads };
    world.decide(caller, |state, context| reconnect_channel(state, &command, &back, context))
}

/// The last acknowledged, what the peer says, the newest; then where it goes on, what is missing and what is acknowledged.
#[test]
fn where_a_stream_goes_on() {
    for (acknowledged, said, head, resume_from, gap, then) in [
        (0, None, 0, 0, None, 0),
        (0, None, 100, 0, None, 0),
        (40, None, 50, 40, None, 40),
        (40, Some(45), 50, 45, None, 45),
        (40, Some(30), 50, 30, None, 40),
        (40, Some(50), 50, 50, None, 50),
        (40, Some(60), 50, 40, Some((51, 60)), 40),
        (0, None, 101, 1, Some((1, 1)), 0),
        (0, Some(0), 1_000, 900, Some((1, 900)), 0),
        (0, Some(7), 1_000, 900, Some((8, 900)), 7),
        (5, Some(2_000), 1_000, 900, Some((6, 900)), 5),
        (940, Some(3), 1_000, 900, Some((4, 900)), 940),
        (940, None, 1_000, 940, None, 940),
    ] {
        let what = format!("{acknowledged} {said:?} {head}");
        let mut world = client(&["s"]);
        let cursors = BTreeMap::from([("s".to_owned(), acknowledged)]);
        world.decide(ALICE, |state, context| ack_events(state, &cursors, context)).expect("acked");
        let result = reconnect(&mut world, json!({ "last_acknowledged_sequence": said }), &heads(&[("s", head)]));
        let result = result.expect("back");
        assert_eq!(result.resume_from, resume_from, "{what}");
        assert_eq!(result.gap.as_ref().map(|gap| (gap.from_sequence, gap.to_sequence)), gap, "{what}");
        let cursor = world.peer().cursor("s").expect("s");
        assert_eq!(cursor.position, resume_from, "{what}");
        assert_eq!(cursor.acknowledged, then, "{what}: what was not sent is not acknowledged");
        let fact = world.last("channel.resumed");
        assert_eq!(fact["payload"]["last_acknowledged_sequence"], then, "{what}");
        let repaired = world.types().iter().filter(|kind| *kind == "snapshot.repaired").count();
        assert_eq!(repaired, usize::from(gap.is_some()), "{what}");
        if let Some((from, to)) = gap {
            let fact = world.last("snapshot.repaired");
            assert_eq!(fact["session_id"], "s");
            assert_eq!(fact["payload"]["snapshot"], "channel_summary");
            assert_eq!(fact["payload"]["gap"]["from_sequence"], from);
            assert_eq!(fact["payload"]["gap"]["to_sequence"], to);
            assert_eq!(fact["payload"]["degraded"], true);
        }
        assert_eq!(world.types().last().map(String::as_str), Some("channel.resumed"), "{what}");
        world.check();
    }
}

/// What was in a gap stays what the peer has not got, however often it comes back, until it says otherwise.
#[test]
fn a_gap_is_there_until_it_is_acknowledged() {
    let mut world = client(&["s"]);
    let cursors = BTreeMap::from([("s".to_owned(), 4)]);
    world.decide(ALICE, |state, context| ack_events(state, &cursors, context)).expect("acked");
    let at = heads(&[("s", 140)]);
    for said in [json!(2), Value::Null, Value::Null] {
        let from = said.as_u64().unwrap_or(4);
        let result = reconnect(&mut world, json!({ "last_acknowledged_sequence": said }), &at).expect("back");
        assert_eq!(result.gap.map(|gap| (gap.from_sequence, gap.to_sequence)), Some((from + 1, 40)));
        assert_eq!(result.snapshot.sessions[0].last_acknowledged_sequence, 4);
    }
    let result = reconnect(&mut world, json!({ "last_acknowledged_sequence": 40 }), &at).expect("back");
    assert_eq!((result.gap, result.snapshot.sessions[0].last_acknowledged_sequence), (None, 40));
    world.check();
}

#[test]
fn the_snapshot_is_what_is_true_once_it_is_back() {
    let mut world = client(&["s", "t"]);
    let at = heads(&[("s", 5), ("t", 8)]);
    let result = reconnect(&mut world, json!({ "cursors": { "t": 6 } }), &at).expect("back");
    assert_eq!(result.snapshot.as_of_sequence, world.state.sequence);
    assert_eq!(result.sequence, world.state.sequence);
    let presence = Presence { here: true, last_seen_at: Some(world.now), transport: None };
    assert_eq!(Some(&result.snapshot), summary(&world.state, &presence, &at).as_ref());
    let cursors: Vec<(&str, u64)> = result.streams.iter().map(|at| (at.stream.as_str(), at.resume_from)).collect();
    assert_eq!(cursors, [("@channel", 0), ("s", 0), ("t", 6)]);
    assert_eq!(result.resume_token, None, "the answer that is recorded has no secret in it");
}

#[test]
fn a_token_is_good_once() {
    let mut world = client(&["s"]);
    let at = heads(&[("s", 5)]);
    let method = |world: &World| world.last("channel.resumed")["payload"]["method"].clone();
    reconnect(&mut world, json!({ "resume_token": "rt_1" }), &at).expect("the token of the enrollment");
    assert_eq!(method(&world), json!(ResumeMethod::Token));
    let refused = reconnect(&mut world, json!({ "resume_token": "rt_1" }), &at).expect_err("used");
    assert_eq!(refused.code, ErrorCode::PermissionDenied);
    reconnect(&mut world, json!({ "resume_token": "rt_2" }), &at).expect("the next one");
    reconnect(&mut world, json!({}), &at).expect("the credential is enough");
    assert_eq!(method(&world), json!(ResumeMethod::Snapshot));
    reconnect(&mut world, json!({ "last_acknowledged_sequence": 3 }), &at).expect("a cursor");
    assert_eq!(method(&world), json!(ResumeMethod::Cursor));
    let refused = reconnect(&mut world, json!({ "resume_token": "rt_3" }), &at).expect_err("replaced since");
    assert_eq!(refused.code, ErrorCode::PermissionDenied);
    world.check();
}

#[test]
fn who_comes_back_is_who_left() {
    let mut world = client(&["s"]);
    let at = heads(&[("s", 5)]);
    assert_eq!(reconnect_as(&mut world, BOB, json!({}), &at, false), Err(Refusal::not_found()));
    reconnect_as(&mut world, ALICE, json!({}), &at, true).expect("back");
    assert_eq!(world.types(), ["channel.connected", "channel.disconnected", "channel.resumed"]);
    assert_eq!(world.last("channel.disconnected")["payload"]["reason"], "replaced");
    let several = client(&["s", "t"]);
    let mut several = several;
    let refused = reconnect(&mut several, json!({ "last_acknowledged_sequence": 1 }), &at).expect_err("which?");
    assert_eq!(refused.code, ErrorCode::InvalidParams);
}

/// A client of A2A may enroll its channel and follow the sessions that its tasks are in.
#[test]
fn a_session_that_is_followed_and_told_of_is_shown_once() {
    let mut world = World::new();
    world.enroll(ALICE, json!({ "peer_role": "client", "session_ids": ["s"] })).expect("enrolled");
    let mut shown = summary(&world.state, &Presence::default(), &Heads::default()).expect("a summary");
    let told = |name: &str| FollowedSession {
        session_id: session(name),
        since_sequence: 3,
        last_acknowledged_sequence: 3,
        head_sequence: 7,
    };
    FromSessions { sessions: vec![told("s"), told("t")], ..FromSessions::default() }.add_to(&mut shown);
    let sessions: Vec<_> = shown.sessions.iter().map(|one| (one.session_id.clone(), one.since_sequence)).collect();
    assert_eq!(sessions, [(session("s"), 0), (session("t"), 3)]);
}
