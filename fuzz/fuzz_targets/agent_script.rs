//! Agent scripts: one that is accepted means the same as JSON, one that is refused says why in lines that name the file, and
//! neither takes long.

#![no_main]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use factum_agent::script::ScriptTools;
use factum_agent::{Script, Tools};
use factum_fuzz::time::within;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

const FILE: &str = "fuzz.toml";
/// The problems told at once, and one line that counts the rest.
const PROBLEMS_MAX: usize = 21;
/// Far more than a script takes, also when it is instrumented.
const PARSE_MAX: Duration = Duration::from_secs(2);

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match within(PARSE_MAX, "reading a script", || Script::parse(FILE, text)) {
        Ok(script) => accepted(text, script),
        Err(error) => {
            assert!((1..=PROBLEMS_MAX).contains(&error.problems.len()), "{} problems", error.problems.len());
            assert!(error.problems.iter().all(|problem| problem.starts_with("fuzz.toml:")), "{error}");
        }
    }
});

fn accepted(text: &str, script: Script) {
    let name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    assert!(!script.name.is_empty() && script.name.chars().all(name), "the name {:?}", script.name);
    let value: Value = match text.trim_start().starts_with('{') {
        true => serde_json::from_str(text).expect("an accepted script is JSON"),
        false => toml::from_str(text).expect("an accepted script is TOML"),
    };
    assert_eq!(Script::parse(FILE, &value.to_string()).as_ref(), Ok(&script), "as JSON it is another script");
    let catalog = ScriptTools::new(Arc::new(script)).catalog();
    let names: BTreeSet<&str> = catalog.iter().map(|entry| entry.tool_name.as_str()).collect();
    assert_eq!(names.len(), catalog.len(), "a tool is in the catalogue twice");
}
