//! What is written is what `serde_json` writes, byte for byte.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Encoded, put, put_text};
use crate::{Event, Fact, Timestamp};

fn check<T: Serialize + ?Sized>(value: &T) {
    let mut out = b"before".to_vec();
    let written = put(&mut out, value).map(|()| String::from_utf8(out.split_off(6)).unwrap());
    match (written, serde_json::to_string(value)) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs),
        (Err(_), Err(_)) => {}
        (ours, theirs) => panic!("{ours:?}, and serde_json says {theirs:?}"),
    }
}

/// Texts of every length around a chunk, with something to escape at any place or nowhere.
fn texts() -> impl Strategy<Value = String> {
    let plain = vec(prop_oneof![9 => proptest::char::range(' ', '~'), 1 => any::<char>()], 0..70);
    plain.prop_map(String::from_iter)
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::from),
            btree_map(texts(), inner, 0..8).prop_map(|fields| fields.into_iter().collect::<Value>()),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_written_as_serde_json_writes_it(value in values()) {
        check(&value);
    }

    #[test]
    fn any_text_is_written_as_serde_json_writes_it(text in texts()) {
        let mut out = Vec::new();
        put_text(&mut out, &text);
        prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
    }
}

/// Each length is looked through in another number of words.
#[test]
fn every_byte_is_escaped_wherever_it_stands() {
    for len in (0..10).chain([12, 15, 16, 17, 31, 32, 33, 45, 61, 62, 63, 64, 65]) {
        check("x".repeat(len).as_str());
        for (byte, at) in (0..0x80u8).flat_map(|byte| (0..len).map(move |at| (byte, at))) {
            let mut text = vec![b'x'; len];
            text[at] = byte;
            check(std::str::from_utf8(&text).unwrap());
        }
    }
}

#[derive(Serialize)]
enum Kind {
    Unit,
    Newtype(u8),
    Tuple(u8, &'static str),
    Struct { a: u8, b: Option<u8> },
    Empty {},
}

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
struct Newtype(&'static str);

#[derive(Serialize)]
struct Tuple(u8, u8);

#[derive(Serialize)]
struct Flat {
    first: u8,
    #[serde(flatten)]
    rest: BTreeMap<&'static str, u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<u8>,
    #[serde(rename = "a \"name\"")]
    named: (),
}

#[test]
fn every_shape_is_written_as_serde_json_writes_it() {
    let kinds = [Kind::Unit, Kind::Newtype(1), Kind::Tuple(1, "x"), Kind::Struct { a: 1, b: None }, Kind::Empty {}];
    check(&kinds);
    check(&(Unit, Newtype("a\nb"), Tuple(1, 2), ((),), 'é', '"', Some(()), None::<u8>));
    check(&Flat { first: 1, rest: BTreeMap::from([("x", 1), ("y", 2)]), absent: None, named: () });
    check(&(u128::MAX, i128::MIN, i8::MIN, u64::MAX, f32::MIN, 1.5f32, f64::NAN, f64::INFINITY, 1e300, 0.1 + 0.2));
    check(&std::net::Ipv4Addr::LOCALHOST);
    check(&format_args!("a \"{}\" and more of it than one chunk", "quoted\t"));
    check(&b"bytes"[..]);
}

#[test]
fn keys_are_texts_or_stand_for_one() {
    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Name {
        One,
        Other(u8),
    }
    check(&BTreeMap::from([("a\"b", 1)]));
    check(&BTreeMap::from([(1u8, 1), (2, 2)]));
    check(&BTreeMap::from([(i128::MIN, 1)]));
    check(&BTreeMap::from([(true, 1)]));
    check(&BTreeMap::from([('é', 1)]));
    check(&BTreeMap::from([(std::net::Ipv4Addr::LOCALHOST, 1)]));
    check(&BTreeMap::from([(Name::One, 1)]));
    for none in [BTreeMap::from([(Some(1), 1)]), BTreeMap::from([(None, 1)])] {
        check(&none);
    }
    check(&BTreeMap::from([(Name::Other(1), 1)]));
    check(&BTreeMap::from([((), 1)]));
    check(&BTreeMap::from([((1, 2), 1)]));
    check(&BTreeMap::from([(vec![1], 1)]));
    for number in [1.5, -0.0, f64::NAN] {
        check(&Pairs(number));
    }
}

/// A map with a number for its key.
struct Pairs(f64);

impl Serialize for Pairs {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, 1)])
    }
}

#[test]
fn what_is_json_already_goes_through_as_it_is() {
    let raw = RawValue::from_string(r#"{ "b" : 1.00, "a":[ ] }"#.to_owned()).unwrap();
    check(&json!({ "of": 1 }));
    check(&*raw);
    check(&(&*raw, [raw.clone()], BTreeMap::from([("x", raw.clone())])));
    assert_eq!(Encoded::of(&[&*raw]).unwrap().get(), format!("[{raw}]"));
}

/// The spelling of a time is kept for the next event, which may have another one.
#[test]
fn every_event_has_its_own_time() {
    let fact = Fact::samples().expect("samples parse").remove(0);
    let mut event = Event::sample(fact).expect("a sample");
    for seconds in [0, 1, 1, 0, 2] {
        event.timestamp = Timestamp::from_second(seconds).unwrap();
        assert_eq!(Event::decode(&event.encode().unwrap()).unwrap(), event);
    }
}

#[test]
fn every_fact_is_written_as_serde_json_writes_it() {
    for fact in Fact::samples().expect("samples parse") {
        check(&fact.payload());
    }
}
