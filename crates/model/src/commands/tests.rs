//! Params and results are read as they were written. Here because the macro that names every command is.

use std::error::Error;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::samples;

#[test]
fn params_and_results_survive() -> Result<(), Box<dyn Error>> {
    macro_rules! check_all {
        ($($params:ident,)*) => {$(
            check::<$params>()?;
            check::<<$params as Command>::Output>()?;
        )*};
    }
    for_each_command!(check_all);
    Ok(())
}

fn check<T: Serialize + DeserializeOwned + schemars::JsonSchema>() -> Result<(), Box<dyn Error>> {
    for value in samples::values::<T>() {
        let read: T = serde_json::from_value(value.clone()).map_err(|error| format!("{error} in {value:#}"))?;
        assert_eq!(serde_json::to_value(read)?, value, "{}", T::schema_name());
    }
    Ok(())
}

/// serde reads a struct from the list of its values, too, in an order that nobody promised.
#[test]
fn no_list_is_taken_for_an_object() {
    macro_rules! check_all {
        ($($params:ident,)*) => { $(check_lists::<$params>();)* };
    }
    for_each_command!(check_all);
    // With every value in its place.
    for (list, object) in [
        (json!([{ "x": 1 }, []]), json!({ "set": { "x": 1 }, "remove": [] })),
        (json!([[], {}]), json!({ "set": {}, "remove": [] })),
    ] {
        let update = |patch: Value| json!({ "channelId": "chan_1", "expectedVersion": 1, "metadataPatch": patch });
        assert!(serde_json::from_value::<UpdateChannel>(update(list)).is_err());
        assert!(serde_json::from_value::<UpdateChannel>(update(object)).is_ok());
    }
    let create = json!({ "members": [["agent://q", "owner"]] });
    assert!(serde_json::from_value::<CreateChannel>(create).is_err());
    let submit = json!({ "input": [["text", "hello"]] });
    assert!(serde_json::from_value::<SubmitTurn>(submit).is_err());
}

fn check_lists<T: DeserializeOwned + schemars::JsonSchema>() {
    for sample in samples::values::<T>() {
        for changed in with_a_list_for_each_object(&sample) {
            // What may be anything may be a list.
            let Err(error) = serde_json::from_value::<T>(changed.clone()) else { continue };
            let error = error.to_string();
            assert!(error.contains("invalid type: sequence"), "{}: {error} in {changed:#}", T::schema_name());
        }
    }
}

/// The value, once for each object in it, with an empty list in its place.
fn with_a_list_for_each_object(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(fields) => {
            let inner = fields.iter().flat_map(|(key, field)| {
                with_a_list_for_each_object(field).into_iter().map(move |changed| {
                    let mut fields = fields.clone();
                    fields.insert(key.clone(), changed);
                    Value::Object(fields)
                })
            });
            std::iter::once(json!([])).chain(inner).collect()
        }
        Value::Array(items) => {
            let inner = items.iter().enumerate().flat_map(|(at, item)| {
                with_a_list_for_each_object(item).into_iter().map(move |changed| {
                    let mut items = items.clone();
                    items[at] = changed;
                    Value::Array(items)
                })
            });
            inner.collect()
        }
        _ => Vec::new(),
    }
}
