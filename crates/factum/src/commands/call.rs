//! `factum call METHOD [PARAMS]`: any command of the registry, on a running server.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use factum_model::commands::COMMANDS;
use factum_model::registry::Kind;
use serde_json::{Value, json};

use crate::cli::App;
use crate::client::{Client, Remote};
use crate::failure::{Exit, Problem};
use crate::nearest::did_you_mean;
use crate::output::{BOLD, DIM};
use crate::params;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  factum call --list
  factum call submit_turn text=\"ask: what is your name?\"
  factum call get_session session_id=sess_... window.limit:=10
  factum call respond_action '{\"action_id\":\"act_...\",\"decision\":\"allow\"}'
  factum call create_session @session.json

submit_turn takes text=... for an input of one text.")]
pub(crate) struct Call {
    /// The command.
    #[arg(required_unless_present = "list")]
    method: Option<String>,
    /// A JSON object, @FILE, - for stdin, or key=text and key:=json pairs.
    params: Vec<String>,
    /// List all commands.
    #[arg(long, conflicts_with_all = ["method", "params"])]
    list: bool,
    /// How long to wait for the answer, in seconds.
    #[arg(long, default_value = "60", value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    #[command(flatten)]
    remote: Remote,
}

pub(crate) async fn run(call: Call, app: &App) -> Result<Exit> {
    let Some(method) = call.method.filter(|_| !call.list) else { return list(app) };
    if !COMMANDS.iter().any(|command| command.name == method) {
        let hint = did_you_mean(&method, COMMANDS.iter().map(|command| command.name));
        let problem = Problem::cannot_run(format!("there is no command {method:?}{hint}"));
        return Err(problem.advice("factum call --list names them all").into());
    }
    let params = with_text(&method, params::read(&call.params)?);
    let client = Client::new(&call.remote)?;
    let result = client.call(&method, &params, Duration::from_secs(call.timeout)).await?;
    app.output.json(&result)?;
    Ok(Exit::Ok)
}

/// `text=…` of `submit_turn`, which everybody types all the time, as the input it stands for.
fn with_text(method: &str, mut params: Value) -> Value {
    if let Some(object) = params.as_object_mut()
        && method == "submit_turn"
        && !object.contains_key("input")
        && let Some(text) = object.remove("text")
    {
        object.insert("input".to_owned(), json!([{ "type": "text", "text": text }]));
    }
    params
}

fn list(app: &App) -> Result<Exit> {
    if app.output.is_json() {
        let row = |command: &factum_model::registry::CommandInfo| {
            let (name, family, summary) = (command.name, command.family, command.summary.trim());
            json!({ "name": name, "family": family, "summary": summary, "scope": command.scope, "kind": command.kind })
        };
        let rows: Vec<Value> = COMMANDS.iter().map(row).collect();
        app.output.rows(&rows)?;
        return Ok(Exit::Ok);
    }
    let width = COMMANDS.iter().map(|command| command.name.len()).max().unwrap_or(0);
    let mut family = "";
    for command in COMMANDS {
        if command.family != family {
            let gap = if family.is_empty() { "" } else { "\n" };
            family = command.family;
            app.output.line(format_args!("{gap}{BOLD}{family}{BOLD:#}"))?;
        }
        let kind = if command.kind == Kind::Read { "reads " } else { "writes" };
        let (name, summary, scope) = (command.name, command.summary.trim(), command.scope);
        app.output.line(format_args!("  {name:<width$}  {DIM}{kind}{DIM:#}  {summary} {DIM}({scope}){DIM:#}"))?;
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_for_an_input_of_submit_turn_only() {
        let input = json!({ "input": [{ "type": "text", "text": "hi" }] });
        assert_eq!(with_text("submit_turn", json!({ "text": "hi" })), input);
        assert_eq!(with_text("submit_turn", input.clone()), input);
        assert_eq!(with_text("create_task", json!({ "text": "hi" })), json!({ "text": "hi" }));
    }
}
