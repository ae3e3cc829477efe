//! Commands that answer `unavailable` are written down, and the list may only shrink.

use factum_model::ErrorCode;
use factum_model::commands::COMMANDS;
use factum_runtime::{CallError, UNAVAILABLE};

use crate::world::World;

fn written_down() -> Vec<&'static str> {
    include_str!("../unavailable.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

#[test]
fn the_list_only_shrinks() {
    let written = written_down();
    for name in UNAVAILABLE {
        assert!(written.contains(name), "{name} became unavailable; it was not before");
    }
    for name in &written {
        assert!(UNAVAILABLE.contains(name), "{name} is available now: take it out of tests/unavailable.txt");
    }
}

#[tokio::test]
async fn they_say_so_and_the_others_do_not() {
    let world = World::new().await;
    for info in COMMANDS {
        let answer = world.runtime.call_by_name(&world.caller, info.name, "{}").await;
        let unavailable = matches!(&answer, Err(CallError::Refused(refusal)) if refusal.code == ErrorCode::Unavailable);
        let fits = !matches!(&answer, Err(CallError::Refused(refusal)) if refusal.code == ErrorCode::InvalidParams);
        if UNAVAILABLE.contains(&info.name) {
            assert!(unavailable || !fits, "{}: {answer:?}", info.name);
        } else {
            assert!(!unavailable, "{}: {answer:?}", info.name);
        }
    }
}
