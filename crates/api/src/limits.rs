//! The bounds of the transports, each with a name, and the checks that need nothing but bytes.

use std::time::Duration;

use factum_model::Refusal;

/// What a connection or a request may cost.
#[derive(Clone, Debug)]
pub struct TransportLimits {
    /// Bytes of a request's body.
    pub body_bytes_max: usize,
    /// Nesting of a request's JSON.
    pub json_depth_max: usize,
    /// Requests a principal may make each second, over all its connections.
    pub requests_per_second: u32,
    /// Requests a principal may make at once before that rate counts.
    pub requests_burst: u32,
    /// Connections open at once. Further ones wait to be accepted.
    pub connections_max: usize,
    /// How long a command may take, and how long a body may take to arrive.
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
            requests_per_second: 100_000,
            requests_burst: 100_000,
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

/// Refuses JSON that is nested deeper than the limit, before any parser descends into it. Brackets inside strings do not
/// count; whether it is JSON at all is the parser's question.
pub(crate) fn check_depth(json: &[u8], max: usize) -> Result<(), Refusal> {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0_usize, false, false);
    for byte in json {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if deepest > max { Err(Refusal::limit("json_depth", deepest as u64, max as u64)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
