//! Counting: a table for people, and whether it is good enough.

use std::collections::{BTreeMap, BTreeSet};

use crate::args::{Args, Server};
use crate::binding::Binding;
use crate::exceptions::Exception;
use crate::run::{Outcome, Verdict as Went};
use crate::suite::Level;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Conformant,
    NotConformant,
}

#[derive(Clone, Copy, Default)]
struct Count {
    passed: usize,
    run: usize,
}

/// Prints a row for each suite and binding.
pub(crate) fn print(outcomes: &[Outcome], args: &Args) {
    if args.verbose {
        for outcome in outcomes {
            let Outcome { id, binding, .. } = outcome;
            let went = match &outcome.verdict {
                Went::Passed => "passed".to_owned(),
                Went::Failed(why) => format!("FAILED: {why}"),
                Went::Skipped(why) => format!("skipped: {why}"),
            };
            println!("{id:<18} {:<8} {went}", binding.name());
        }
    }
    println!("{:<22} {:<8} {:>9} {:>9} {:>9} {:>8}", "suite", "binding", "must", "should", "may", "skipped");
    let mut suites: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if !suites.contains(&outcome.suite.as_str()) {
            suites.push(&outcome.suite);
        }
    }
    for suite in suites {
        for binding in Binding::ALL {
            let here = |outcome: &&Outcome| outcome.suite == suite && outcome.binding == binding;
            row(suite, binding.name(), &outcomes.iter().filter(here).collect::<Vec<_>>());
        }
    }
    row("all", "", &outcomes.iter().collect::<Vec<_>>());
}

fn row(suite: &str, binding: &str, outcomes: &[&Outcome]) {
    if outcomes.is_empty() {
        return;
    }
    let mut levels = BTreeMap::from([Level::Must, Level::Should, Level::May].map(|level| (level, Count::default())));
    let mut skipped = 0;
    for outcome in outcomes {
        let count = levels.entry(outcome.level).or_default();
        match outcome.verdict {
            Went::Passed => *count = Count { passed: count.passed + 1, run: count.run + 1 },
            Went::Failed(_) => count.run += 1,
            Went::Skipped(_) => skipped += 1,
        }
    }
    let cells: Vec<String> = levels
        .values()
        .map(|count| if count.run == 0 { "-".to_owned() } else { format!("{}/{}", count.passed, count.run) })
        .collect();
    println!("{suite:<22} {binding:<8} {:>9} {:>9} {:>9} {skipped:>8}", cells[0], cells[1], cells[2]);
}

/// Says what failed without an exception, and which exceptions nobody needs any more.
pub(crate) fn judge(outcomes: &[Outcome], exceptions: &[Exception], args: &Args) -> Verdict {
    // Exceptions are about our own server.
    let exceptions = if matches!(args.server, Server::Start { .. }) { exceptions } else { &[] };
    let (problems, notes) = problems(outcomes, exceptions, args.is_everything());
    notes.iter().for_each(|note| println!("{note}"));
    problems.iter().for_each(|problem| eprintln!("{problem}"));
    if problems.is_empty() { Verdict::Conformant } else { Verdict::NotConformant }
}

fn problems(outcomes: &[Outcome], exceptions: &[Exception], everything: bool) -> (Vec<String>, Vec<String>) {
    let (mut problems, mut notes) = (Vec::new(), Vec::new());
    let mut needed: BTreeSet<(&str, Binding)> = BTreeSet::new();
    for outcome in outcomes {
        let Outcome { id, binding, level, .. } = outcome;
        let exception = exceptions.iter().find(|exception| exception.id == *id && exception.bindings.contains(binding));
        let name = binding.name();
        match (&outcome.verdict, exception) {
            (Went::Failed(_), Some(exception)) => {
                needed.insert((id, *binding));
                notes.push(format!("exception {id} ({name}): {}", exception.reason));
            }
            (Went::Failed(why), None) if *level == Level::May => notes.push(format!("may {id} ({name}) failed: {why}")),
            (Went::Failed(why), None) => problems.push(format!("{level:?} {id} ({name}) failed: {why}")),
            (Went::Passed, Some(_)) => {
                problems.push(format!("{id} ({name}) passes: take it out of exceptions.toml"));
                needed.insert((id, *binding));
            }
            (Went::Passed, None) | (Went::Skipped(_), _) => {}
        }
    }
    if everything {
        let all = exceptions
            .iter()
            .flat_map(|exception| exception.bindings.iter().map(|binding| (exception.id.as_str(), *binding)));
        for (id, binding) in all.filter(|one| !needed.contains(one)) {
            problems.push(format!("{id} ({}) was not run: take it out of exceptions.toml", binding.name()));
        }
    }
    notes.sort();
    (problems, notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(id: &str, level: Level, verdict: Went) -> Outcome {
        Outcome { suite: "s".to_owned(), id: id.to_owned(), level, binding: Binding::Rest, verdict }
    }

    fn exception(id: &str) -> Exception {
        Exception { id: id.to_owned(), bindings: vec![Binding::Rest], reason: "because".to_owned() }
    }

    #[test]
    fn failures_need_an_exception_and_exceptions_need_a_failure() {
        let failed = || Went::Failed("why".to_owned());
        let outcomes = [
            outcome("A", Level::Must, failed()),
            outcome("B", Level::Should, failed()),
            outcome("C", Level::May, failed()),
            outcome("D", Level::Must, Went::Passed),
            outcome("E", Level::Must, Went::Skipped("no".to_owned())),
        ];
        let (problems, notes) = super::problems(&outcomes, &[exception("A"), exception("D"), exception("E")], true);
        assert_eq!(
            problems,
            [
                "Should B (rest) failed: why",
                "D (rest) passes: take it out of exceptions.toml",
                "E (rest) was not run: take it out of exceptions.toml",
            ]
        );
        assert_eq!(notes, ["exception A (rest): because", "may C (rest) failed: why"]);
        assert_eq!(super::problems(&outcomes, &[exception("A"), exception("B"), exception("E")], false).0.len(), 0);
    }
}
