//! The claims of a token, read strictly: a claim that is there twice makes the token unreadable, since two readers could
//! disagree about which one counts.

use std::fmt;

use factum_model::Timestamp;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

/// What a token says, whoever signed it.
pub(super) struct Claims(Map<String, Value>);

impl Claims {
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Whether the token is meant for this audience. `aud` is a text or a list of texts (RFC 7519 §4.1.3).
    pub(super) fn is_for(&self, audience: &str) -> bool {
        match self.get("aud") {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(many)) => many.iter().any(|one| one.as_str() == Some(audience)),
            _ => false,
        }
    }

    /// Whether the token is good at an instant, or why not. `exp` must be there; `nbf` counts where it is.
    pub(super) fn good_at(&self, now: Timestamp, leeway_seconds: u64) -> Result<(), &'static str> {
        let now = now.as_millisecond() as f64 / 1_000.0;
        let leeway = leeway_seconds as f64;
        let expires = self.get("exp").and_then(Value::as_f64).ok_or("exp is missing or not a number")?;
        if now >= expires + leeway {
            return Err("expired");
        }
        let starts = self.get("nbf").map(|nbf| nbf.as_f64().ok_or("nbf is not a number")).transpose()?;
        if starts.is_some_and(|starts| now + leeway < starts) {
            return Err("not good yet");
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Claims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Strict)
    }
}

struct Strict;

impl<'de> Visitor<'de> for Strict {
    type Value = Claims;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of claims")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Claims, A::Error> {
        let mut claims = Map::new();
        while let Some((name, value)) = entries.next_entry::<String, Value>()? {
            if claims.insert(name, value).is_some() {
                return Err(A::Error::custom("a claim is there twice"));
            }
        }
        Ok(Claims(claims))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(json: &str) -> Claims {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_claim_that_is_there_twice_is_refused() {
        for bad in [r#"{"sub":"a","sub":"a"}"#, r#"{"sub":"a","s\u0075b":"b"}"#, "[]", "7", "\"x\""] {
            assert!(serde_json::from_str::<Claims>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn audiences() {
        for (json, expected) in [
            (r#"{"aud":"factum"}"#, true),
            (r#"{"aud":["other","factum"]}"#, true),
            (r#"{"aud":"factum2"}"#, false),
            (r#"{"aud":"FACTUM"}"#, false),
            (r#"{"aud":[]}"#, false),
            (r#"{"aud":[["factum"]]}"#, false),
            (r#"{"aud":{"factum":1}}"#, false),
            (r#"{"aud":null}"#, false),
            ("{}", false),
        ] {
            assert_eq!(claims(json).is_for("factum"), expected, "{json}");
        }
    }

    #[test]
    fn times_with_a_leeway_of_ten_at_one_hundred() {
        for (json, good) in [
            (r#"{"exp":101}"#, true),
            (r#"{"exp":91}"#, true),
            (r#"{"exp":90.5}"#, true),
            (r#"{"exp":90}"#, false),
            (r#"{"exp":-1}"#, false),
            (r#"{"exp":"200"}"#, false),
            (r#"{"exp":null}"#, false),
            ("{}", false),
            (r#"{"exp":200,"nbf":110}"#, true),
            (r#"{"exp":200,"nbf":111}"#, false),
            (r#"{"exp":200,"nbf":"1"}"#, false),
            (r#"{"exp":200,"nbf":null}"#, false),
        ] {
            let now = Timestamp::from_second(100).unwrap();
            assert_eq!(claims(json).good_at(now, 10).is_ok(), good, "{json}");
        }
    }
}
