//! Something to begin with: an event of every class and params of every command, made from the schemas once.

use std::sync::OnceLock;

use factum_model::commands::COMMANDS;
use factum_model::{Event, Fact};
use serde_json::{Value, json};

use crate::random::Random;

pub fn event(random: &mut Random) -> &'static Value {
    static EVENTS: OnceLock<Vec<Value>> = OnceLock::new();
    let sample = |fact: Fact| serde_json::to_value(Event::sample(fact).expect("an event")).expect("JSON");
    random.pick(EVENTS.get_or_init(|| Fact::samples().expect("facts").into_iter().map(sample).collect()))
}

/// Params of the command at this place of the catalogue.
pub fn params(random: &mut Random, at: usize) -> &'static Value {
    random.pick(&all_params()[at])
}

pub fn all_params() -> &'static [Vec<Value>] {
    static PARAMS: OnceLock<Vec<Vec<Value>>> = OnceLock::new();
    PARAMS.get_or_init(|| COMMANDS.iter().map(|command| command.samples()).collect())
}

/// A command and params for it.
pub fn command(random: &mut Random) -> (&'static str, &'static Value) {
    let at = random.below(COMMANDS.len());
    (COMMANDS[at].name, params(random, at))
}

/// A JSON-RPC request of any command.
pub fn request(random: &mut Random) -> Value {
    let (method, params) = command(random);
    json!({ "jsonrpc": "2.0", "id": random.below(10), "method": method, "params": params })
}
