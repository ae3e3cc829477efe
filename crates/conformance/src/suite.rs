//! The suites as they are on disk: documents, suites, tests, steps.
//!
//! Only what steers a run has a type here; what is compared (`params`, `expect`, …) stays a value, because its keys are the
//! server's. A file that asks for something this runner does not know is refused, not half understood.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::binding::Binding;

/// The major version of the format that is understood.
const FORMAT_MAJOR: &str = "1";

#[derive(Debug, Deserialize)]
struct Document {
    acts_version: String,
    #[serde(default)]
    variables: Map<String, Value>,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    suites: Vec<Suite>,
}

/// A named group of tests.
#[derive(Debug, Deserialize)]
pub(crate) struct Suite {
    pub id: String,
    #[serde(default)]
    tags: Vec<String>,
    pub tests: Vec<Test>,
    /// Of the document it stands in.
    #[serde(skip)]
    pub variables: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Test {
    pub id: String,
    pub level: Level,
    #[serde(default)]
    pub tags: Vec<String>,
    /// Empty: every binding.
    #[serde(default)]
    transport: Vec<Binding>,
    #[serde(default)]
    pub preconditions: Preconditions,
    pub steps: Vec<Step>,
    #[serde(default)]
    pub assertions: Vec<Assertion>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Must,
    Should,
    May,
}

/// What a server has to say of itself for a test to be about it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Preconditions {
    #[serde(default)]
    pub capabilities: Map<String, Value>,
    #[serde(default)]
    pub skills: Vec<SkillId>,
    #[serde(default)]
    pub extensions: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SkillId {
    pub id: String,
}

/// One step. Exactly one of `operation`, `raw`, `client_response` and `assertion` says what it does.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub id: String,
    #[serde(default)]
    #[allow(dead_code, reason = "prose, for people who read the suite")]
    description: Option<String>,
    #[serde(default)]
    pub operation: Option<String>,
    #[serde(default)]
    pub params: Map<String, Value>,
    #[serde(default)]
    pub raw: Option<Raw>,
    #[serde(default)]
    pub client_response: Option<ClientResponse>,
    #[serde(default)]
    pub expect_parsed: Option<Value>,
    #[serde(default)]
    pub assertion: Option<Assertion>,
    #[serde(default)]
    pub expect: Option<Map<String, Value>>,
    #[serde(default)]
    pub expect_error: Option<Map<String, Value>>,
    #[serde(default)]
    pub expect_stream: Option<ExpectStream>,
    #[serde(default)]
    pub capture: Map<String, Value>,
    #[serde(default)]
    pub assertions: Vec<Assertion>,
    #[serde(default)]
    pub repeat: Option<Repeat>,
    #[serde(default)]
    pub delay_ms: Option<u64>,
}

/// A request exactly as it stands.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Raw {
    pub method: String,
    pub path: String,
    #[serde(default)]
    pub headers: Map<String, Value>,
    #[serde(default)]
    pub body: Option<Value>,
    #[serde(default)]
    pub body_raw: Option<String>,
}

