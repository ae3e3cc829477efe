//! The forms a part may have, told from its JSON without taking it apart: only which of the known fields are there.

use std::borrow::Cow;
use std::fmt;

use factum_model::messaging::Parts;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Fields that only say which form a part has: `type` (seed 002) or `kind` (A2A 0.3).
pub(super) const DISCRIMINATORS: [&str; 2] = ["type", "kind"];

/// What they say in the legacy forms. The field of that name says it too, so the words carry no meaning of their own.
pub(super) const LEGACY: [&str; 3] = ["text", "file", "data"];

/// Fields that hold what a part is about. Empty content is content.
pub(super) const CONTENT: [&str; 5] = ["text", "raw", "url", "data", "file"];

/// How many parts there are, and the first that does not have exactly one of the known forms.
pub(super) fn look_at(parts: &Parts) -> (usize, Option<usize>) {
    // It was read as a list.
    let list: Vec<&RawValue> = serde_json::from_str(parts.as_json()).unwrap_or_default();
    (list.len(), list.iter().position(|part| !is_part(part.get())))
}

/// Whether a part has the content that its discriminator promises, or, without one that we know, any content we know; and
/// no other beside it, or nobody could say which of the two it is. Everything else in it is the caller's.
fn is_part(json: &str) -> bool {
    // A list of values would be read as a struct, too.
    let Some(part) = Some(json).filter(|json| json.starts_with('{')).and_then(|json| serde_json::from_str(json).ok())
    else {
        return false;
    };
    let Part { text, raw, url, uri, bytes, data, file, .. } = part;
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
#[derive(Default, Deserialize)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow, deserialize_with = "word")]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "word")]
    kind: Option<Cow<'a, str>>,
    #[serde(deserialize_with = "is_text")]
    text: bool,
    #[serde(deserialize_with = "is_text")]
    raw: bool,
    #[serde(deserialize_with = "is_text")]
    url: bool,
    #[serde(deserialize_with = "is_text")]
    uri: bool,
    #[serde(deserialize_with = "is_text")]
    bytes: bool,
    #[serde(deserialize_with = "what_data")]
    data: Data,
    #[serde(deserialize_with = "is_filled")]
    file: bool,
}

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

fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'de, str>>, D::Error> {
    Ok(match deserializer.deserialize_any(Kinds)? {
        Kind::Text(text) => Some(text),
        Kind::Object | Kind::Null | Kind::Other => None,
    })
}

fn is_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(matches!(deserializer.deserialize_any(Kinds)?, Kind::Text(_)))
}

fn is_filled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(matches!(deserializer.deserialize_any(Kinds)?, Kind::Object))
}

fn what_data<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Data, D::Error> {
    Ok(match deserializer.deserialize_any(Kinds)? {
        Kind::Null => Data::Null,
        Kind::Text(_) | Kind::Object | Kind::Other => Data::Something,
    })
}

/// What a value is, as far as it matters.
enum Kind<'de> {
    Text(Cow<'de, str>),
    /// With something in it.
    Object,
    Null,
    Other,
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
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            kind = Kind::Object;
        }
        Ok(kind)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Kind<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
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
