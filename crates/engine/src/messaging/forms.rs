//! The forms a part may have, told from its JSON without taking it apart: only which of the known fields are there. All of it is
//! read, so that what is kept as it was sent can be read by everybody.

use std::borrow::Cow;
use std::fmt;

use factum_model::messaging::Parts;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Fields that only say which form a part has: `type` (seed 002) or `kind` (A2A 0.3).
pub(super) const DISCRIMINATORS: [&str; 2] = ["type", "kind"];

/// What they say in the legacy forms. The field of that name says it too, so the words carry no meaning of their own.
pub(super) const LEGACY: [&str; 3] = ["text", "file", "data"];

/// Fields that hold what a part is about. Empty content is content.
pub(super) const CONTENT: [&str; 5] = ["text", "raw", "url", "data", "file"];

/// What is wrong with a part.
pub(super) enum Fault {
    /// It does not have exactly one of the known forms.
    Form,
    /// It has something in it that no reader could take apart.
    Unreadable(serde_json::Error),
}

/// How many parts there are, and the first that is none.
pub(super) fn look_at(parts: &Parts) -> (usize, Option<(usize, Fault)>) {
    if is_one_plain_text(parts.as_json()) {
        return (1, None);
    }
    // Almost always they are what they should be, and one reading of the whole list is enough to know.
    serde_json::from_str(parts.as_json()).map_or_else(|_| look_closely(parts), |AllFine(count)| (count, None))
}

/// Whether a list, which was read as one already, is a single text as most messages are, told by its bytes: what stands between the
/// quotes holds no quote and nothing escaped, so it ends where the list does, and every reader can read it.
fn is_one_plain_text(list: &str) -> bool {
    let text = PLAIN_TEXT.iter().find_map(|start| list.strip_prefix(start)?.strip_suffix(r#""}]"#));
    // All of it is looked at, as that goes many bytes at a time.
    text.is_some_and(|text| !text.bytes().fold(false, |found, byte| found | (byte == b'"') | (byte == b'\\')))
}

/// How such a list begins.
const PLAIN_TEXT: [&str; 2] = [r#"[{"type":"text","text":""#, r#"[{"text":""#];

fn look_closely(parts: &Parts) -> (usize, Option<(usize, Fault)>) {
    // It was read as a list.
    let list: Vec<&RawValue> = serde_json::from_str(parts.as_json()).unwrap_or_default();
    let fault = list.iter().enumerate().find_map(|(at, part)| Some((at, check_part(part.get()).err()?)));
    (list.len(), fault)
}

/// How many parts a list has in which each is one.
struct AllFine(usize);

impl<'de> Deserialize<'de> for AllFine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Every)
    }
}

struct Every;

impl<'de> Visitor<'de> for Every {
    type Value = AllFine;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of parts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<AllFine, A::Error> {
        let mut count = 0;
        while let Some(part) = list.next_element::<Part<'de>>()? {
            if !has_one_form(&part) {
                return Err(A::Error::custom("not one of the known forms"));
            }
            count += 1;
        }
        Ok(AllFine(count))
    }
}

/// Whether a part has the content that its discriminator promises, or, without one that we know, any content we know; and
/// no other beside it, or nobody could say which of the two it is. Everything else in it is the caller's.
fn check_part(json: &str) -> Result<(), Fault> {
    if !json.starts_with('{') {
        return Err(Fault::Form);
    }
    let part: Part<'_> = serde_json::from_str(json).map_err(Fault::Unreadable)?;
    if has_one_form(&part) { Ok(()) } else { Err(Fault::Form) }
}

fn has_one_form(part: &Part<'_>) -> bool {
    let &Part { text, raw, url, uri, bytes, data, file, .. } = part;
    // Beside other content a null is the absence of data; alone it is data.
    let contents = [text, raw, url, file, data == Data::Something].into_iter().filter(|there| *there).count();
    let has_data = data == Data::Something || (data == Data::Null && contents == 0);
    let promised = match part.legacy() {
        Some("text") => text,
        Some("data") => has_data,
        Some("file") => file || url || raw || uri || bytes,
        _ => contents > 0 || has_data,
    };
    promised && contents <= 1
}

/// The fields that matter: a text, an object with something in it, or anything at all.
#[derive(Default)]
struct Part<'a> {
    r#type: Option<Cow<'a, str>>,
    kind: Option<Cow<'a, str>>,
    text: bool,
    raw: bool,
    url: bool,
    uri: bool,
    bytes: bool,
    data: Data,
    file: bool,
}

impl<'de: 'a, 'a> Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

/// Reads every field, also those that are the caller's own: what is kept as it was sent has to be JSON that any reader can
/// take apart, and text that is skipped may hold half a character or a number beyond all bounds.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Part<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Part<'de>, A::Error> {
        let mut part = Part::default();
        while let Some(name) = map.next_key::<Name<'de>>()? {
            let kind: Kind<'de> = map.next_value()?;
            match name.0.as_ref() {
                "type" => part.r#type = kind.word(),
                "kind" => part.kind = kind.word(),
                "text" => part.text = kind.is_text(),
                "raw" => part.raw = kind.is_text(),
                "url" => part.url = kind.is_text(),
                "uri" => part.uri = kind.is_text(),
                "bytes" => part.bytes = kind.is_text(),
                "data" => part.data = if matches!(kind, Kind::Null) { Data::Null } else { Data::Something },
                "file" => part.file = matches!(kind, Kind::Object),
                _ => {}
            }
        }
        Ok(part)
    }
}

