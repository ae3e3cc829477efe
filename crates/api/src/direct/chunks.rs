//! A body of unknown length on its way out, in chunks: what is there at once goes out in one write.
//!
//! A short stream is all there when it begins, and its head, its events and its end are one write then. A long one is sent event by
//! event, as they come, and takes no room while it waits.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use hyper::body::Body as _;
use tokio::net::TcpStream;

/// What is gathered before it is sent. Small: what a client does not read should wait where it was, not here.
const GATHERED_BYTES_MAX: usize = 16 << 10;

pub(super) struct Chunks<'a> {
    stream: &'a TcpStream,
    body: Body,
    /// What is to be sent next, and how much of it is.
    out: Vec<u8>,
    sent: usize,
    /// The end is among it.
    over: bool,
}

impl<'a> Chunks<'a> {
    /// `head` goes in front.
    pub(super) fn new(stream: &'a TcpStream, head: Vec<u8>, body: Body) -> Self {
        Self { stream, body, out: head, sent: 0, over: false }
    }

    /// Done when all of it is sent.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut waits = self.sent == 0 && self.gather(context)?;
        loop {
            ready!(self.send(context))?;
            if self.over {
                return Poll::Ready(Ok(()));
            }
            if waits {
                return Poll::Pending;
            }
            waits = self.gather(context)?;
        }
    }

    /// Takes what the body has; true where it has no more for now.
    fn gather(&mut self, context: &mut Context<'_>) -> io::Result<bool> {
        while !self.over && self.out.len() < GATHERED_BYTES_MAX {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Pending => return Ok(true),
                Poll::Ready(Some(frame)) => {
                    if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
                        self.push(&data);
                    }
                }
                Poll::Ready(None) => {
                    self.out.extend_from_slice(b"0\r\n\r\n");
                    self.over = true;
                }
            }
        }
        Ok(false)
    }

    fn push(&mut self, data: &[u8]) {
        // One without bytes would be the last.
        if !data.is_empty() {
            self.out.extend_from_slice(format!("{:X}\r\n", data.len()).as_bytes());
            self.out.extend_from_slice(data);
            self.out.extend_from_slice(b"\r\n");
        }
    }

    fn send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.out.len() {
            match self.stream.try_write(&self.out[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.stream.poll_write_ready(context))?
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        // Whoever waits for days need not keep the room.
        (self.out, self.sent) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::Bytes;
    use futures::channel::mpsc;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let here = listener.accept().await.unwrap().0;
        here.writable().await.unwrap();
        (here, there)
    }

    fn body(frames: impl futures::Stream<Item = Bytes> + Send + 'static) -> Body {
        use futures::StreamExt;
        Body::from_stream(frames.map(Ok::<_, Infallible>))
    }

    #[tokio::test]
    async fn what_is_there_at_once_is_one_write() {
        let (here, mut there) = pair().await;
        let frames = futures::stream::iter(["hello", "", "a longer one, of 29 bytes now"].map(Bytes::from));
        let mut chunks = Chunks::new(&here, b"head\r\n\r\n".to_vec(), body(frames));
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(!chunks.gather(&mut context).unwrap(), "nothing is left to wait for");
        let expected = "head\r\n\r\n5\r\nhello\r\n1D\r\na longer one, of 29 bytes now\r\n0\r\n\r\n";
        assert_eq!(std::str::from_utf8(&chunks.out), Ok(expected));
        assert!(matches!(chunks.poll(&mut context), Poll::Ready(Ok(()))), "all of it fits");
        let mut read = vec![0; expected.len()];
        there.read_exact(&mut read).await.unwrap();
        assert_eq!(std::str::from_utf8(&read), Ok(expected));
    }

    #[tokio::test]
    async fn what_is_not_there_is_not_waited_for_and_takes_no_room() {
        let (here, mut there) = pair().await;
        let (sender, frames) = mpsc::unbounded();
        let mut chunks = Chunks::new(&here, b"head".to_vec(), body(frames));
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(chunks.poll(&mut context).is_pending());
        let mut read = [0; 7];
        there.read_exact(&mut read[..4]).await.unwrap();
        assert_eq!(&read[..4], b"head");
        sender.unbounded_send(Bytes::from_static(b"ab")).unwrap();
        assert!(chunks.poll(&mut context).is_pending());
        there.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"2\r\nab\r\n");
        assert_eq!(chunks.out.capacity(), 0);
        drop(sender);
        assert!(matches!(chunks.poll(&mut context), Poll::Ready(Ok(()))));
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_has_little_gathered_for_it_and_loses_nothing() {
        let (here, mut there) = pair().await;
        let frame = Bytes::from(vec![b'x'; 1_000]);
        let (asked, frames) = (20_000, futures::stream::repeat(frame));
        let taken = Arc::new(AtomicUsize::new(0));
        let counted = {
            use futures::StreamExt;
            let taken = taken.clone();
            frames.take(asked).inspect(move |_| {
                taken.fetch_add(1, Ordering::Relaxed);
            })
        };
        let mut chunks = Chunks::new(&here, Vec::new(), body(counted));
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(chunks.poll(&mut context).is_pending(), "the system's buffers are full");
        let unsent = chunks.out.len() - chunks.sent;
        assert!(unsent <= GATHERED_BYTES_MAX + 2_000 && chunks.out.len() <= GATHERED_BYTES_MAX + 2_000, "{unsent}");
        assert!(taken.load(Ordering::Relaxed) < asked);
        let read = async {
            let mut read = Vec::new();
            while !read.ends_with(b"0\r\n\r\n") {
                assert!(there.read_buf(&mut read).await.unwrap() > 0);
            }
            read.len()
        };
        let sent = std::future::poll_fn(|context| chunks.poll(context));
        let (sent, read) = tokio::join!(sent, read);
        sent.unwrap();
        assert_eq!(read, asked * (1_000 + "3E8\r\n\r\n".len()) + "0\r\n\r\n".len());
    }
}
