//! Events as they are stored: what decodes is written back the same, fits on one line, and survives `?casing=camel`.

#![no_main]

use factum_fuzz::{json, samples, world};
use factum_model::Event;
use factum_model::casing::{FREE_FORM, to_camel};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::{Map, Value};

fuzz_target!(|data: &[u8]| {
    let Ok(event) = Event::decode(data) else { return };
    // No stored event has this key: the transports refuse it.
    if json::has_reserved_key(data) {
        return;
    }
    let bytes = event.encode().expect("what was read can be written");
    let again = Event::decode(&bytes).expect("what was written can be read");
    assert_eq!(again, event);
    assert_eq!(again.encode().expect("and written again"), bytes);
    assert_eq!(serde_json::from_slice::<Event>(&bytes).expect("inside of other JSON too"), event);
    // A record without a NUL cannot pose as a frame's header, and one without line breaks is one line of an event stream.
    assert!(bytes.iter().all(|byte| *byte >= b' '), "a control character is written as it is");
    // Lists that may be left out are written empty; beyond that nothing gets deeper than it was.
    assert!(json::depth(&bytes) <= json::depth(data) + 2, "deeper than it was sent");
    let value: Value = serde_json::from_slice(&bytes).expect("an event is JSON");
    assert_eq!(from_camel(&to_camel(&value)), value, "another event in camelCase");
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    json::mutate(data, size, max_size, seed, 0, world::words(), |random, _| samples::event(random).clone())
});

/// The way back, which the product does not need.
fn from_camel(event: &Value) -> Value {
    let Value::Object(envelope) = event else { return event.clone() };
    let back = |(key, value): (&String, &Value)| {
        let value = if key == "payload" { fields(value) } else { value.clone() };
        (snake(key), value)
    };
    Value::Object(envelope.iter().map(back).collect())
}

fn fields(value: &Value) -> Value {
    match value {
        Value::Object(all) => Value::Object(all.iter().map(field).collect::<Map<_, _>>()),
        Value::Array(items) => Value::Array(items.iter().map(fields).collect()),
        other => other.clone(),
    }
}

fn field((key, value): (&String, &Value)) -> (String, Value) {
    let key = snake(key);
    let value = if FREE_FORM.contains(&key.as_str()) { value.clone() } else { fields(value) };
    (key, value)
}

fn snake(camel: &str) -> String {
    let mut name = String::new();
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
