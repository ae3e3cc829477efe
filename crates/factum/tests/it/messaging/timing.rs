//! Seed 002 §10, over the wire: the time of an answer must not tell an outsider that a private channel exists.
//!
//! How the two are compared is in the testkit's `coins`: pairs in an order that a coin decides, so that a busy machine makes
//! it see less and never makes it see what is not there. The runtime's own tests do the same without a wire, where smaller
//! differences show; here is whatever a transport adds.

use factum_testkit::coins::Deviations;
use factum_testkit::{Server, within};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::*;
use crate::support::dev;

const PAIRS: usize = 600;
/// Channels of each kind, so that no single key is always the warm one.
const CHANNELS: usize = 32;

/// A connection that is kept, with as little as can be between the clock and the server.
struct Wire {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Wire {
    async fn open(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, answer: vec![0; 16 * 1024] }
    }

    /// How long the answer took, which has to say that there is nothing.
    async fn refusal_nanos(&mut self, request: &str) -> u128 {
        let started = Instant::now();
        self.stream.write_all(request.as_bytes()).await.unwrap();
        let mut read = 0;
        within("an answer", async {
            while !is_whole(&self.answer[..read]) {
                let more = self.stream.read(&mut self.answer[read..]).await.unwrap();
                assert_ne!(more, 0, "the server hung up");
                read += more;
            }
        })
        .await;
        let took = started.elapsed().as_nanos();
        let answer = String::from_utf8_lossy(&self.answer[..read]);
        assert!(answer.contains("not_found"), "{answer}");
        took
    }
}

/// Whether an answer has come with all of its body.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or_else(|| panic!("no length: {head}"))
}

fn params(method: &str, id: &str) -> Value {
    let mut params = match method {
        "channels/publish" => json!({ "parts": text("x") }),
        "channels/addMember" => json!({ "principalId": "agent://eve" }),
        _ => json!({}),
    };
    params["channelId"] = json!(id);
    params
}

/// The same question by two of the ways in.
fn request(path: &str, method: &str, id: &str) -> String {
    let params = params(method, id);
    let (path, body) = match path {
        "http" => (format!("/v1/{method}"), params.to_string()),
        path => {
            (format!("/{path}"), json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string())
        }
    };
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {EVE}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

/// Private channels of Ann and Bob, with something said in each.
async fn channels(server: &Server) -> Vec<String> {
    let ann = server.http(Some(ANN));
    let mut ids = Vec::new();
    for _ in 0..CHANNELS {
        let id = channel_with_bob(&ann).await;
        publish(&ann, &id, "a secret").await;
        ids.push(id);
    }
    ids
}

#[tokio::test]
async fn absent_and_forbidden_take_the_same_time_over_the_wire() {
    let (_dir, server) = dev().await;
    let there = channels(&server).await;
    // Ids made the same way that are not of this server.
    let absent = {
        let (_dir, elsewhere) = dev().await;
        channels(&elsewhere).await
    };
    // An outsider who is a member of something has rows of their own beside the ones that are missed.
    create(&server.http(Some(EVE)), json!({})).await;
    let mut rng = StdRng::seed_from_u64(3);
    let mut wire = Wire::open(&server).await;
    for method in ["channels/get", "channels/publish", "channels/history", "channels/addMember", "channels/stream"] {
        for path in ["http", "a2a"] {
            let mut pairs = Vec::with_capacity(PAIRS);
            for number in 0..PAIRS + CHANNELS {
                let at = rng.random_range(0..CHANNELS);
                let [of_there, of_absent] = [&there[at], &absent[at]].map(|id| request(path, method, id));
                let pair = if rng.random_bool(0.5) {
                    let first = wire.refusal_nanos(&of_there).await;
                    (first, wire.refusal_nanos(&of_absent).await)
                } else {
                    let first = wire.refusal_nanos(&of_absent).await;
                    (wire.refusal_nanos(&of_there).await, first)
                };
                // The first ones only warm up.
                if number >= CHANNELS {
                    pairs.push(pair);
                }
            }
            let seen = Deviations::of(&pairs);
            assert!(!seen.tell(), "{method} over {path}: the time tells, {seen:.1?}");
        }
    }
}
