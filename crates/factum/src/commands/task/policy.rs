//! The flags of a retry policy and of acceptance, which `create` and `update` share.

use clap::Args;
use factum_model::task::{Acceptance, Backoff, Criterion, CriterionState, OnLost, RetryPolicy};
use serde_json::Value;

use crate::when::parse_ms;
use crate::words::one_of;

// (No doc comments on these two: they would become the subcommand's help.)
#[derive(Debug, Args)]
#[command(next_help_heading = "Attempts")]
pub(super) struct Policy {
    /// So many attempts at most, the first one included.
    #[arg(long, value_name = "N")]
    attempts: Option<u32>,
    /// How long to wait before the second attempt: 500ms, 2s, 1m. Each later wait is twice the one before.
    #[arg(long, value_name = "SPAN", value_parser = parse_ms)]
    backoff: Option<u64>,
    /// The longest wait between two attempts.
    #[arg(long, value_name = "SPAN", value_parser = parse_ms, requires = "backoff")]
    backoff_max: Option<u64>,
    /// A category of failures after which there is no other attempt; may be given several times.
    #[arg(long, value_name = "CATEGORY")]
    non_retryable: Vec<String>,
    /// How long one attempt may take.
    #[arg(long, value_name = "SPAN", value_parser = parse_ms)]
    timeout: Option<u64>,
    /// How long an attempt may say nothing.
    #[arg(long, value_name = "SPAN", value_parser = parse_ms)]
    inactivity_timeout: Option<u64>,
    /// What follows when a worker vanishes.
    #[arg(long, value_name = "WHAT", value_parser = one_of::<OnLost>())]
    on_lost: Option<OnLost>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What it needs to complete")]
pub(super) struct Needs {
    /// Something that has to be true; may be given several times.
    #[arg(long = "criterion", value_name = "ID[=TEXT]", value_parser = parse_criterion)]
    criteria: Vec<Criterion>,
    /// The name of an artifact that has to be produced; may be given several times.
    #[arg(long = "require-artifact", value_name = "NAME")]
    artifacts: Vec<String>,
    /// A kind of evidence that has to exist; may be given several times.
    #[arg(long = "require-evidence", value_name = "KIND")]
    evidence: Vec<String>,
}

impl Policy {
    /// Absent where nothing is said about it.
    pub(super) fn into_policy(self) -> Option<RetryPolicy> {
        let usual = Backoff::default();
        let backoff = self.backoff.map(|initial_ms| Backoff {
            initial_ms,
            max_ms: self.backoff_max.unwrap_or(usual.max_ms.max(initial_ms)),
            ..usual
        });
        let policy = RetryPolicy {
            max_attempts: self.attempts.unwrap_or(1),
            backoff,
            non_retryable: self.non_retryable,
            timeout_ms: self.timeout,
            inactivity_timeout_ms: self.inactivity_timeout,
            on_lost: self.on_lost.unwrap_or_default(),
        };
        (policy != RetryPolicy::default()).then_some(policy)
    }
}

impl Needs {
    /// Absent where nothing is needed.
    pub(super) fn into_acceptance(self) -> Option<Acceptance> {
        let acceptance = Acceptance {
            criteria: self.criteria,
            required_artifacts: self.artifacts,
            required_evidence: self.evidence,
        };
        (acceptance != Acceptance::default()).then_some(acceptance)
    }
}

/// A criterion in this state and with nothing else to it.
pub(super) fn criterion(id: &str, state: CriterionState) -> Criterion {
    Criterion { criterion_id: id.to_owned(), description: None, state, evidence_ref: None, note: None }
}

fn parse_criterion(text: &str) -> Result<Criterion, String> {
    let (id, description) = match text.split_once('=') {
        Some((id, description)) => (id, Some(description.to_owned())),
        None => (text, None),
    };
    if id.is_empty() {
        return Err("write ID or ID=TEXT".to_owned());
    }
    Ok(Criterion { description, ..criterion(id, CriterionState::Open) })
}

/// Any JSON.
pub(super) fn parse_json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use super::*;

    fn read<T: Args>(args: &[&str]) -> Result<T, String> {
        let matches = T::augment_args(Command::new("test")).try_get_matches_from([&["test"], args].concat());
        matches.and_then(|matches| T::from_arg_matches(&matches)).map_err(|error| error.to_string())
    }

    fn policy(args: &[&str]) -> Option<RetryPolicy> {
        read::<Policy>(args).unwrap().into_policy()
    }

    #[test]
    fn a_policy_is_there_where_something_is_said() {
        assert_eq!(policy(&[]), None);
        let given = policy(&["--attempts", "3", "--backoff", "2s", "--timeout", "1m", "--on-lost", "retry"]).unwrap();
        assert_eq!((given.max_attempts, given.timeout_ms, given.on_lost), (3, Some(60_000), OnLost::Retry));
        assert_eq!(given.backoff.map(|backoff| (backoff.initial_ms, backoff.max_ms)), Some((2_000, 60_000)));
        let long = policy(&["--attempts", "2", "--backoff", "5m"]).unwrap().backoff.unwrap();
        assert_eq!(long.max_ms, 300_000, "the longest wait is never shorter than the first");
        assert!(read::<Policy>(&["--timeout", "soon"]).unwrap_err().contains("500ms, 2s, 1m"));
    }

    #[test]
    fn what_is_needed_is_there_where_something_is() {
        assert_eq!(read::<Needs>(&[]).unwrap().into_acceptance(), None);
        let needs = read::<Needs>(&["--criterion", "tests=all of them pass", "--require-artifact", "report.pdf"]);
        let needs = needs.unwrap().into_acceptance().unwrap();
        assert_eq!(needs.required_artifacts, ["report.pdf"]);
        assert_eq!(needs.criteria[0].criterion_id, "tests");
        assert_eq!(needs.criteria[0].description.as_deref(), Some("all of them pass"));
        assert!(read::<Needs>(&["--criterion", "=x"]).is_err());
    }
}
