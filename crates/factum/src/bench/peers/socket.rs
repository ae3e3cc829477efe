//! A connection that gives whole frames, whatever a frame is to the protocol on it.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// More than this in one frame is no answer to anything asked here.
const FRAME_BYTES_MAX: usize = 1 << 20;

pub(super) struct Socket {
    stream: TcpStream,
    buffer: BytesMut,
}

/// A frame at the beginning of a buffer, and how many bytes it took.
pub(super) type Parsed<T> = Option<(T, usize)>;

impl Socket {
    pub(super) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("no connection to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: BytesMut::with_capacity(4 << 10) })
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(bytes).await?)
    }

    /// The next frame, as `parse` reads it from the beginning of what has come; `None` where it is not whole yet.
    pub(super) async fn frame<T>(&mut self, parse: impl Fn(&[u8]) -> Result<Parsed<T>>) -> Result<T> {
        loop {
            if let Some((frame, bytes)) = parse(&self.buffer)? {
                self.buffer.advance(bytes);
                return Ok(frame);
            }
            if self.buffer.len() > FRAME_BYTES_MAX {
                bail!("an answer does not end");
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                bail!("the server closed the connection");
            }
        }
    }
}

/// The first line and what it takes with its end.
pub(super) fn line(buffer: &[u8]) -> Parsed<&[u8]> {
    let end = memchr::memmem::find(buffer, b"\r\n")?;
    Some((&buffer[..end], end + 2))
}
