//! The agents of a runtime, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use factum_model::report::ModelIntent;
use factum_model::value::Part;

use crate::model::Model;
use crate::script::{Script, ScriptModel, ScriptTools};
use crate::tools::Tools;

/// Somebody to give a turn to: a model and the tools it may use.
#[derive(Clone)]
pub struct Agent {
    pub name: String,
    pub description: String,
    /// The media types it takes over A2A; empty where those are the usual ones, text and JSON.
    pub accepts: Vec<String>,
    pub model: Arc<dyn Model>,
    pub tools: Arc<dyn Tools>,
}

/// All agents of a runtime. There is at least one, and one of them answers where a turn names none.
#[derive(Clone)]
pub struct Agents {
    by_name: BTreeMap<String, Arc<Agent>>,
    default_name: String,
}

/// Why a set of agents cannot be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAgents {
    #[error("there is no agent; give at least one script")]
    None,
    #[error("two agents are called {0:?}; rename one of them")]
    Twice(String),
}

impl Agent {
    /// What it does first with a turn: it asks its model. Known before the turn starts, so that starting it and
    /// announcing the request can be one commit.
    pub fn opening(&self) -> ModelIntent {
        let model = &self.model;
        ModelIntent { provider: model.provider().to_owned(), model: model.name().to_owned(), effect: model.effect() }
    }

    /// Whether a peer that sends this input gets a plain message back and no task.
    pub fn replies_with_message(&self, input: &[Part]) -> bool {
        self.model.replies_with_message(input)
    }

    /// An agent that follows a script.
    pub fn from_script(script: Script) -> Agent {
        let script = Arc::new(script);
        Agent {
            name: script.name.clone(),
            description: script.description.clone(),
            accepts: script.accepts.clone(),
            model: Arc::new(ScriptModel::new(Arc::clone(&script))),
            tools: Arc::new(ScriptTools::new(script)),
        }
    }
}

impl Agents {
    /// These agents; the first is the default.
    pub fn new(agents: Vec<Agent>) -> Result<Agents, BadAgents> {
        let default_name = agents.first().ok_or(BadAgents::None)?.name.clone();
        let mut by_name = BTreeMap::new();
        for agent in agents {
            let name = agent.name.clone();
            if by_name.insert(name.clone(), Arc::new(agent)).is_some() {
                return Err(BadAgents::Twice(name));
            }
        }
        Ok(Agents { by_name, default_name })
    }

    /// One agent per script; the first is the default.
    pub fn from_scripts(scripts: Vec<Script>) -> Result<Agents, BadAgents> {
        Agents::new(scripts.into_iter().map(Agent::from_script).collect())
    }

    /// The agents that come with the binary: `demo`, which is the default, and `waiting`.
    pub fn demo() -> Agents {
        let agents = [Script::demo(), Script::waiting()].map(|script| Arc::new(Agent::from_script(script)));
        let default_name = agents[0].name.clone();
        Agents { by_name: agents.into_iter().map(|agent| (agent.name.clone(), agent)).collect(), default_name }
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Agent>> {
        self.by_name.get(name)
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    pub fn default_name(&self) -> &str {
        &self.default_name
    }
}
