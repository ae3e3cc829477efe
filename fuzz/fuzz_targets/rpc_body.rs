//! The body of `POST /rpc`, from its bytes to the answer of a runtime in memory: single requests, batches, notifications.
//! Every request is owed exactly one well-formed answer under its own id, notifications none, and nothing is `internal`.

#![no_main]

use factum_api::{AuthOptions, TransportLimits};
use factum_fuzz::{json, rpc, samples, world};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|data: &[u8]| {
    if world::is_foreign(data) {
        return;
    }
    let limits = TransportLimits::default();
    let expected = rpc::expected(data, limits.batch_max);
    let answer = world::with(&AuthOptions::default(), |world| {
        let answer = world.tokio.block_on(world.door.rpc(&world.caller, data));
        assert!(!answer.as_deref().is_some_and(world::is_foreign), "something of another account is in the answer");
        answer
    });
    rpc::judge(&expected, answer.as_deref());
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    json::mutate(data, size, max_size, seed, 0, world::words(), |random, _| match random.one_in(4) {
        true => (0..random.below(4)).map(|_| samples::request(random)).collect(),
        false => samples::request(random),
    })
});
