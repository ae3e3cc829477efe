//! A connection with what has arrived on it, and writing to it.

use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::answer::Ended;
use super::chunks::Chunks;
use super::rewound::Rewound;

/// What a client may send ahead while an answer is under way. More waits in the system's buffers.
const AHEAD_BYTES_MAX: usize = 64 << 10;
/// How long a client may take to read the end of a body once the server closes.
const CLOSING_MAX: Duration = Duration::from_secs(1);

pub(crate) struct Line {
    pub(super) stream: TcpStream,
    /// What has arrived and is not answered.
    pub(super) read: BytesMut,
}

impl Line {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, read: BytesMut::new() }
    }

    pub(super) fn rewound(self) -> Rewound {
        Rewound::new(self.read.freeze(), self.stream)
    }

    /// Takes the next request off, and lets go of the room that it came in: whoever listens may listen for days.
    pub(super) fn take(&mut self, len: usize) -> Bytes {
        let request = self.read.split_to(len).freeze();
        self.read = BytesMut::from(&self.read[..]);
        request
    }

    /// Drives `work` until it is done; `None` where its client leaves meanwhile. Nobody works on for somebody who does not
    /// listen. It is pinned where it was made: the future of a command is some kilobytes, and would be moved for each.
    pub(super) async fn unless_gone<T>(&mut self, work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        unless_gone(&self.stream, &mut self.read, AtEof::GoneUnlessMore, work).await
    }

    /// Sends these bytes, which are whole; an error where the client takes none of them for this long.
    pub(super) async fn send(&self, bytes: &[u8], stalled_max: Duration) -> Result<(), Ended> {
        send(&self.stream, bytes, Some(stalled_max)).await.map_err(|_| Ended)
    }

    /// Sends a head and behind it a body whose length nobody knows, in chunks; an error where it or the connection ends early. A
    /// client may take as long to read as it likes, but not once the server closes, which ends every body.
    pub(super) async fn forward(&mut self, head: Vec<u8>, body: Body, closing: CancellationToken) -> Result<(), Ended> {
        let Self { stream, read } = self;
        let mut chunks = Chunks::new(stream, head, body);
        let forwarded = pin!(std::future::poll_fn(|context| chunks.poll(context)));
        tokio::select! {
            biased;
            sent = unless_gone(stream, read, AtEof::Gone, forwarded) => match sent {
                Some(Ok(())) => Ok(()),
                Some(Err(_)) | None => Err(Ended),
            },
            () = closed_for(&closing, CLOSING_MAX) => Err(Ended),
        }
    }
}

async fn closed_for(closing: &CancellationToken, time: Duration) {
    closing.cancelled().await;
    tokio::time::sleep(time).await;
}

/// What it means that a client sends no more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtEof {
    Gone,
    /// It is gone unless it has asked for more, which is to be answered first.
    GoneUnlessMore,
}

async fn unless_gone<T>(
    stream: &TcpStream,
    read: &mut BytesMut,
    at_eof: AtEof,
    mut work: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    std::future::poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        while read.len() < AHEAD_BYTES_MAX {
            if stream.poll_read_ready(context).is_pending() {
                break;
            }
            match stream.try_read_buf(read) {
                Ok(1..) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(0) if at_eof == AtEof::GoneUnlessMore && !read.is_empty() => break,
                Ok(0) | Err(_) => return Poll::Ready(None),
            }
        }
        Poll::Pending
    })
    .await
}

async fn send(stream: &TcpStream, mut bytes: &[u8], stalled_max: Option<Duration>) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.try_write(bytes) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) => blocked(stream, error, stalled_max).await?,
        }
    }
    Ok(())
}

/// Waits until there is room again, where that is what the error is about.
async fn blocked(stream: &TcpStream, error: io::Error, stalled_max: Option<Duration>) -> io::Result<()> {
    if error.kind() != io::ErrorKind::WouldBlock {
        return Err(error);
    }
    match stalled_max {
        Some(max) => tokio::time::timeout(max, stream.writable()).await?,
        None => stream.writable().await,
    }
}
