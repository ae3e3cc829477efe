//! The params of `factum call`: one JSON object, `@file`, `-` for stdin, or `key=value` and `key:=json` pairs.

use std::io::Read;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

/// Reads the words behind the method. No words are no params.
pub(crate) fn read(words: &[String]) -> Result<Value> {
    match words {
        [] => Ok(Value::Object(Map::new())),
        [one] if one == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("stdin cannot be read")?;
            parse(&text, "stdin")
        }
        [one] if one.starts_with('@') => {
            let path = &one[1..];
            let text = std::fs::read_to_string(path).with_context(|| format!("{path} cannot be read"))?;
            parse(&text, path)
        }
        [one] if one.trim_start().starts_with(['{', '[']) => parse(one, "the text given"),
        pairs => from_pairs(pairs).map(Value::Object),
    }
}

fn parse(text: &str, what: &str) -> Result<Value> {
    let value: Value = serde_json::from_str(text).with_context(|| format!("{what} is not JSON"))?;
    if !value.is_object() {
        bail!("{what} is not a JSON object");
    }
    Ok(value)
}

/// `key=text` gives a text, `key:=json` gives what the JSON says. A dot in a key goes into an object.
fn from_pairs(pairs: &[String]) -> Result<Map<String, Value>> {
    let mut params = Map::new();
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=') else {
            bail!("{pair:?} is neither JSON nor key=value; write key=text or key:=json");
        };
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => (key, serde_json::from_str(text).with_context(|| format!("the value of {key} is not JSON"))?),
            None => (key, Value::String(text.to_owned())),
        };
        insert(&mut params, key, value).with_context(|| format!("{pair:?} does not fit the pairs before it"))?;
    }
    Ok(params)
}

fn insert(params: &mut Map<String, Value>, key: &str, value: Value) -> Result<()> {
    if key.is_empty() {
        bail!("the key is empty");
    }
    let Some((outer, inner)) = key.split_once('.') else {
        if params.insert(key.to_owned(), value).is_some() {
            bail!("{key} is given twice");
        }
        return Ok(());
    };
    let entry = params.entry(outer).or_insert_with(|| Value::Object(Map::new()));
    match entry {
        Value::Object(object) => insert(object, inner, value),
        _ => bail!("{outer} is not an object"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(words: &[&str], expected: Result<Value, &str>) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let read = read(&words).map_err(|error| error.to_string());
        assert_eq!(read, expected.map_err(str::to_owned), "{words:?}");
    }

    #[test]
    fn params_come_as_json_or_as_pairs() {
        check(&[], Ok(json!({})));
        check(&[r#"{"a":1}"#], Ok(json!({"a": 1})));
        check(&["a=1", "b:=1", "c=x=y", "d:=[true]"], Ok(json!({"a": "1", "b": 1, "c": "x=y", "d": [true]})));
        check(&["window.limit:=5", "window.before:=9"], Ok(json!({"window": {"limit": 5, "before": 9}})));
        check(&["[1]"], Err("the text given is not a JSON object"));
        check(&["{"], Err("the text given is not JSON"));
        check(&["a"], Err("\"a\" is neither JSON nor key=value; write key=text or key:=json"));
        check(&["a:=x"], Err("the value of a is not JSON"));
        check(&["a=1", "a=2"], Err("\"a=2\" does not fit the pairs before it"));
        check(&["a=1", "a.b=2"], Err("\"a.b=2\" does not fit the pairs before it"));
        check(&["@/nowhere/x"], Err("/nowhere/x cannot be read"));
    }
}
