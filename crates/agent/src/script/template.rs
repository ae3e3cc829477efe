//! Texts with names in braces: `You said: {answer}`. Doubled braces stand for themselves.

use serde_json::{Map, Value};

use super::problem::{Reading, suggestion};

/// Names every step knows. `options` needs a field behind it.
const BUILT_IN: [&str; 6] = ["input", "rest", "turn_id", "agent", "index", "options"];

/// A text to be filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    /// A name and the fields behind it.
    Name(Vec<String>),
}

/// A JSON value whose texts are templates.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ValueTemplate {
    Plain(Value),
    Text(Template),
    List(Vec<ValueTemplate>),
    Table(Vec<(String, ValueTemplate)>),
}

/// Where names get their values from.
pub(super) trait Values {
    /// The value of a name and its fields. What is not there is empty.
    fn value(&self, path: &[String]) -> String;
}

impl Template {
    /// Reads a template. Unknown names and loose braces are problems.
    pub(super) fn parse(text: &str, reading: &Reading, place: &str) -> Option<Template> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let (brace, behind) = rest[at..].split_at(1);
            if let Some(doubled) = behind.strip_prefix(brace) {
                plain.push_str(brace);
                rest = doubled;
                continue;
            }
            let Some((name, behind)) = behind.split_once('}').filter(|_| brace == "{") else {
                reading.problem(
                    place,
                    format_args!("a single {brace:?}; write {:?} for the character itself", brace.repeat(2)),
                );
                return None;
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Name(checked_path(name, reading, place)?));
            rest = behind;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Some(Template(pieces))
    }

    /// A text without names.
    pub(super) fn plain(text: &str) -> Template {
        Template(vec![Piece::Text(text.to_owned())])
    }

    pub(super) fn fill(&self, values: &dyn Values) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Name(path) => text.push_str(&values.value(path)),
            }
        }
        text
    }
}

fn checked_path(name: &str, reading: &Reading, place: &str) -> Option<Vec<String>> {
    let path: Vec<String> = name.trim().split('.').map(str::to_owned).collect();
    let first = path.first().map_or("", String::as_str);
    if first == "options" && path.len() < 2 {
        reading.problem(place, "{options} needs the name of an option, such as {options.colour}");
        return None;
    }
    if !BUILT_IN.contains(&first) && !reading.is_saved(first) {
        let mut known = BUILT_IN.map(str::to_owned).to_vec();
        known.extend(reading.saved());
        let hint = suggestion(first, &known);
        reading.problem(place, format_args!("no step before this one saves {{{first}}}{hint}"));
        return None;
    }
    Some(path)
}

/// Whether a step may save under this name.
pub(super) fn may_save(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    !name.is_empty() && plain && !BUILT_IN.contains(&name)
}

impl ValueTemplate {
    pub(super) fn parse(value: Value, reading: &Reading, place: &str) -> Option<ValueTemplate> {
        Some(match value {
            Value::String(text) => ValueTemplate::Text(Template::parse(&text, reading, place)?),
            Value::Array(list) => {
                let items = list.into_iter().map(|item| ValueTemplate::parse(item, reading, place));
                ValueTemplate::List(items.collect::<Option<_>>()?)
            }
            Value::Object(map) => {
                let fields =
                    map.into_iter().map(|(key, value)| Some((key, ValueTemplate::parse(value, reading, place)?)));
                ValueTemplate::Table(fields.collect::<Option<_>>()?)
            }
            plain => ValueTemplate::Plain(plain),
        })
    }

    pub(super) fn fill(&self, values: &dyn Values) -> Value {
        match self {
            ValueTemplate::Plain(value) => value.clone(),
            ValueTemplate::Text(template) => Value::String(template.fill(values)),
            ValueTemplate::List(items) => Value::Array(items.iter().map(|item| item.fill(values)).collect()),
            ValueTemplate::Table(fields) => {
                let fields = fields.iter().map(|(key, value)| (key.clone(), value.fill(values)));
                Value::Object(fields.collect::<Map<String, Value>>())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Echo;

    impl Values for Echo {
        fn value(&self, path: &[String]) -> String {
            format!("<{}>", path.join("/"))
        }
    }

    fn check(text: &str) -> String {
        let reading = Reading::new("test.toml");
        reading.save("answer");
        match Template::parse(text, &reading, "here") {
            Some(template) => template.fill(&Echo),
            None => reading.finish::<()>(None).unwrap_err().to_string(),
        }
    }

    #[test]
    fn names_are_filled_in_and_doubled_braces_stand_for_themselves() {
        for (text, expected) in [
            ("plain", "plain"),
            ("", ""),
            ("You said: {answer}!", "You said: <answer>!"),
            ("{answer.colour.name}{rest}", "<answer/colour/name><rest>"),
            ("{{\"a\": {{}}}}", "{\"a\": {}}"),
            ("{{{rest}}}", "{<rest>}"),
            ("{options.colour}", "<options/colour>"),
            ("{anwser}", r#"test.toml: here: no step before this one saves {anwser}; did you mean "answer"?"#),
            ("{options}", "test.toml: here: {options} needs the name of an option, such as {options.colour}"),
            ("a { b", r#"test.toml: here: a single "{"; write "{{" for the character itself"#),
            ("a } b", r#"test.toml: here: a single "}"; write "}}" for the character itself"#),
        ] {
            assert_eq!(check(text), expected, "{text}");
        }
    }
}
