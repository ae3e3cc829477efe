//! The bounds of the transports, each with a name, and the checks that need nothing but bytes.

use std::time::Duration;

use factum_model::Refusal;

/// What a connection or a request may cost.
#[derive(Clone, Debug)]
pub struct TransportLimits {
    /// Bytes of a request's body.
    pub body_bytes_max: usize,
    /// Nesting of the JSON of a request's params.
    pub json_depth_max: usize,
    /// Requests a principal may make each second, over all its connections.
    pub requests_per_second: u32,
    /// Requests a principal may make at once before that rate counts.
    pub requests_burst: u32,
    /// Messages a principal may publish each second, in all its channels.
    pub publishes_per_second: u32,
    /// Pages of channel history a principal may read each second.
    pub history_pages_per_second: u32,
    /// Connections open at once. Further ones wait to be accepted.
    pub connections_max: usize,
    /// How long a command may take, how long a body may take to arrive, and how long a message over A2A is waited for.
    pub request_timeout: Duration,
    /// How long a request's head may take to arrive.
    pub header_timeout: Duration,
    /// Streams and subscriptions open at once on one connection.
    pub streams_max: usize,
    /// Commands of one JSON-RPC batch.
    pub batch_max: usize,
    /// Bytes of one WebSocket message or one line of stdio.
    pub ws_message_bytes_max: usize,
    /// Commands under way at once on one WebSocket or stdio connection.
    pub in_flight_max: usize,
    /// How long a shutdown waits for requests under way.
    pub drain_timeout: Duration,
}

impl Default for TransportLimits {
    fn default() -> Self {
        Self {
            body_bytes_max: 4 << 20,
            json_depth_max: 64,
            requests_per_second: 1_000_000,
            requests_burst: 1_000_000,
            publishes_per_second: 1_000_000,
            history_pages_per_second: 10_000,
            connections_max: 20_000,
            request_timeout: Duration::from_secs(30),
            header_timeout: Duration::from_secs(10),
            streams_max: 128,
            batch_max: 100,
            ws_message_bytes_max: 4 << 20,
            in_flight_max: 64,
            drain_timeout: Duration::from_secs(10),
        }
    }
}

/// The key by which serde_json knows its own `RawValue`. It takes the text behind this key for JSON and parses it, and so on
/// inside of that, without any bound: a text of 100 kB is enough to overflow the stack.
const RESERVED_KEY: &str = "$serde_json::private::RawValue";

/// Refuses JSON that is nested deeper than the limit, before any parser descends into it. Brackets inside strings do not
/// count; whether it is JSON at all is the parser's question. The one key that makes the parser descend into a string is
/// refused as well, however it is spelled.
pub(crate) fn check_depth(json: &[u8], max: usize) -> Result<(), Refusal> {
    let (mut depth, mut deepest, mut at) = (0_usize, 0_usize, 0);
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let string = string_at(&json[at..]);
                let inside = &json[at..at + string.len];
                // Past the closing quote, or at the end where there is none.
                at = (at + string.len + 1).min(json.len());
                if (string.unicode || inside.first() == Some(&b'$'))
                    && is_key(&json[at..])
                    && spells(inside, RESERVED_KEY)
                {
                    return Err(Refusal::invalid(format!("the key {RESERVED_KEY:?} is reserved; use another")));
                }
            }
            _ => {}
        }
    }
    if deepest > max { Err(Refusal::limit("json_depth", deepest as u64, max as u64)) } else { Ok(()) }
}

/// A string, of which the opening quote has been seen.
struct Inside {
    /// Up to the closing quote.
    len: usize,
    /// Whether a letter may be spelled by its number in it.
    unicode: bool,
}

fn string_at(rest: &[u8]) -> Inside {
    let (mut at, mut unicode) = (0, false);
    // Most of what is sent is inside of strings, and most of that is neither a quote nor an escape.
    while let Some(found) = memchr::memchr2(b'"', b'\\', &rest[at..]) {
        at += found;
        if rest[at] == b'"' {
            return Inside { len: at, unicode };
        }
        unicode |= rest.get(at + 1) == Some(&b'u');
        at = (at + 2).min(rest.len());
    }
    Inside { len: rest.len(), unicode }
}

/// Whether a string with this behind it is a key.
fn is_key(behind: &[u8]) -> bool {
    behind.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// Whether the inside of a JSON string, with its escapes, is this word of ASCII.
fn spells(mut string: &[u8], word: &str) -> bool {
    for wanted in word.bytes() {
        let (found, behind) = match string {
            [b'\\', b'u', rest @ ..] => match rest.split_at_checked(4) {
                Some((digits, behind)) => (code(digits), behind),
                None => return false,
            },
            [byte, behind @ ..] => (Some(u32::from(*byte)), behind),
            [] => return false,
        };
        if found != Some(u32::from(wanted)) {
            return false;
        }
        string = behind;
    }
    string.is_empty()
}

fn code(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short text that serde_json would nest deeper than any stack: an array in a text in an array in a text.
    fn nested_in_texts(levels: usize) -> String {
        (0..levels).fold("1".to_owned(), |inner, _| {
            let text = inner.replace('\\', "\\u005c").replace('"', "\\u0022");
            format!("{{\"{RESERVED_KEY}\":\"{}{text}{}\"}}", "[".repeat(50), "]".repeat(50))
        })
    }

    #[test]
    fn the_key_that_makes_the_parser_read_a_text_as_json_is_refused() {
        let reserved = [
            format!(r#"{{"{RESERVED_KEY}":"[]"}}"#),
            format!("{{\"a\":[{{\"{RESERVED_KEY}\" \n:\"[]\"}}]}}"),
            format!(r#"{{"a":"\"","{}":1}}"#, RESERVED_KEY.replace('$', r"\u0024")),
            format!(r#"{{"{}":1}}"#, RESERVED_KEY.replace("serde", r"\u0073erd\u0065")),
            nested_in_texts(1),
            nested_in_texts(200),
        ];
        for json in &reserved {
            let refusal = check_depth(json.as_bytes(), 64).unwrap_err();
            assert_eq!(refusal.code, factum_model::ErrorCode::InvalidParams, "{json}");
        }
        let fine = [
            format!(r#"{{"a":"{RESERVED_KEY}"}}"#),
            format!(r#"{{"{RESERVED_KEY}s":1}}"#),
            format!(r#"{{"\\u0024{}":1}}"#, &RESERVED_KEY[1..]),
            r#"{"$":"\u0024"}"#.to_owned(),
            r#"{"\u"#.to_owned(),
        ];
        for json in &fine {
            assert_eq!(check_depth(json.as_bytes(), 64), Ok(()), "{json}");
        }
    }

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        let table = [
            (r#"{"a":[1]}"#, 2, true),
            (r#"{"a":[1]}"#, 1, false),
            (r#"{"a":"[[[[[["}"#, 1, true),
            (r#"{"a":"\"[[["}"#, 1, true),
            ("[[[[", 3, false),
            ("]]]][", 1, true),
            ("", 0, true),
        ];
        for (json, max, fine) in table {
            assert_eq!(check_depth(json.as_bytes(), max).is_ok(), fine, "{json} {max}");
        }
        let deep = "[".repeat(1_000_000);
        assert!(check_depth(deep.as_bytes(), 64).is_err());
    }
}
