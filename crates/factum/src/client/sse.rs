//! Server-sent events, as the HTML standard describes their parsing: bytes in, messages out. Pure.

use anyhow::{Result, bail};

/// The largest message that is put together. The server's own bound on an event is far below.
const MESSAGE_BYTES_MAX: usize = 32 << 20;

/// One message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) event: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

/// Puts lines and messages together from whatever pieces arrive.
#[derive(Default)]
pub(crate) struct Parser {
    line: Vec<u8>,
    message: Message,
    has_data: bool,
    after_return: bool,
    retry_ms: Option<u64>,
}

impl Parser {
    /// The pause before a reconnect that the server asked for.
    pub(crate) fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Takes bytes in and hands complete messages out.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Message>> {
        let mut messages = Vec::new();
        for byte in bytes {
            let second_half = std::mem::take(&mut self.after_return) && *byte == b'\n';
            match byte {
                b'\n' if second_half => {}
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    messages.extend(self.line(&String::from_utf8_lossy(&line)));
                }
                other => self.line.push(*other),
            }
            if self.line.len() + self.message.data.len() > MESSAGE_BYTES_MAX {
                bail!("the server sent a message of more than {MESSAGE_BYTES_MAX} bytes");
            }
        }
        Ok(messages)
    }

    fn line(&mut self, line: &str) -> Option<Message> {
        if line.is_empty() {
            let message = std::mem::take(&mut self.message);
            return std::mem::take(&mut self.has_data).then_some(message);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field.trim_start_matches('\u{feff}') {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
            }
            "event" => self.message.event = Some(value.to_owned()),
            "id" => self.message.id = Some(value.to_owned()),
            "retry" => self.retry_ms = value.parse().ok().or(self.retry_ms),
            // An empty field is a comment, which is how heartbeats come; others are for later versions.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, data: &str) -> Message {
        Message { id: Some(id.into()), data: data.into(), event: None }
    }

    #[test]
    fn messages_are_the_same_however_the_bytes_are_cut() {
        let text =
            ": hello\n\nid: 1\ndata: {\"a\":1}\n\nretry: 250\nid:2\r\ndata:x\r\ndata: y\r\n\r\nid: 3\ndata: ü\n\n";
        let expected = vec![message("1", "{\"a\":1}"), message("2", "x\ny"), message("3", "ü")];
        for size in 1..text.len() {
            let mut parser = Parser::default();
            let mut messages = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                messages.extend(parser.feed(piece).unwrap());
            }
            assert_eq!(messages, expected, "pieces of {size}");
            assert_eq!(parser.retry_ms(), Some(250));
        }
    }

    #[test]
    fn what_is_not_finished_is_not_a_message() {
        let mut parser = Parser::default();
        assert_eq!(parser.feed(b"id: 1\ndata: x\n").unwrap(), vec![]);
        assert_eq!(parser.feed(b"\n").unwrap(), vec![message("1", "x")]);
        assert_eq!(parser.feed(b"id: 2\n\n: beat\n\n").unwrap(), vec![]);
    }
}
