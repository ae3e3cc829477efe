//! The header `Idempotency-Key`: a key for params that have none. Proxies and HTTP clients that repeat requests by themselves know
//! this header, and nothing of our params.

use std::borrow::Cow;

use factum_model::Refusal;
use http::{HeaderMap, HeaderName};
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::value::RawValue;

/// The header, and gRPC's metadata key.
pub(crate) static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The params of a command with the key of the header in them. A key in the params counts more.
pub(crate) fn with_key<'a>(headers: &HeaderMap, params: &'a str) -> Result<Cow<'a, str>, Refusal> {
    let Some(value) = headers.get(&IDEMPOTENCY_KEY) else { return Ok(params.into()) };
    let key = value.to_str().map_err(|_| Refusal::invalid("Idempotency-Key must be plain text"))?.trim();
    // What are no params at all is for whoever reads them to say.
    let (Some(fields), Ok(given)) = (params.trim_start().strip_prefix('{'), serde_json::from_str::<Given<'_>>(params))
    else {
        return Ok(params.into());
    };
    if key.is_empty() {
        return Ok(params.into());
    }
    let key = serde_json::Value::from(key);
    match given.idempotency_key.map(RawValue::get) {
        // A null is no key, as everywhere. Ours takes its place: the field may not be there twice.
        Some(null) if null == "null" => {
            let at = null.as_ptr().addr() - params.as_ptr().addr();
            let (before, behind) = (&params[..at], &params[at + null.len()..]);
            Ok(format!("{before}{key}{behind}").into())
        }
        Some(_) => Ok(params.into()),
        None => {
            let comma = if fields.trim_start().starts_with('}') { "" } else { "," };
            Ok(format!("{{\"idempotency_key\":{key}{comma}{fields}").into())
        }
    }
}

/// The key in params as it is written there, as either kind of command spells it.
#[derive(Deserialize)]
struct Given<'a> {
    #[serde(borrow, default, alias = "idempotencyKey", deserialize_with = "as_written")]
    idempotency_key: Option<&'a RawValue>,
}

/// A null, too, which is nothing otherwise.
fn as_written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_that_have_no_key_get_the_headers() {
        let mut headers = HeaderMap::new();
        assert_eq!(with_key(&headers, r#"{"a":1}"#).as_deref(), Ok(r#"{"a":1}"#));
        headers.insert(&IDEMPOTENCY_KEY, r#" a "key" "#.parse().unwrap());
        for (params, expected) in [
            (r#"{"a":1}"#, r#"{"idempotency_key":"a \"key\"","a":1}"#),
            (" { } ", r#"{"idempotency_key":"a \"key\"" } "#),
            (r#"{"b":{"idempotency_key":"x"}}"#, r#"{"idempotency_key":"a \"key\"","b":{"idempotency_key":"x"}}"#),
            (r#"{"idempotencyKey":null,"a":null}"#, r#"{"idempotencyKey":"a \"key\"","a":null}"#),
            (r#"{"a":"ü", "idempotency_key" : null }"#, r#"{"a":"ü", "idempotency_key" : "a \"key\"" }"#),
        ] {
            assert_eq!(with_key(&headers, params).as_deref(), Ok(expected));
        }
        for as_it_is in [
            r#"{"idempotency_key":"x"}"#,
            r#"{"idempotency_key":"null"}"#,
            r#"{"a":1,"idempotencyKey":"x"}"#,
            "[]",
            "{",
            "",
        ] {
            assert_eq!(with_key(&headers, as_it_is).as_deref(), Ok(as_it_is));
        }
        headers.insert(&IDEMPOTENCY_KEY, " ".parse().unwrap());
        assert_eq!(with_key(&headers, "{}").as_deref(), Ok("{}"));
        headers.insert(&IDEMPOTENCY_KEY, http::HeaderValue::from_bytes(b"\xff").unwrap());
        assert!(with_key(&headers, "{}").is_err());
    }
}
