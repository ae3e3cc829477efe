//! A JSON-RPC connection over lines (`factum stdio`; a WebSocket is the same behind its frames), with subscriptions. Every
//! line is owed its answers, in whatever pieces it arrives, and the events of a subscription come one by one.

#![no_main]

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use factum_api::{AuthOptions, TransportLimits};
use factum_fuzz::random::Random;
use factum_fuzz::rpc::{self, Expected, Owed};
use factum_fuzz::samples;
use factum_fuzz::world::{self, SESSION};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Short, so that lines pass it.
const LINE_BYTES_MAX: usize = 1_024;
/// What a few requests do not bring about, many do not either; they only take longer.
const LINES_MAX: usize = 16;

fuzz_target!(|data: &[u8]| {
    let Some((pace, lines)) = data.split_first() else { return };
    if lines.iter().filter(|byte| **byte == b'\n').count() > LINES_MAX {
        return;
    }
    let limits = TransportLimits {
        ws_message_bytes_max: LINE_BYTES_MAX,
        requests_per_second: u32::MAX,
        requests_burst: u32::MAX,
        ..TransportLimits::default()
    };
    let output = Output::default();
    world::with(&AuthOptions::default(), |world| {
        let input = Input { bytes: lines.to_vec(), at: 0, most: usize::from(*pace) + 1 };
        let serve = factum_api::stdio(world.runtime.clone(), world.caller.clone(), input, output.clone(), &limits);
        world.tokio.block_on(serve).expect("pipes in memory do not break");
    });
    let written = output.0.lock().map(|bytes| bytes.clone()).expect("nobody panicked with it");
    judge(lines, &String::from_utf8(written).expect("what is sent is UTF-8"), &limits);
});

fn judge(sent: &[u8], written: &str, limits: &TransportLimits) {
    let mut owed: Vec<String> = sent.split(|byte| *byte == b'\n').flat_map(|line| owed(line, limits)).collect();
    let (mut answered, mut started, mut seen) = (Vec::new(), BTreeMap::new(), BTreeMap::<String, Vec<u64>>::new());
    for line in written.lines() {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if value["method"] == "event" {
            let id = value["params"]["subscription_id"].as_str().expect("a subscription").to_owned();
            let sequence = value["params"]["event"]["sequence"].as_u64().expect("a sequence");
            seen.entry(id).or_default().push(sequence);
            continue;
        }
        let answers = if line.starts_with('[') { serde_json::from_str(line).expect("a list") } else { vec![raw(line)] };
        for answer in answers {
            answered.push(rpc::read(answer.get()).id);
            let answer: Value = serde_json::from_str(answer.get()).unwrap_or_default();
            if let (Some(id), Some(after)) =
                (answer["result"]["subscription_id"].as_str(), answer["result"]["after"].as_u64())
            {
                started.insert(id.to_owned(), after);
            }
        }
    }
    owed.sort_unstable();
    answered.sort_unstable();
    assert_eq!(answered, owed, "the ids that were answered and those that were owed an answer");
    for (id, sequences) in seen {
        let first = started.get(&id).map_or(sequences[0], |after| after + 1);
        let expected: Vec<u64> = (first..).take(sequences.len()).collect();
        assert_eq!(sequences, expected, "the events of {id}");
    }
}

fn raw(line: &str) -> Box<serde_json::value::RawValue> {
    serde_json::from_str(line).expect("JSON")
}

/// The ids under which a line is owed answers.
fn owed(line: &[u8], limits: &TransportLimits) -> Vec<String> {
    let whole = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= LINE_BYTES_MAX && std::str::from_utf8(whole).is_ok_and(|text| text.trim().is_empty()) {
        return Vec::new();
    }
    let expected = if line.len() > LINE_BYTES_MAX {
        Expected::One(Owed::Error("null".to_owned()))
    } else {
        rpc::expected(whole, limits.batch_max)
    };
    let all = match expected {
        Expected::One(owed) => vec![owed],
        Expected::Batch(all) => all,
    };
    let id = |owed| match owed {
        Owed::Nothing => None,
        Owed::Answer(id) | Owed::Error(id) => Some(id),
    };
    all.into_iter().filter_map(id).collect()
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random::new(seed);
    if random.one_in(2) {
        return fuzzer_mutate(data, size, max_size);
    }
    // A line of its own behind the others.
    let line = format!("\n{}", request(&mut random));
    match data.get_mut(size..size + line.len()) {
        Some(room) if size > 0 => room.copy_from_slice(line.as_bytes()),
        _ => return fuzzer_mutate(data, size, max_size),
    }
    size + line.len()
});

fn request(random: &mut Random) -> Value {
    let subscription = format!("sub-{}", random.below(4));
    let (method, params) = match random.below(5) {
        0 | 1 => {
            let casing = random.pick(&["snake", "camel", "kebab"]);
            ("subscribe", json!({ "session_id": SESSION, "after": random.below(20), "casing": casing }))
        }
        2 => ("unsubscribe", json!({ "subscription_id": subscription })),
        3 => ("ack_events", json!({ "subscription_id": subscription, "sequence": random.below(20) })),
        _ => {
            let (method, params) = samples::command(random);
            (method, params.clone())
        }
    };
    match random.below(4) {
        0 => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
        _ => json!({ "jsonrpc": "2.0", "id": random.below(10), "method": method, "params": params }),
    }
}

/// Gives at most so many bytes at once.
struct Input {
    bytes: Vec<u8>,
    at: usize,
    most: usize,
}

impl AsyncRead for Input {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let end = self.bytes.len().min(self.at + self.most.min(buffer.remaining()));
        buffer.put_slice(&self.bytes[self.at..end]);
        self.at = end;
        Poll::Ready(Ok(()))
    }
}

#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.lock().expect("nobody panicked with it").extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
