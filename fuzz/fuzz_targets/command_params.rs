//! The params of every command: what decodes is written back the same, and its digest, to which idempotency keys are bound,
//! does not change on the way. The first byte picks the command, the rest is its JSON.

#![no_main]

use std::fmt::Debug;

use factum_engine::params_digest;
use factum_fuzz::{json, samples, world};
use factum_model::Command;
use factum_model::commands::*;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

macro_rules! checks {
    ($($command:ident,)*) => { const CHECKS: &[fn(&str)] = &[$(check::<$command>),*]; };
}
factum_model::for_each_command!(checks);

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    CHECKS[usize::from(*first) % CHECKS.len()](text);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    json::mutate(data, size, max_size, seed, 1, world::words(), |random, head| {
        let at = random.below(COMMANDS.len());
        head[0] = at as u8;
        samples::params(random, at).clone()
    })
});

fn check<C: Command + PartialEq + Debug>(text: &str) {
    let Ok(command) = serde_json::from_str::<C>(text) else { return };
    // The transports refuse this key before a command is read.
    if json::has_reserved_key(text.as_bytes()) {
        return;
    }
    let written = serde_json::to_string(&command).expect("what was read can be written");
    let again: C = serde_json::from_str(&written).expect("what was written can be read");
    assert_eq!(again, command, "{}", C::NAME);
    assert_eq!(serde_json::to_string(&again).expect("and written again"), written, "{}", C::NAME);
    assert_eq!(again.idempotency_key(), command.idempotency_key());
    assert_eq!(params_digest(&again), params_digest(&command), "{}", C::NAME);
    assert!(json::depth(written.as_bytes()) <= json::depth(text.as_bytes()) + 2, "deeper than it was sent");
}
