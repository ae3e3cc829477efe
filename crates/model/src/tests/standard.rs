//! Events in camelCase fit the published schema, where that is at hand.

use std::error::Error;
use std::path::Path;

use serde_json::Value;

use crate::casing::to_camel;
use crate::event::Event;
use crate::events::Fact;

#[test]
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
fn events_in_camel_case_fit_the_published_schema() -> Result<(), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/standard/agentruntime-event.schema.json");
    let Ok(text) = std::fs::read(&path) else {
        eprintln!("skipped: {} is not there", path.display());
        return Ok(());
    };
    let document: Value = serde_json::from_slice(&text)?;
    let classes = document["properties"]["type"]["enum"].as_array().ok_or("the schema lists its classes")?;
    let validator = jsonschema::draft202012::options().should_validate_formats(true).build(&document)?;
    let mut checked = 0;
    for fact in Fact::samples()? {
        if !classes.iter().any(|class| class == fact.type_name()) {
            continue;
        }
        let event = to_camel(&serde_json::to_value(Event::sample(fact)?)?);
        validator.validate(&event).map_err(|error| format!("{error} in {event:#}"))?;
        for required in ["eventId", "sessionId", "toolCallId", "modelRequestId", "schemaVersion", "traceId"] {
            assert!(event[required].is_string(), "{required} in {event:#}");
        }
        checked += 1;
    }
    assert!(checked > 100, "{checked} events were checked");
    Ok(())
}