/// A payload for a client to understand.
#[derive(Debug, Deserialize)]
pub(crate) struct ClientResponse {
    pub operation: String,
    pub wire_payload: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Assertion {
    #[serde(default)]
    #[allow(dead_code, reason = "a name, for people who read the suite")]
    id: Option<String>,
    #[serde(default)]
    #[allow(dead_code, reason = "prose, for people who read the suite")]
    description: Option<String>,
    pub source: String,
    #[serde(default)]
    pub path: Option<String>,
    #[serde(default, rename = "match")]
    pub matches: Option<Value>,
    #[serde(default)]
    pub any: Option<Collection>,
    #[serde(default)]
    pub all: Option<Collection>,
    #[serde(default)]
    pub none: Option<Collection>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Collection {
    pub path: String,
    #[serde(rename = "match")]
    pub matches: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectStream {
    #[serde(default)]
    pub min_count: Option<usize>,
    #[serde(default)]
    pub max_count: Option<usize>,
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    #[serde(default)]
    pub ordering: Option<Ordering>,
    #[serde(default)]
    pub events: Vec<Map<String, Value>>,
    #[serde(default)]
    pub final_event: Option<Value>,
    #[serde(default)]
    pub each_event: Option<Value>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ordering {
    MonotonicState,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repeat {
    pub until: String,
    #[serde(default = "Repeat::usual_attempts")]
    pub max_attempts: u32,
    #[serde(default = "Repeat::usual_delay_ms")]
    pub delay_ms: u64,
    #[serde(default)]
    pub backoff: Backoff,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Backoff {
    #[default]
    None,
    Linear,
    Exponential,
}

impl Repeat {
    fn usual_attempts() -> u32 {
        10
    }

    fn usual_delay_ms() -> u64 {
        1000
    }

    /// The pause behind an attempt, which are counted from 1.
    pub(crate) fn pause_ms(&self, attempt: u32) -> u64 {
        match self.backoff {
            Backoff::None => self.delay_ms,
            Backoff::Linear => self.delay_ms.saturating_mul(attempt.into()),
            Backoff::Exponential => self.delay_ms.saturating_mul(1 << (attempt - 1).min(16)),
        }
    }
}

impl Test {
    /// Tests of a client are about JSON payloads and no server: one run is enough.
    pub(crate) fn is_of_client(&self) -> bool {
        self.steps.iter().all(|step| step.client_response.is_some())
    }

    pub(crate) fn is_for(&self, binding: Binding) -> bool {
        if self.is_of_client() {
            return binding == Binding::JsonRpc;
        }
        self.transport.is_empty() || self.transport.contains(&binding)
    }

    /// Whether its raw requests decide themselves whether to bring a credential.
    pub(crate) fn is_about_credentials(&self) -> bool {
        self.tags.iter().any(|tag| tag == "auth")
    }
}

/// All suites of a folder, in the order of its master file, or of the files' names where there is none.
pub(crate) fn read(folder: &Path) -> Result<Vec<Suite>> {
    let master = folder.join("suite.acts.yaml");
    let mut suites = Vec::new();
    if master.is_file() {
        read_document(&master, &Map::new(), &mut suites)?;
    } else {
        let files = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let mut files: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
        files.sort();
        for file in files.iter().filter(|file| file.to_string_lossy().ends_with(".acts.yaml")) {
            read_document(file, &Map::new(), &mut suites)?;
        }
    }
    if suites.is_empty() {
        bail!("{} holds no suite", folder.display());
    }
    Ok(suites)
}

fn read_document(file: &Path, outer: &Map<String, Value>, suites: &mut Vec<Suite>) -> Result<()> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    let document = parse(&text).with_context(|| format!("{shown}"))?;
    let mut variables = outer.clone();
    variables.extend(document.variables);
    for mut suite in document.suites {
        suite.variables = variables.clone();
        let inherited = suite.tags.clone();
        suite.tests.iter_mut().for_each(|test| test.tags.extend(inherited.iter().cloned()));
        suites.push(suite);
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    document.include.iter().try_for_each(|name| read_document(&folder.join(name), &variables, suites))
}

fn parse(text: &str) -> Result<Document> {
    let document: Document = serde_saphyr::from_str(text)?;
    let major = document.acts_version.split('.').next().unwrap_or_default();
    if major != FORMAT_MAJOR {
        bail!("version {} of the format is not understood; {FORMAT_MAJOR}.x is", document.acts_version);
    }
    for test in document.suites.iter().flat_map(|suite| &suite.tests) {
        for step in &test.steps {
            let kinds = [
                step.operation.is_some(),
                step.raw.is_some(),
                step.client_response.is_some(),
                step.assertion.is_some(),
            ];
            if kinds.iter().filter(|kind| **kind).count() != 1 {
                bail!("{}, step {}: one of operation, raw, client_response and assertion is needed", test.id, step.id);
            }
        }
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_and_what_is_not_known_is_refused() {
        let text = "acts_version: '1.0'\nspec_version: '1.0'\nsuites:\n  - id: s\n    name: n\n    tests:\n      - id: T-1\n        name: n\n        level: must\n        transport: [rest]\n        steps:\n          - id: a\n            operation: get_task\n            params: {id: x, n: 1, b: true, s: '1'}\n";
        let document = parse(text).unwrap();
        let test = &document.suites[0].tests[0];
        assert_eq!((test.level, test.is_for(Binding::Rest), test.is_for(Binding::Grpc)), (Level::Must, true, false));
        assert_eq!(
            Value::from(test.steps[0].params.clone()),
            serde_json::json!({"id": "x", "n": 1, "b": true, "s": "1"})
        );
        assert!(parse(&text.replace("'1.0'", "'2.0'")).is_err());
        assert!(parse(&text.replace("operation:", "opreation:")).is_err());
        assert!(parse(&text.replace("operation: get_task", "delay_ms: 1")).is_err());
    }
}
