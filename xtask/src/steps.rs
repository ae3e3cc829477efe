//! A list of steps that all run, whatever becomes of the ones before, and a table of them at the end.
//!
//! A change that breaks formatting and a test should hear of both at once.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How a step ended.
pub(crate) enum Outcome {
    Passed,
    /// Not run, and why.
    Skipped(String),
    /// Ran, and what was wrong.
    Failed(String),
}

/// The steps so far.
#[derive(Default)]
pub(crate) struct Steps(Vec<Step>);

struct Step {
    name: String,
    took: Duration,
    outcome: Outcome,
}

impl Steps {
    /// Runs one step under a heading and notes how it went. An error is a failure of this step alone.
    pub(crate) fn run(&mut self, name: &str, work: impl FnOnce() -> Result<Outcome>) {
        println!("\n== {name}");
        let started = Instant::now();
        let outcome = work().unwrap_or_else(|error| Outcome::Failed(format!("{error:#}")));
        let step = Step { name: name.to_owned(), took: started.elapsed(), outcome };
        println!("-- {step}");
        self.0.push(step);
    }

    /// Prints the table and fails when any step did.
    pub(crate) fn finish(self) -> Result<()> {
        let total: Duration = self.0.iter().map(|step| step.took).sum();
        println!("\n== summary");
        for step in &self.0 {
            println!("{step}");
        }
        println!("{:<12} {:>7.1} s", "total", total.as_secs_f64());
        let failed: Vec<&str> = self.0.iter().filter(|step| step.failed()).map(|step| step.name.as_str()).collect();
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }
}

impl Step {
    fn failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<12} {:>7.1} s  ", self.name, self.took.as_secs_f64())?;
        match &self.outcome {
            Outcome::Passed => write!(f, "ok"),
            Outcome::Skipped(why) => write!(f, "skipped: {why}"),
            Outcome::Failed(what) => write!(f, "FAILED: {what}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_runs_and_any_failure_fails_the_whole() {
        let mut steps = Steps::default();
        let mut last_ran = false;
        steps.run("breaks", || bail!("no"));
        steps.run("skips", || Ok(Outcome::Skipped("not here".to_owned())));
        steps.run("passes", || {
            last_ran = true;
            Ok(Outcome::Passed)
        });
        assert!(last_ran);
        assert_eq!(steps.finish().unwrap_err().to_string(), "failed: breaks");
    }

    #[test]
    fn a_skipped_step_fails_nothing() {
        let mut steps = Steps::default();
        steps.run("skips", || Ok(Outcome::Skipped("not here".to_owned())));
        assert!(steps.finish().is_ok());
    }
}
