//! Words of the wire on the command line: enums without content, spelled as they are on the wire.
//!
//! Which words there are is asked of the type itself, so that a new one is known here as soon as it is declared.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::{Serialize, forward_to_deserialize_any};
use serde_json::Value;

/// The word that a value is on the wire.
pub(crate) fn word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => "?".to_owned(),
    }
}

/// Reads an argument that is such a word; help and completions list them all.
pub(crate) fn one_of<T>() -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words::<T>()).try_map(|word| parse::<T>(&word))
}

/// The value of a word.
pub(crate) fn parse<T: DeserializeOwned>(word: &str) -> Result<T, Error> {
    T::deserialize(IntoDeserializer::<Error>::into_deserializer(word))
}

/// All words of a type.
fn words<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut asked = Asked(&[]);
    // The answer is in the question: a derived enum says which words it takes before it is told one.
    let _ = T::deserialize(&mut asked);
    asked.0
}

struct Asked(&'static [&'static str]);

impl<'de> Deserializer<'de> for &mut Asked {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("only asked"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        self.0 = words;
        Err(Error::custom("only asked"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use factum_model::task::{Propagation, TaskStatus};

    use super::*;

    #[test]
    fn every_word_is_known_and_means_its_value() {
        assert_eq!(words::<Propagation>(), ["none", "children", "descendants"]);
        assert_eq!(words::<TaskStatus>().len(), 20);
        for text in words::<TaskStatus>() {
            assert_eq!(parse::<TaskStatus>(text).map(word), Ok((*text).to_owned()));
        }
        assert!(parse::<TaskStatus>("sleeping").is_err());
    }
}
