//! A subscriber that is cheap enough to have a thousand of: it looks at the number of each event and at nothing else.

use anyhow::{Result, bail};
use memchr::{memchr, memmem};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::chunked::Chunked;
use super::wire::{Connection, Target};

/// How much is read at once at most.
const READ_BYTES: usize = 16 << 10;

/// A stream of events.
pub(super) struct Events {
    stream: TcpStream,
    raw: Vec<u8>,
    chunked: Chunked,
    messages: Messages,
}

impl Events {
    /// Subscribes from behind `after`; from the beginning where that is 0.
    pub(super) async fn open(target: &Target, path: &str, after: u64) -> Result<Self> {
        Self::ask(target, path, &format!("accept: text/event-stream\r\nlast-event-id: {after}\r\n")).await
    }

    /// Subscribes without saying from where.
    pub(super) async fn open_from_where_it_stands(target: &Target, path: &str) -> Result<Self> {
        Self::ask(target, path, "accept: text/event-stream\r\n").await
    }

    async fn ask(target: &Target, path: &str, headers: &str) -> Result<Self> {
        let (stream, raw) = Connection::open(target).await?.stream(&target.get(path, headers)).await?;
        Ok(Self { stream, raw, chunked: Chunked::default(), messages: Messages::default() })
    }

    /// The numbers of the events that arrive next. Dropping the future loses nothing.
    pub(super) async fn next(&mut self, ids: &mut Vec<u64>) -> Result<()> {
        ids.clear();
        loop {
            self.chunked.decode(&self.raw, &mut self.messages.text)?;
            self.raw.clear();
            self.messages.take(ids)?;
            if !ids.is_empty() {
                return Ok(());
            }
            self.raw.reserve(READ_BYTES);
            if self.chunked.is_over() || self.stream.read_buf(&mut self.raw).await? == 0 {
                bail!("the server ended the stream");
            }
        }
    }

    /// Bytes of all events so far.
    pub(super) fn bytes(&self) -> u64 {
        self.messages.bytes
    }
}

/// Text that becomes messages.
#[derive(Default)]
struct Messages {
    text: Vec<u8>,
    bytes: u64,
}

impl Messages {
    /// Takes whole messages out; those without a number (comments, `retry`) are no events, and those of a channel's own stream
    /// are not counted. The number may stand behind the name of its stream.
    fn take(&mut self, ids: &mut Vec<u64>) -> Result<()> {
        let mut at = 0;
        while let Some(length) = memmem::find(&self.text[at..], b"\n\n") {
            if let Some(rest) = self.text[at..at + length].strip_prefix(b"id: ") {
                let id = std::str::from_utf8(&rest[..memchr(b'\n', rest).unwrap_or(rest.len())])?;
                if !id.starts_with('@') {
                    ids.push(id.rsplit(':').next().unwrap_or(id).parse()?);
                    self.bytes += length as u64 + 2;
                }
            }
            at += length + 2;
        }
        self.text.drain(..at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_channel_is_sent_has_its_streams_in_front() {
        let (mut messages, mut ids) = (Messages::default(), Vec::new());
        messages.text.extend_from_slice(b"id: @channel:3\ndata: {}\n\nid: sess_1:7\ndata: {}\n\n");
        messages.take(&mut ids).unwrap();
        assert_eq!(ids, [7]);
    }

    #[test]
    fn events_are_counted_and_comments_are_not() {
        let text = b"retry: 1000\n\nid: 7\ndata: {}\n\n: heartbeat\n\nid: 8\ndata: {\"a\":1}\n\nid: 9\nda";
        for size in 1..=text.len() {
            let (mut messages, mut ids) = (Messages::default(), Vec::new());
            for piece in text.chunks(size) {
                messages.text.extend_from_slice(piece);
                messages.take(&mut ids).unwrap();
            }
            assert_eq!((ids, messages.text.as_slice()), (vec![7, 8], &b"id: 9\nda"[..]), "pieces of {size}");
            assert_eq!(messages.bytes, 16 + 21);
        }
    }
}
