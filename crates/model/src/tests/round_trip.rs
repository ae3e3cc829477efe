//! What is written can be read, and nothing is lost on the way.

use std::error::Error;

use serde_json::{Value, json};

use crate::event::Event;
use crate::events::Fact;
use crate::samples;

#[test]
fn every_field_of_every_payload_survives() -> Result<(), Box<dyn Error>> {
    for (type_name, payload) in samples::payloads() {
        let fact = Fact::decode(type_name, &payload.to_string())
            .map_err(|error| format!("{type_name}: {error}\n{payload:#}"))?;
        assert_eq!(fact.type_name(), type_name);
        assert_eq!(serde_json::to_value(fact.payload())?, payload, "{type_name}");
    }
    Ok(())
}

#[test]
fn events_are_read_as_they_were_written() -> Result<(), Box<dyn Error>> {
    for fact in Fact::samples()? {
        let event = Event::sample(fact)?;
        let bytes = event.encode()?;
        assert_eq!(Event::decode(&bytes)?, event);
        assert_eq!(serde_json::from_slice::<Event>(&bytes)?.encode()?, bytes);
    }
    Ok(())
}

/// Flattened records share one object with their neighbours: absent options must stay absent there too.
#[test]
fn what_is_absent_is_not_written() -> Result<(), Box<dyn Error>> {
    for (type_name, least) in [
        ("task.progress", json!({ "reported_by": "a" })),
        ("task.profile.resolved", json!({})),
        ("channel.connected", json!({ "transport": "sse", "peer_role": "client" })),
        ("session.updated", json!({ "updated_by": "a" })),
    ] {
        let fact = Fact::decode(type_name, &least.to_string())?;
        assert_eq!(serde_json::to_value(fact.payload())?, least, "{type_name}");
    }
    Ok(())
}

#[test]
fn what_a_newer_writer_adds_is_ignored() -> Result<(), Box<dyn Error>> {
    for (type_name, mut payload) in samples::payloads() {
        let known = Fact::decode(type_name, &payload.to_string())?;
        payload["field_of_the_future"] = Value::Bool(true);
        assert_eq!(Fact::decode(type_name, &payload.to_string())?, known, "{type_name}");
    }
    Ok(())
}