/// The name of a field.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// What is in the field that may hold anything.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Data {
    #[default]
    Absent,
    Null,
    Something,
}

impl Part<'_> {
    /// The legacy word that names the form, if one does.
    fn legacy(&self) -> Option<&str> {
        let named = [&self.r#type, &self.kind].into_iter().filter_map(|word| word.as_deref());
        named.into_iter().find(|word| LEGACY.contains(word))
    }
}

/// What a value is, as far as it matters.
enum Kind<'de> {
    Text(Cow<'de, str>),
    /// With something in it.
    Object,
    Null,
    Other,
}

impl<'de> Kind<'de> {
    fn word(self) -> Option<Cow<'de, str>> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

impl<'de> Deserialize<'de> for Kind<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Kinds)
    }
}

struct Kinds;

impl<'de> Visitor<'de> for Kinds {
    type Value = Kind<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Kind<'de>, E> {
        Ok(Kind::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Kind<'de>, E> {
        Ok(Kind::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kind<'de>, A::Error> {
        let mut kind = Kind::Other;
        while map.next_entry::<Name<'de>, Kind<'de>>()?.is_some() {
            kind = Kind::Object;
        }
        Ok(kind)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Kind<'de>, A::Error> {
        while list.next_element::<Kind<'de>>()?.is_some() {}
        Ok(Kind::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Kind<'de>, E> {
        Ok(Kind::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Kind<'de>, E> {
        Ok(Kind::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Kind<'de>, E> {
        Ok(Kind::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Kind<'de>, E> {
        Ok(Kind::Other)
    }

    fn visit_unit<E>(self) -> Result<Kind<'de>, E> {
        Ok(Kind::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How deep serde_json reads.
    const DEPTH: usize = 128;

    /// Any list that begins or ends like a single text, and those that are one.
    #[test]
    fn only_a_single_text_is_told_by_its_bytes() {
        let texts = [
            "",
            "a",
            "ü \u{1f600}",
            r#"\""#,
            r"\\",
            r"\ud800",
            r#"a","b":"c"#,
            r#"a"},{"text":"b"#,
            r#"a","url":"b"#,
            r#"a":"b"#,
        ];
        let mut plain = 0;
        for start in PLAIN_TEXT.into_iter().chain([r#"[{"url":""#, r#"[{"type":"data","text":""#, r#"[ {"text":""#]) {
            for list in texts.iter().flat_map(|text| [r#""}]"#, r#"" }]"#].map(|end| format!("{start}{text}{end}"))) {
                let Ok(list) = serde_json::value::RawValue::from_string(list) else { continue };
                let mut json = serde_json::Deserializer::from_str(list.get());
                let parts = Parts::from_text(&mut json).unwrap();
                if is_one_plain_text(parts.as_json()) {
                    plain += 1;
                    assert!(matches!(look_closely(&parts), (1, None)), "{}", list.get());
                }
            }
        }
        assert_eq!(plain, 6, "three texts in two forms");
    }

    #[test]
    fn a_look_at_all_says_what_a_look_at_each_says() {
        let nested = |depth: usize| format!(r#"{{"data":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        let parts = [
            r#"{"text":"a"}"#,
            r#"{"type":"text","text":"\u00fc","more":{"x":[1.5,null]}}"#,
            r#"{"data":null}"#,
            r#"{"kind":"file","file":{"uri":"x"}}"#,
            r#"{"url":"x","mediaType":"y"}"#,
            r#"{"text":"a","url":"b"}"#,
            r#"{"type":"text"}"#,
            r#"{"file":{}}"#,
            r#"{"x":"\ud800","text":"a"}"#,
            r#"{"text":"a","x":1e999}"#,
            "[]",
            "null",
            "7",
            &nested(DEPTH - 3),
            &nested(DEPTH - 2),
            &nested(DEPTH - 1),
        ];
        let is_form = |fault: Option<(usize, Fault)>| fault.map(|(at, fault)| (at, matches!(fault, Fault::Form)));
        for first in parts {
            for list in [format!("[{first}]"), format!("[{first},{first}]"), format!(r#"[{{"text":"b"}} , {first}]"#)] {
                // Some of them nest too deep to be read as parts at all.
                let Ok(list) = serde_json::value::RawValue::from_string(list) else { continue };
                let mut json = serde_json::Deserializer::from_str(list.get());
                let parts = Parts::from_text(&mut json).unwrap();
                let ((count, fault), (counted, found)) = (look_at(&parts), look_closely(&parts));
                assert_eq!((count, is_form(fault)), (counted, is_form(found)), "{}", list.get());
            }
        }
    }
}
