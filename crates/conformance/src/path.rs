//! Dot-paths: `task.artifacts[0].parts[*].text`.

use serde_json::Value;

#[derive(Debug, PartialEq)]
enum Piece<'p> {
    Field(&'p str),
    At(usize),
    Each,
}

/// What is at a path. Several where it says `[*]`, nothing where it leads nowhere.
pub(crate) fn at<'v>(root: &'v Value, path: &str) -> Vec<&'v Value> {
    let mut found = vec![root];
    for piece in pieces(path) {
        found = found.into_iter().flat_map(|value| step(value, &piece)).collect();
    }
    found
}

/// The one value at a path.
pub(crate) fn one<'v>(root: &'v Value, path: &str) -> Option<&'v Value> {
    at(root, path).into_iter().next()
}

fn step<'v>(value: &'v Value, piece: &Piece<'_>) -> Vec<&'v Value> {
    match piece {
        Piece::Field(name) => value.get(name).into_iter().collect(),
        Piece::At(index) => value.get(index).into_iter().collect(),
        Piece::Each => value.as_array().into_iter().flatten().collect(),
    }
}

fn pieces(path: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for name in path.split('.').filter(|name| !name.is_empty()) {
        let (field, brackets) = name.split_once('[').map_or((name, ""), |(field, rest)| (field, rest));
        if !field.is_empty() {
            pieces.push(Piece::Field(field));
        }
        for index in brackets.split('[').map(|index| index.trim_end_matches(']')).filter(|index| !index.is_empty()) {
            pieces.push(if index == "*" { Piece::Each } else { Piece::At(index.parse().unwrap_or(usize::MAX)) });
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_values() {
        let value =
            json!({"task": {"id": "t", "artifacts": [{"parts": [{"text": "a"}, {"text": "b"}]}, {"parts": []}]}});
        let texts = |path: &str| at(&value, path).into_iter().cloned().collect::<Vec<_>>();
        assert_eq!(texts("task.id"), [json!("t")]);
        assert_eq!(texts("task.artifacts[0].parts[1].text"), [json!("b")]);
        assert_eq!(texts("task.artifacts[*].parts[*].text"), [json!("a"), json!("b")]);
        assert!(texts("task.artifacts[7].parts").is_empty() && texts("nothing").is_empty());
        assert_eq!(texts(""), std::slice::from_ref(&value));
    }
}
