//! A connection with what has arrived on it, and writing to it.

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use tokio::net::TcpStream;

use super::answer::Ended;
use super::rewound::Rewound;

/// What a client may send ahead while an answer is under way. More waits in the system's buffers.
const AHEAD_BYTES_MAX: usize = 64 << 10;

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
        unless_gone(&self.stream, &mut self.read, work).await
    }

    /// Sends these bytes, which are whole; an error where they do not go off in time.
    pub(super) async fn send(&self, bytes: &[u8], within: Duration) -> Result<(), Ended> {
        match tokio::time::timeout(within, send(&self.stream, bytes)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Ended),
        }
    }

    /// Sends a body whose length nobody knows, in chunks; an error where it or the connection ends early.
    pub(super) async fn forward(&mut self, body: Body) -> Result<(), Ended> {
        let Self { stream, read } = self;
        let forwarded = pin!(chunks(stream, body));
        match unless_gone(stream, read, forwarded).await {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(Ended),
        }
    }
}

async fn unless_gone<T>(
    stream: &TcpStream,
    read: &mut BytesMut,
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
                Ok(0) | Err(_) => return Poll::Ready(None),
            }
        }
        Poll::Pending
    })
    .await
}

async fn send(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.try_write(bytes) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => stream.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn chunks(stream: &TcpStream, mut body: Body) -> io::Result<()> {
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(io::Error::other)?.into_data() else { continue };
        // One without bytes would be the last.
        if !data.is_empty() {
            send_chunk(stream, &data).await?;
        }
    }
    send(stream, b"0\r\n\r\n").await
}

async fn send_chunk(stream: &TcpStream, data: &[u8]) -> io::Result<()> {
    let head = format!("{:X}\r\n", data.len());
    let mut slices = &mut [IoSlice::new(head.as_bytes()), IoSlice::new(data), IoSlice::new(b"\r\n")][..];
    while !slices.is_empty() {
        match stream.try_write_vectored(slices) {
            Ok(sent) => IoSlice::advance_slices(&mut slices, sent),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => stream.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
