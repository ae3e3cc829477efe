//! JSON as a fuzzer wants it: mutated as a tree rather than as bytes, and measured without a parser.

use serde_json::{Map, Number, Value};

use crate::random::Random;

/// How many changes one mutation makes at most.
const EDITS_MAX: usize = 4;

/// Values that have surprised parsers before.
const ODD: &[&str] = &[
    "null",
    "true",
    "0",
    "-0",
    "-1",
    "1.5",
    "1e3",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "9007199254740993",
    "5e-324",
    "1.7976931348623157e308",
    "0.1",
    "123456789.12345678",
    "\"\"",
    "\" \"",
    "\"\\u0000\"",
    "\"\\n\"",
    "\"\\ud83d\\ude00\"",
    "\"\u{2028}\"",
    "\"2026-01-02T03:04:05Z\"",
    "\"-009999-01-02T01:59:59.000000001Z\"",
    "\"9999-12-30T22:00:00.999999999Z\"",
    "\"1985-04-12T23:20:60Z\"",
    "[]",
    "{}",
    "[[]]",
    "{\"type\":\"text\",\"text\":\"a\"}",
];

/// A libFuzzer mutation of `data`, whose first `head` bytes are not JSON. `words` are texts worth trying; `sample` gives
/// something to begin with where the rest is no JSON yet.
pub fn mutate(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    head: usize,
    words: &[String],
    sample: impl FnOnce(&mut Random, &mut [u8]) -> Value,
) -> usize {
    let mut random = Random::new(seed);
    if random.one_in(4) || max_size <= head {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    let parsed = data.get(head..size).and_then(|rest| serde_json::from_slice::<Value>(rest).ok());
    let mut value = match parsed {
        Some(value) if !random.one_in(50) => value,
        _ if random.one_in(2) => return libfuzzer_sys::fuzzer_mutate(data, size, max_size),
        _ => sample(&mut random, &mut data[..head]),
    };
    for _ in 0..random.below(EDITS_MAX) + 1 {
        edit(&mut value, &mut random, words);
    }
    let text = value.to_string();
    match data.get_mut(head..max_size.min(head + text.len())).filter(|room| room.len() == text.len()) {
        Some(room) => room.copy_from_slice(text.as_bytes()),
        None => return libfuzzer_sys::fuzzer_mutate(data, size, max_size),
    }
    head + text.len()
}

/// Changes one node somewhere in the tree.
fn edit(value: &mut Value, random: &mut Random, words: &[String]) {
    let count = nodes(value);
    let donor = node(value, &mut random.below(count)).cloned().unwrap_or_default();
    let Some(target) = node(value, &mut random.below(count)) else { return };
    match random.below(9) {
        0 => *target = donor,
        1 => *target = Value::Array(vec![target.take()]),
        2 => *target = Value::Object(Map::from_iter([(word(random, words), target.take())])),
        3 => *target = Value::String(word(random, words)),
        4 => *target = serde_json::from_str(*random.pick(ODD)).unwrap_or_default(),
        _ => match target {
            Value::Object(fields) => edit_object(fields, donor, random, words),
            Value::Array(items) => edit_array(items, donor, random),
            Value::String(text) => edit_text(text, random, words),
            Value::Number(number) => *number = near(number, random),
            other => *other = Value::Bool(random.one_in(2)),
        },
    }
}

fn edit_object(fields: &mut Map<String, Value>, donor: Value, random: &mut Random, words: &[String]) {
    let key = fields.keys().nth(random.below(fields.len())).cloned();
    match (key, random.below(3)) {
        (Some(key), 0) => drop(fields.remove(&key)),
        (Some(key), 1) => drop(fields.insert(key, donor)),
        _ => drop(fields.insert(word(random, words), donor)),
    }
}

fn edit_array(items: &mut Vec<Value>, donor: Value, random: &mut Random) {
    let at = random.below(items.len());
    match random.below(3) {
        0 if !items.is_empty() => drop(items.remove(at)),
        1 if !items.is_empty() => items.push(items[at].clone()),
        _ => items.push(donor),
    }
}

fn edit_text(text: &mut String, random: &mut Random, words: &[String]) {
    let mut chars: Vec<char> = text.chars().collect();
    let at = random.below(chars.len() + 1);
    match random.below(5) {
        0 => chars.truncate(at),
        1 => chars.insert(at, *random.pick(&['\0', '\n', '"', '\\', '/', ':', '{', '}', 'é', '\u{fffd}', '😀', ' '])),
        2 => chars.extend(word(random, words).chars()),
        3 if !chars.is_empty() => {
            let at = random.below(chars.len());
            chars[at] = char::from(b' ' + random.below(95) as u8);
        }
        _ => chars = word(random, words).chars().collect(),
    }
    *text = chars.into_iter().collect();
}

fn near(number: &Number, random: &mut Random) -> Number {
    match number.as_u64() {
        Some(whole) => match random.below(4) {
            0 => whole.wrapping_add(1).into(),
            1 => whole.wrapping_sub(1).into(),
            2 => (whole ^ (1 << random.below(64))).into(),
            _ => (random.below(1 << 16) as u64).into(),
        },
        None => (random.below(256) as i64 - 128).into(),
    }
}

fn word(random: &mut Random, words: &[String]) -> String {
    if words.is_empty() { "word".to_owned() } else { random.pick(words).clone() }
}

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(fields) => fields.values().map(nodes).sum(),
        _ => 0,
    }
}

fn node<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| node(item, at)),
        Value::Object(fields) => fields.values_mut().find_map(|item| node(item, at)),
        _ => None,
    }
}

/// Every text in a value, keys among them.
pub fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.iter().for_each(|(key, item)| {
            found.push(key.clone());
            texts(item, found);
        }),
        _ => {}
    }
}

/// How deep a JSON text is nested: by its brackets, whatever a parser makes of them.
pub fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The key by which serde_json knows its own `RawValue`: it reads the text behind it as JSON, whatever the caller meant. The
/// transports refuse it.
pub const RESERVED_KEY: &str = "$serde_json::private::RawValue";

/// Whether there is a text in some JSON, followed by a colon, that spells the reserved key, with or without escapes.
pub fn has_reserved_key(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some(start) = rest.iter().position(|byte| *byte == b'"') {
        let Some(len) = end_of_text(&rest[start + 1..]) else { return false };
        let (text, behind) = rest[start..].split_at(len + 2);
        let is_key = behind.trim_ascii_start().starts_with(b":");
        if is_key && serde_json::from_slice::<String>(text).is_ok_and(|key| key == RESERVED_KEY) {
            return true;
        }
        rest = behind;
    }
    false
}

/// Where the quote is that ends a text.
fn end_of_text(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}
