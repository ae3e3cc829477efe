//! Comparing what came with what was expected.
//!
//! An expectation mirrors the answer: a plain value is equality, a list compares by position, a table compares by key, except
//! where a key is an operator (`type`, `exists`, `one_of`, …). A key is read as an operator only where its value is one that
//! operator takes, so that a field called `type` can be expected too. Beside the operators of the format's grammar the suites
//! use `items`: a table is expected of every element, a list of the first ones.

use serde_json::{Map, Value};

/// What does not fit: where, and why.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mismatch {
    pub path: String,
    pub why: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = if self.path.is_empty() { "answer" } else { self.path.trim_start_matches('.') };
        write!(f, "{path}: {}", self.why)
    }
}

type Checked = Result<(), Mismatch>;

/// Compares an answer with what is expected of it.
pub(crate) fn check(expected: &Value, actual: Option<&Value>) -> Checked {
    value(expected, actual, "")
}

fn mismatch(path: &str, why: impl Into<String>) -> Checked {
    Err(Mismatch { path: path.to_owned(), why: why.into() })
}

fn value(expected: &Value, actual: Option<&Value>, path: &str) -> Checked {
    match expected {
        Value::Object(fields) => table(fields, actual, path),
        Value::Array(items) => {
            let numbered = items.iter().enumerate();
            numbered.map(|(at, item)| (at, item, actual.and_then(|actual| actual.get(at)))).try_for_each(
                |(at, item, actual)| match actual {
                    Some(_) => value(item, actual, &format!("{path}[{at}]")),
                    None => mismatch(path, format!("has no element {at}")),
                },
            )
        }
        plain if actual.is_some_and(|actual| same(plain, actual)) => Ok(()),
        plain => mismatch(path, format!("expected {plain}, got {}", shown(actual))),
    }
}

/// Numbers are the same whatever they are written as.
fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() < f64::EPSILON,
        _ => one == other,
    }
}

fn table(fields: &Map<String, Value>, actual: Option<&Value>, path: &str) -> Checked {
    for (key, expected) in fields {
        match operator(key, expected) {
            Some(operator) => apply(&operator, actual, path)?,
            None => {
                let inside = format!("{path}.{key}");
                let found = actual.and_then(|actual| actual.get(key));
                if found.is_none() && !allows_absence(expected) {
                    return mismatch(&inside, format!("is missing in {}", shown(actual)));
                }
                value(expected, found, &inside)?;
            }
        }
    }
    Ok(())
}

