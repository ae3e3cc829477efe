//! Server-sent events, as a browser reads them: any line ending, any field, several `data` lines in one event.

use std::pin::Pin;

use futures::{Stream, StreamExt};

/// The `data` of one event after the other, until the stream ends.
pub(crate) fn events(response: reqwest::Response) -> Pin<Box<dyn Stream<Item = String> + Send>> {
    let whole = response.bytes_stream().take_while(|piece| std::future::ready(piece.is_ok()));
    let pieces = whole.filter_map(|piece| std::future::ready(piece.ok()));
    let events = pieces.scan(Parser::default(), |parser, piece| std::future::ready(Some(parser.feed(&piece))));
    Box::pin(events.flat_map(futures::stream::iter))
}

#[derive(Default)]
struct Parser {
    line: Vec<u8>,
    data: Option<String>,
    after_cr: bool,
}

impl Parser {
    fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut events = Vec::new();
        for byte in bytes {
            match byte {
                b'\n' if self.after_cr => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                other => self.line.push(*other),
            }
            self.after_cr = *byte == b'\r';
        }
        events
    }

    fn end_line(&mut self) -> Option<String> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        if line.is_empty() {
            return self.data.take();
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_however_lines_end() {
        let text = ": ping\r\n\r\nid: 1\r\ndata: one\r\n\r\ndata:two\ndata: lines\n\nevent: x\rdata: three\r\r";
        for size in 1..text.len() {
            let mut parser = Parser::default();
            let events: Vec<String> = text.as_bytes().chunks(size).flat_map(|piece| parser.feed(piece)).collect();
            assert_eq!(events, ["one", "two\nlines", "three"], "pieces of {size}");
        }
    }
}
