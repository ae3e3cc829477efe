//! `factum.toml` and the `FACTUM_*` variables: a setting means the same from both, bounds are never 0, and a refusal names
//! where the value came from. The modules are those of the binary, which has no library to link.

#![no_main]

#[allow(dead_code, unreachable_pub)]
#[path = "../../crates/factum/src/config"]
mod config {
    pub(crate) mod issuers;
    pub(crate) mod load;
    pub(crate) mod peers;
    pub(crate) mod settings;
    pub(crate) mod value;
    pub(crate) mod words;
}

#[allow(dead_code)]
#[path = "../../crates/factum/src/nearest.rs"]
mod nearest;

mod server {
    pub(crate) use factum_api::TransportLimits;
}

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use config::load::{Flags, Loaded};
use config::settings::{Setting, Settings};
use factum_fuzz::time::within;
use libfuzzer_sys::fuzz_target;

const FILE: &str = "factum.toml";
const LOAD_MAX: Duration = Duration::from_secs(2);

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match within(LOAD_MAX, "reading the configuration", || load(Some(text), &BTreeMap::new())) {
        Ok(loaded) => accepted(text, &loaded),
        Err(error) => assert!(format!("{error:#}").contains(FILE), "{error:#}"),
    }
    variables(text);
});

fn load(text: Option<&str>, env: &BTreeMap<String, String>) -> anyhow::Result<Loaded> {
    Loaded::from_sources(text.map(|text| (Path::new(FILE), text)), env, &Flags::default())
}

fn accepted(text: &str, from_file: &Loaded) {
    let table: toml::Table = toml::from_str(text).expect("an accepted file is TOML");
    let mut env = BTreeMap::new();
    for setting in Settings::sections().into_iter().flat_map(|section| section.settings) {
        let value = table.get(setting.section).and_then(|section| section.get(setting.name));
        assert_eq!(from_file.is_given(setting.section, setting.name), value.is_some());
        if let Some(text) = value.and_then(|value| as_text(&setting, value)) {
            env.insert(setting.env, text);
        }
    }
    let from_env = load(None, &env).unwrap_or_else(|error| panic!("{error:#}, from {env:?}"));
    assert_eq!(shown(&from_env.settings), shown(&from_file.settings), "from {env:?}");
    let limits = &from_file.settings.limits;
    assert!(limits.body_bytes_max > 0 && limits.batch_max > 0 && limits.snapshot_events > 0, "a bound of nothing");
}

/// Everything but what only the file can say: peers, and texts in lists that hold what separates them in a variable.
fn shown(settings: &Settings) -> String {
    let mut settings = settings.clone();
    settings.peers.clear();
    settings.agents.scripts.clear();
    settings.a2a.required_extensions.clear();
    format!("{settings:?}")
}

fn as_text(setting: &Setting, value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        toml::Value::Array(networks) if setting.name == "allow" => {
            Some(networks.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>().join(","))
        }
        toml::Value::Array(_) if setting.name == "issuers" => serde_json::to_string(value).ok(),
        _ => None,
    }
}

/// The same text as the lines of an environment.
fn variables(text: &str) {
    if !text.contains("FACTUM_") {
        return;
    }
    let env: BTreeMap<String, String> =
        text.lines().filter_map(|line| line.split_once('=')).map(|(name, value)| (name.into(), value.into())).collect();
    if let Err(error) = load(None, &env) {
        let shown = format!("{error:#}");
        assert!(env.keys().any(|name| shown.starts_with(name.as_str())), "{shown}");
    }
}
