//! Opaque cursors of the feed and of the lists: one that was not made here, or for another account or purpose, is refused
//! in one way; and what a cursor holds, were it ever forged, leads neither to a defect nor out of the account.
//!
//! The first byte says what is done with the rest.

#![no_main]

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use factum_api::AuthOptions;
use factum_fuzz::world::{self, World};
use factum_model::Refusal;
use factum_model::commands::{ListApiKeys, ListSessions};
use factum_runtime::{Caller, Secret};
use libfuzzer_sys::fuzz_target;

/// What a cursor begins with, decoded.
const MAC_BYTES: usize = 16;
const PURPOSES: [&str; 3] = ["feed", "list_sessions", "list_api_keys"];

fuzz_target!(|data: &[u8]| {
    let Some((way, rest)) = data.split_first() else { return };
    let purpose = PURPOSES[usize::from(way >> 2) % PURPOSES.len()];
    world::with(&AuthOptions::default(), |world| match way & 3 {
        0 => arbitrary(world, rest),
        1 => tampered(world, purpose, rest),
        2 => misused(world, purpose, rest),
        _ => sealed(world, purpose, rest),
    });
});

/// Any text. The fuzzer sees good cursors being compared and comes up with them; one that is exactly what sealing its own
/// content gives is no forgery.
fn arbitrary(world: &World, rest: &[u8]) {
    let Ok(cursor) = std::str::from_utf8(rest) else { return };
    for purpose in PURPOSES {
        let content = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| bytes.get(MAC_BYTES..).map(<[u8]>::to_vec));
        let sealed = |content: Vec<u8>| secret().seal(purpose, &world.caller.account, &content) == cursor;
        if !content.is_some_and(sealed) {
            assert_refused(used(world, &world.caller, purpose, cursor));
        }
    }
}

/// A good cursor with something changed in it. The rest is pairs of a place and what is done to the letter there.
fn tampered(world: &World, purpose: &str, rest: &[u8]) {
    let good = secret().seal(purpose, &world.caller.account, &[0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 1]);
    let mut letters = good.clone().into_bytes();
    for change in rest.chunks_exact(2) {
        let at = usize::from(change[0]) % letters.len().max(1);
        match change[1] {
            0 if !letters.is_empty() => drop(letters.remove(at)),
            1 => letters.insert(at, change[0]),
            other => letters.iter_mut().nth(at).into_iter().for_each(|letter| *letter ^= other),
        }
    }
    let Ok(cursor) = String::from_utf8(letters) else { return };
    let outcome = used(world, &world.caller, purpose, &cursor);
    if cursor == good {
        assert!(outcome.is_ok(), "{outcome:?}");
    } else {
        assert_refused(outcome);
    }
}

/// A cursor of somebody else, or for something else.
fn misused(world: &World, purpose: &str, rest: &[u8]) {
    let foreign = secret().seal(purpose, &world.other.account, rest);
    assert_refused(used(world, &world.caller, purpose, &foreign));
    for other in PURPOSES.into_iter().filter(|other| *other != purpose) {
        let cursor = secret().seal(other, &world.caller.account, rest);
        assert_refused(used(world, &world.caller, purpose, &cursor));
    }
    let cursor = Secret::new([8; 32]).seal(purpose, &world.caller.account, rest);
    assert_refused(used(world, &world.caller, purpose, &cursor));
}

/// A good seal around any content: whatever it leads to, it is ours.
fn sealed(world: &World, purpose: &str, rest: &[u8]) {
    let cursor = secret().seal(purpose, &world.caller.account, rest);
    match used(world, &world.caller, purpose, &cursor) {
        Ok(shown) => assert!(!world::is_foreign(shown.as_bytes()), "another account's: {shown}"),
        Err(refusal) => assert_refused(Err(refusal)),
    }
}

fn secret() -> Secret {
    Secret::new(world::SECRET)
}

/// What is shown behind a cursor.
fn used(world: &World, caller: &Caller, purpose: &str, cursor: &str) -> Result<String, Refusal> {
    let cursor_of = || Some(cursor.to_owned());
    world.tokio.block_on(async {
        match purpose {
            "feed" => {
                let page = world.runtime.feed(caller, Some(cursor), 10).await?;
                // The cursor that a page ends with leads on.
                world.runtime.feed(caller, Some(&page.cursor), 10).await.expect("a cursor of our own");
                Ok(page.events.iter().map(|event| String::from_utf8_lossy(&event.json).into_owned()).collect())
            }
            "list_sessions" => {
                let command = ListSessions { limit: Some(1), cursor: cursor_of() };
                world.runtime.call(caller, command).await.map(|page| format!("{page:?}"))
            }
            _ => {
                let command = ListApiKeys { limit: Some(1), cursor: cursor_of() };
                world.runtime.call(caller, command).await.map(|page| format!("{page:?}"))
            }
        }
    })
}

fn assert_refused(outcome: Result<String, Refusal>) {
    assert_eq!(outcome, Err(Refusal::invalid("the cursor is not valid here; start again without one")));
}
