//! The parser of event streams behind `factum tail`: the same messages however the bytes are cut, nothing that was not
//! sent, and what our server writes is read as it was meant.
//!
//! The first byte says where the bytes are cut.

#![no_main]

#[allow(dead_code, unreachable_pub)]
#[path = "../../crates/factum/src/client/sse.rs"]
mod sse;

use libfuzzer_sys::fuzz_target;

use sse::{Message, Parser};

fuzz_target!(|data: &[u8]| {
    let Some((cut, bytes)) = data.split_first() else { return };
    let (messages, retry) = parse(bytes, bytes.len().max(1));
    for size in [1, usize::from(*cut).max(1)] {
        assert_eq!(parse(bytes, size), (messages.clone(), retry), "cut into pieces of {size}");
    }
    let text = String::from_utf8_lossy(bytes);
    let sent: usize = text.len();
    let taken: usize = messages.iter().map(|message| message.data.len()).sum();
    assert!(taken <= sent, "more data than was sent");
    for Message { event, id, data } in &messages {
        let names = [event.as_deref().unwrap_or_default(), id.as_deref().unwrap_or_default()];
        assert!(!names.iter().any(|name| name.contains(['\r', '\n'])), "a name of more than one line");
        assert!(!data.contains('\r'), "a line break that is none");
    }
    // Without a line that begins with `data` there is no message.
    assert!(messages.is_empty() || text.contains("data"));
    written_by_the_server(*cut, &text);
});

fn parse(bytes: &[u8], size: usize) -> (Vec<Message>, Option<u64>) {
    let mut parser = Parser::default();
    let read = |piece: &[u8]| parser.feed(piece).expect("far below the bound");
    let messages = bytes.chunks(size).flat_map(read).collect();
    (messages, parser.retry_ms())
}

/// An event is JSON on one line; whatever its texts are, it arrives as it is.
fn written_by_the_server(sequence: u8, text: &str) {
    let json = serde_json::Value::from(text).to_string();
    let frame = factum_runtime::sse_frame(u64::from(sequence), json.as_bytes());
    let (messages, _) = parse(&frame, 3);
    assert_eq!(messages, [Message { event: None, id: Some(sequence.to_string()), data: json }]);
}
