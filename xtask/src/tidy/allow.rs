//! The exceptions: `tidy-allow.toml` names a file, a word, how often it stands there, and why.
//!
//! An exception that is used more often than it says excuses nothing, and one that is used less often has to be lowered,
//! so the list only ever tells the truth.

use super::{Finding, manifest};

pub(super) const FILE: &str = "xtask/tidy-allow.toml";

/// One exception.
#[derive(Debug, Default, PartialEq, Eq)]
struct Exception<'a> {
    line: usize,
    path: &'a str,
    word: &'a str,
    count: usize,
    reason: &'a str,
}

impl Exception<'_> {
    fn covers(&self, finding: &Finding) -> bool {
        finding.path == self.path && finding.message.starts_with(&format!("`{}`", self.word))
    }

    fn fault(&self) -> Option<&'static str> {
        if self.path.is_empty() || self.word.is_empty() || self.count == 0 {
            return Some("names no path, word or count; write all of path, word, count and reason");
        }
        self.reason.is_empty().then_some("gives no reason; say why this one is right")
    }
}

/// The findings that are not excused, and what is wrong with the exceptions themselves.
pub(super) fn apply(findings: Vec<Finding>, allowed: &str) -> Vec<Finding> {
    let exceptions = exceptions(allowed);
    let mut left = Vec::new();
    for exception in &exceptions {
        let used = findings.iter().filter(|finding| exception.covers(finding)).count();
        left.extend(complaint(exception, used));
    }
    let excused = |finding: &Finding| {
        let used = |e: &Exception<'_>| findings.iter().filter(|f| e.covers(f)).count();
        exceptions.iter().any(|e| e.fault().is_none() && e.covers(finding) && used(e) <= e.count)
    };
    left.extend(findings.iter().filter(|finding| !excused(finding)).cloned());
    left
}

fn complaint(exception: &Exception<'_>, used: usize) -> Option<Finding> {
    if let Some(fault) = exception.fault() {
        return Some(Finding::new(FILE, exception.line, format!("this exception {fault}")));
    }
    if used >= exception.count {
        return None;
    }
    let (path, word, count) = (exception.path, exception.word, exception.count);
    let message = format!("{path} has `{word}` {used} times, not {count}; lower the count or delete the exception");
    Some(Finding::new(FILE, exception.line, message))
}

fn exceptions(text: &str) -> Vec<Exception<'_>> {
    let mut exceptions: Vec<Exception<'_>> = Vec::new();
    let mut current = 0;
    for entry in manifest::entries(text).iter().filter(|entry| entry.table == "allow") {
        if entry.table_number != current {
            current = entry.table_number;
            exceptions.push(Exception { line: entry.line, ..Exception::default() });
        }
        let Some(exception) = exceptions.last_mut() else { continue };
        match entry.key {
            "path" => exception.path = entry.string().unwrap_or_default(),
            "word" => exception.word = entry.string().unwrap_or_default(),
            "count" => exception.count = entry.number().unwrap_or_default(),
            "reason" => exception.reason = entry.string().unwrap_or_default(),
            _ => {}
        }
    }
    exceptions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(line: usize) -> Finding {
        Finding::new("a.rs", line, "`nap(` is not committed; wake up")
    }

    fn allowed(count: usize, reason: &str) -> String {
        format!("[[allow]]\npath = \"a.rs\"\nword = \"nap(\"\ncount = {count}\nreason = \"{reason}\"\n")
    }

    #[test]
    fn an_exception_excuses_as_often_as_it_says() {
        assert!(apply(vec![finding(1), finding(2)], &allowed(2, "the product naps")).is_empty());
    }

    #[test]
    fn used_more_often_it_excuses_nothing() {
        let findings = vec![finding(1), finding(2)];
        assert_eq!(apply(findings.clone(), &allowed(1, "the product naps")), findings);
    }

    #[test]
    fn used_less_often_it_has_to_be_lowered() {
        let left = apply(vec![finding(1)], &allowed(2, "the product naps"));
        assert_eq!(left.len(), 1);
        assert!(left[0].message.contains("1 times, not 2"), "{}", left[0]);
    }

    #[test]
    fn without_a_reason_it_does_not_count() {
        let left = apply(vec![finding(1)], &allowed(1, ""));
        assert_eq!(left.len(), 2);
        assert!(left[0].message.contains("gives no reason"), "{}", left[0]);
    }
}
