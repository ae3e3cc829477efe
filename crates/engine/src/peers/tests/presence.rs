//! Being there and not: facts only where something changes, and leaving for good.

use factum_model::commands::CloseChannel;
use factum_model::peer::{ChannelState, DisconnectReason};

use super::*;

#[test]
fn only_changes_are_facts() {
    let mut world = client(&["s"]);
    let sign = Sign::default();
    let appear_as = |world: &mut World, sign: Sign| world.decide(ALICE, |state, context| appear(state, sign, context));
    let lose = |world: &mut World| {
        let reason = DisconnectReason::HeartbeatMissed;
        world.decide("runtime://peers", |state, context| vanish(state, reason, None, context))
    };
    appear_as(&mut world, sign).expect("there already");
    assert_eq!(world.state.sequence, 1);
    lose(&mut world).expect("lost");
    lose(&mut world).expect("known");
    assert_eq!(world.peer().state, ChannelState::Disconnected);
    assert!(!world.index.contains_key(&keys::connected("acme", &channel())));
    appear_as(&mut world, sign).expect("back");
    appear_as(&mut world, sign).expect("there");
    appear_as(&mut world, Sign { first: true, ..sign }).expect("back after a restart");
    appear_as(&mut world, Sign { replaces: true, ..sign }).expect("another connection");
    let types = world.types();
    let expected = ["connected", "disconnected", "resumed", "resumed", "disconnected", "resumed"];
    assert_eq!(types, expected.map(|kind| format!("channel.{kind}")));
    assert!(world.index.contains_key(&keys::connected("acme", &channel())));
    world.check();
}

#[test]
fn after_a_restart_nobody_knows() {
    let world = client(&[]);
    let state = |here| record(world.peer(), &Presence { here, ..Presence::default() }).state;
    assert_eq!((state(true), state(false)), (ChannelState::Connected, ChannelState::Unknown));
}

#[test]
fn who_left_for_good_enrolls_again() {
    let mut world = client(&["s"]);
    let close: CloseChannel = serde_json::from_value(json!({ "channel_id": "chan-1" })).expect("params");
    let refused = world.decide(BOB, |state, context| close_channel(state, &close, context));
    assert_eq!(refused, Err(Refusal::not_found()));
    world.decide(ALICE, |state, context| close_channel(state, &close, context)).expect("closed");
    world.decide(ALICE, |state, context| close_channel(state, &close, context)).expect("closed already");
    assert_eq!(world.state.sequence, 2);
    assert_eq!((world.peer().sessions.len(), &world.peer().identity.resume_token_ref), (0, &None));
    let refused = world.decide(ALICE, |state, context| appear(state, Sign::default(), context)).expect_err("closed");
    assert_eq!(refused.code, ErrorCode::PreconditionFailed);
    world.enroll(ALICE, json!({ "peer_role": "client" })).expect("enrolled again");
    assert_eq!(world.peer().state, ChannelState::Connected);
    world.check();
}
