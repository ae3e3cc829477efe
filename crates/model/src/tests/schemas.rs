//! The generated documents are valid JSON Schema, and agree with what is really written.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::{Value, json};

use crate::commands::COMMANDS;
use crate::event::Event;
use crate::events::{EVENTS, Fact};
use crate::registry::Kind;
use crate::schema;

#[test]
fn every_document_is_a_json_schema() -> Result<(), Box<dyn Error>> {
    let events = EVENTS.iter().filter_map(|info| schema::event_schema(info.type_name));
    let commands = COMMANDS.iter().filter_map(|info| schema::command_schema(info.name));
    let documents: Vec<_> = events.chain(commands.flat_map(|command| [command.params, command.result])).collect();
    assert_eq!(documents.len(), EVENTS.len() + 2 * COMMANDS.len());
    for document in documents.iter().chain([&schema::bundle()]) {
        assert_eq!(document["$schema"], schema::DIALECT);
        jsonschema::draft202012::new(document).map_err(|error| format!("{}: {error}", document["title"]))?;
    }
    Ok(())
}

#[test]
fn unknown_names_have_no_document() {
    assert_eq!(schema::event_schema("no.such.event"), None);
    assert_eq!(schema::command_schema("no_such_command"), None);
}

#[test]
fn every_event_fits_its_own_schema() -> Result<(), Box<dyn Error>> {
    let validators = EVENTS
        .iter()
        .map(|info| {
            let document = schema::event_schema(info.type_name).ok_or(info.type_name)?;
            Ok((info.type_name, jsonschema::draft202012::new(&document)?))
        })
        .collect::<Result<BTreeMap<_, _>, Box<dyn Error>>>()?;
    for fact in Fact::samples()? {
        let validator = &validators[fact.type_name()];
        let mut event = serde_json::to_value(Event::sample(fact)?)?;
        validator.validate(&event).map_err(|error| format!("{error} in {event:#}"))?;
        event["type"] = json!("another.class");
        assert!(!validator.is_valid(&event), "the class is part of the schema");
    }
    Ok(())
}

/// schemars numbers types that share a name; a consumer would meet `Scope2`.
#[test]
fn no_two_types_share_a_name() {
    let bundle = schema::bundle();
    let numbered: Vec<_> = bundle["$defs"]
        .as_object()
        .into_iter()
        .flat_map(|definitions| definitions.keys())
        .filter(|name| name.ends_with(|last: char| last.is_ascii_digit()))
        .collect();
    assert_eq!(numbered, Vec::<&String>::new());
}

/// It is no command and no fact, and clients make types of it all the same.
#[test]
fn what_a_stream_of_a_channel_takes_and_sends_has_a_schema() {
    let bundle = schema::bundle();
    for name in ["StreamChannel", "StreamEnvelope", "ControlEvent", "PresenceEvent"] {
        assert!(bundle["$defs"][name].is_object(), "{name}");
    }
}

#[test]
fn mutations_take_a_key_and_say_what_they_wrote() {
    for info in COMMANDS {
        let has = |document: &Value, field: &str| properties(document).is_some_and(|object| object.contains_key(field));
        let command = schema::command_schema(info.name);
        // Messaging speaks as seed 002 does: camelCase, and results that are the seed's objects alone.
        let messaging = info.family == "messaging";
        let key = if messaging { "idempotencyKey" } else { "idempotency_key" };
        let takes_key = command.as_ref().is_some_and(|command| has(&command.params, key));
        let says_sequence = command.as_ref().is_some_and(|command| has(&command.result, "sequence"));
        let mutates = info.kind == Kind::Mutation;
        assert_eq!((takes_key, says_sequence), (mutates, mutates && !messaging), "{}", info.name);
    }
}

/// The properties of a document whose root is one reference.
fn properties(document: &Value) -> Option<&serde_json::Map<String, Value>> {
    let name = document["$ref"].as_str()?.strip_prefix("#/$defs/")?;
    document["$defs"][name]["properties"].as_object()
}
