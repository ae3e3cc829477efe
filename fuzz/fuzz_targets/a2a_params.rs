//! The params of A2A's operations, in every dialect: what is refused is refused as the client's fault with a field that is
//! named, what is understood can be written in the words of 1.0, and reads there as the same request.
//!
//! The first byte picks the dialect, the second the operation, the rest is JSON.

#![no_main]

use factum_api::fuzzing::a2a::{Dialect, Name, Operation};
use factum_api::fuzzing::{a2a_params, lf};
use factum_fuzz::json;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::{Value, json};

const DIALECTS: [Dialect; 5] = [Dialect::V1_0, Dialect::V0_3, Dialect::V0_3Http, Dialect::April2025, Dialect::Either];

fuzz_target!(|data: &[u8]| {
    let [dialect, name, rest @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    // The transports refuse this key, and anything deep, before params are read.
    if json::has_reserved_key(rest) || json::depth(rest) > 64 {
        return;
    }
    let dialect = DIALECTS[usize::from(*dialect) % DIALECTS.len()];
    let name = Name::ALL[usize::from(*name) % Name::ALL.len()];
    match a2a_params(dialect, name, text) {
        Ok(operation) => reads_the_same(name, &operation),
        Err(error) => {
            let expected = [lf::error_code::INVALID_PARAMS, lf::error_code::METHOD_NOT_FOUND];
            assert!(expected.contains(&error.code), "{dialect:?} {name:?}: {error:?}");
            assert!(!error.message.is_empty());
        }
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    json::mutate(data, size, max_size, seed, 2, factum_fuzz::world::words(), |random, head| {
        head[0] = random.below(DIALECTS.len()) as u8;
        head[1] = random.below(Name::ALL.len()) as u8;
        sample(random.below(4))
    })
});

/// Something to begin with, in the words of each dialect.
fn sample(at: usize) -> Value {
    match at {
        0 => {
            json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "x" }, { "raw": "AAE=" }] },
            "configuration": { "historyLength": 1, "returnImmediately": true } })
        }
        1 => {
            json!({ "message": { "kind": "message", "messageId": "m", "role": "user", "parts": [{ "kind": "text", "text": "x" },
            { "kind": "file", "file": { "bytes": "AAE=" } }, { "kind": "data", "data": {} }] }, "configuration": { "blocking": false } })
        }
        2 => {
            json!({ "id": "t", "sessionId": "s", "message": { "role": "user", "parts": [{ "type": "text", "text": "x" }] } })
        }
        _ => json!({ "id": "t", "taskId": "t", "historyLength": 0, "pageSize": 1, "url": "u",
            "pushNotificationConfig": { "url": "u", "authentication": { "schemes": ["Bearer"] } } }),
    }
}

fn reads_the_same(name: Name, operation: &Operation) {
    let Some(written) = written(operation) else { return };
    // Without a configuration id, 1.0 asks for all of them.
    let name = if matches!(operation, Operation::AnyPushConfig(_)) { Name::ListPushConfigs } else { name };
    let again = a2a_params(Dialect::V1_0, name, &written.to_string());
    let again = again.unwrap_or_else(|error| panic!("{written} was understood and is refused: {error:?}"));
    assert_eq!(self::written(&again), Some(written));
}

/// The request of an operation, in the words of 1.0.
fn written(operation: &Operation) -> Option<Value> {
    Some(match operation {
        Operation::SendMessage(sent) | Operation::StreamMessage(sent) => json!(sent.request),
        Operation::GetTask(request) => json!(request),
        Operation::ListTasks(request) => json!(request),
        Operation::CancelTask(request) => json!(request),
        Operation::Subscribe(request, _) => json!(request),
        Operation::CreatePushConfig(config) | Operation::CreatePushConfigAhead(config) => json!(config),
        Operation::GetPushConfig(request) => json!(request),
        Operation::AnyPushConfig(request) | Operation::ListPushConfigs(request) => json!(request),
        Operation::DeletePushConfig(request) => json!(request),
        Operation::ExtendedCard(_) => return None,
    })
}