enum Operator<'e> {
    Type(&'e str),
    Exists,
    Absent,
    Contains(&'e str),
    Matches(&'e str),
    StartsWith(&'e str),
    EndsWith(&'e str),
    Compare(&'static str, f64, fn(f64, f64) -> bool),
    Count(&'static str, u64, fn(u64, u64) -> bool),
    OneOf(&'e [Value]),
    AllOf(&'e [Value]),
    AnyOf(&'e [Value]),
    Not(&'e Value),
    Items(&'e Value),
}

const TYPES: [&str; 6] = ["string", "number", "boolean", "array", "object", "null"];

fn operator<'e>(key: &str, expected: &'e Value) -> Option<Operator<'e>> {
    let list = || expected.as_array().map(Vec::as_slice);
    Some(match key {
        "type" => Operator::Type(expected.as_str().filter(|name| TYPES.contains(name))?),
        "exists" => expected.as_bool().filter(|yes| *yes).map(|_| Operator::Exists)?,
        "absent" => expected.as_bool().filter(|yes| *yes).map(|_| Operator::Absent)?,
        "contains" => Operator::Contains(expected.as_str()?),
        "matches" => Operator::Matches(expected.as_str()?),
        "starts_with" => Operator::StartsWith(expected.as_str()?),
        "ends_with" => Operator::EndsWith(expected.as_str()?),
        "gte" => Operator::Compare(">=", expected.as_f64()?, |is, than| is >= than),
        "lte" => Operator::Compare("<=", expected.as_f64()?, |is, than| is <= than),
        "gt" => Operator::Compare(">", expected.as_f64()?, |is, than| is > than),
        "lt" => Operator::Compare("<", expected.as_f64()?, |is, than| is < than),
        "count" => Operator::Count("", expected.as_u64()?, |is, than| is == than),
        "count_gte" => Operator::Count("at least ", expected.as_u64()?, |is, than| is >= than),
        "count_lte" => Operator::Count("at most ", expected.as_u64()?, |is, than| is <= than),
        "one_of" => Operator::OneOf(list()?),
        "all_of" => Operator::AllOf(list()?),
        "any_of" => Operator::AnyOf(list()?),
        "not" => Operator::Not(expected),
        "items" => Operator::Items(expected),
        _ => return None,
    })
}

/// Whether an expectation can hold of what is not there.
fn allows_absence(expected: &Value) -> bool {
    expected.is_object() && value(expected, None, "").is_ok()
}

fn apply(operator: &Operator<'_>, actual: Option<&Value>, path: &str) -> Checked {
    let text = actual.and_then(Value::as_str);
    let holds = |holds: bool, what: String| {
        if holds { Ok(()) } else { mismatch(path, format!("expected {what}, got {}", shown(actual))) }
    };
    match operator {
        Operator::Type(name) => {
            holds(actual.is_some_and(|actual| kind(actual) == *name), format!("a value of type {name}"))
        }
        Operator::Exists => holds(actual.is_some(), "something".to_owned()),
        Operator::Absent => holds(actual.is_none(), "nothing".to_owned()),
        Operator::Contains(part) => {
            holds(text.is_some_and(|text| text.contains(part)), format!("a text that contains {part:?}"))
        }
        Operator::StartsWith(part) => {
            holds(text.is_some_and(|text| text.starts_with(part)), format!("a text that starts with {part:?}"))
        }
        Operator::EndsWith(part) => {
            holds(text.is_some_and(|text| text.ends_with(part)), format!("a text that ends with {part:?}"))
        }
        Operator::Matches(pattern) => match regex::Regex::new(pattern) {
            Ok(regex) => holds(text.is_some_and(|text| regex.is_match(text)), format!("a text like {pattern:?}")),
            Err(error) => mismatch(path, format!("{pattern:?} is no regular expression here: {error}")),
        },
        Operator::Compare(sign, than, compare) => holds(
            actual.and_then(Value::as_f64).is_some_and(|is| compare(is, *than)),
            format!("a number {sign} {than}"),
        ),
        Operator::Count(how, than, compare) => {
            let count = actual.and_then(Value::as_array).map(|list| list.len() as u64);
            holds(count.is_some_and(|is| compare(is, *than)), format!("a list of {how}{than}"))
        }
        Operator::OneOf(options) | Operator::AnyOf(options) => any_of(options, actual, path),
        Operator::AllOf(options) => options.iter().try_for_each(|option| value(option, actual, path)),
        Operator::Not(expected) => holds(value(expected, actual, path).is_err(), format!("anything but {expected}")),
        Operator::Items(expected) => items(expected, actual, path),
    }
}

fn any_of(options: &[Value], actual: Option<&Value>, path: &str) -> Checked {
    let mut reasons = Vec::new();
    for option in options {
        match value(option, actual, path) {
            Ok(()) => return Ok(()),
            Err(reason) => reasons.push(reason.why),
        }
    }
    mismatch(path, format!("none of these holds: {}", reasons.join("; ")))
}

fn items(expected: &Value, actual: Option<&Value>, path: &str) -> Checked {
    let Some(list) = actual.and_then(Value::as_array) else {
        return mismatch(path, format!("expected a list, got {}", shown(actual)));
    };
    if expected.is_array() {
        return value(expected, actual, path);
    }
    let numbered = list.iter().enumerate();
    numbered
        .map(|(at, item)| (format!("{path}[{at}]"), item))
        .try_for_each(|(path, item)| value(expected, Some(item), &path))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value for a message, cut where it gets long.
pub(crate) fn shown(value: Option<&Value>) -> String {
    const CHARS_MAX: usize = 300;
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_fits_and_what_does_not_does_not() {
        let answer = json!({
            "id": "t", "n": 2, "list": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], "nothing": null, "type": "t", "empty": [],
        });
        for (expected, fits) in [
            (json!({"id": "t", "n": 2.0}), true),
            (json!({"id": "u"}), false),
            (json!({"missing": {"absent": true}, "id": {"exists": true}}), true),
            (json!({"missing": {"exists": true}}), false),
            (json!({"missing": {"type": "string"}}), false),
            (json!({"nothing": {"absent": true}}), false),
            (json!({"nothing": {"type": "null"}}), true),
            (json!({"type": {"type": "string"}}), true),
            (json!({"type": {"type": "number"}}), false),
            (json!({"list": {"type": "array", "count": 2, "count_gte": 1, "count_lte": 2}}), true),
            (json!({"list": {"count": 3}}), false),
            (json!({"missing": {"count_lte": 2}}), false),
            (json!({"list": [{"a": 1}, {"b": "y"}]}), true),
            (json!({"list": [{}, {}, {}]}), false),
            (json!({"list": {"items": {"a": {"gte": 1}}}}), true),
            (json!({"list": {"items": {"a": 1}}}), false),
            (json!({"list": {"items": [{"a": 1}]}}), true),
            (json!({"id": {"one_of": ["s", "t"]}}), true),
            (json!({"id": {"one_of": ["s"]}}), false),
            (json!({"one_of": [{"missing": {"exists": true}}, {"id": {"exists": true}}]}), true),
            (json!({"missing": {"any_of": [{"absent": true}, {"type": "array"}]}}), true),
            (json!({"empty": {"any_of": [{"absent": true}, {"type": "array", "count": 0}]}}), true),
            (json!({"list": {"any_of": [{"absent": true}, {"type": "array", "count": 0}]}}), false),
            (json!({"id": {"all_of": [{"type": "string"}, {"matches": "^t$"}, {"not": {"contains": "x"}}]}}), true),
            (json!({"id": {"starts_with": "t", "ends_with": "t"}}), true),
            (json!({"id": {"contains": "tt"}}), false),
            (json!({"n": {"gt": 1, "lt": 3, "lte": 2}}), true),
            (json!({"n": {"gt": 2}}), false),
        ] {
            assert_eq!(check(&expected, Some(&answer)).is_ok(), fits, "{expected}");
        }
    }

    #[test]
    fn a_mismatch_says_where_and_why() {
        let answer = json!({"task": {"status": {"state": "WORKING"}}});
        let found = check(&json!({"task": {"status": {"state": "DONE"}}}), Some(&answer)).unwrap_err();
        assert_eq!(found.to_string(), r#"task.status.state: expected "DONE", got "WORKING""#);
    }
}
