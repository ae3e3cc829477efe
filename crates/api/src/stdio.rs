//! JSON-RPC over lines: an editor starts the process and speaks through its pipes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use factum_model::{ErrorCode, Refusal};
use factum_runtime::{Caller, Runtime};
use futures::Stream;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use crate::auth::{AuthOptions, Authenticator};
use crate::connection::{self, Incoming};
use crate::limits::TransportLimits;
use crate::metrics::{Metrics, Transport};
use crate::state::State;

/// Serves one client over a pair of pipes until its input ends. The process is the client's own, so the caller is given.
pub async fn stdio(
    runtime: Runtime,
    caller: Caller,
    input: impl AsyncRead + Send + Unpin,
    mut output: impl AsyncWrite + Send + Unpin + 'static,
    limits: &TransportLimits,
) -> io::Result<()> {
    let auth = Authenticator::new(runtime.clone(), AuthOptions::default()).await;
    let auth = auth.map_err(|error| io::Error::other(error.to_string()))?;
    let metrics = Arc::new(Metrics::new(Vec::new()));
    let state = State::new(runtime, auth, false, limits.clone(), Duration::from_secs(15), metrics);
    let (mut connection, mut queue) =
        connection::open(Arc::new(state), caller.over(factum_model::peer::Transport::Stdio), None, Transport::Stdio);
    let writer = tokio::spawn(async move {
        while let Some(text) = queue.next().await {
            output.write_all(&text).await?;
            output.write_all(b"\n").await?;
            if queue.is_empty() {
                output.flush().await?;
            }
        }
        output.flush().await
    });
    let incoming = lines_of(BufReader::new(input), limits.ws_message_bytes_max);
    // Nobody has to be let in here, so nobody is refused.
    drop(connection.serve(Box::pin(incoming)).await);
    drop(connection);
    writer.await.map_err(io::Error::other)?
}

/// The lines of the input. One that is too long is refused, and the next one is read as usual; only the end of the input, or a
/// failure to read it, ends them.
fn lines_of(input: impl AsyncBufRead + Send + Unpin, max: usize) -> impl Stream<Item = Incoming> {
    futures::stream::unfold(input, move |mut input| async move {
        loop {
            let line = match next_line(&mut input, max).await.ok()?? {
                Line::Whole(line) if is_blank(&line) => continue,
                Line::Whole(line) => Incoming::Text(Bytes::from(line)),
                Line::TooLong => Incoming::Refused(too_long(max)),
            };
            return Some((line, input));
        }
    })
}

fn too_long(max: usize) -> Refusal {
    let message = format!("the line is longer than ws_message_bytes_max, {max} bytes");
    Refusal::new(ErrorCode::LimitExceeded, message)
        .with("limit", serde_json::json!({ "name": "ws_message_bytes", "max": max }))
}

enum Line {
    /// Without its end. Whether it is UTF-8 is for whoever reads it.
    Whole(Vec<u8>),
    /// Passed over up to its end.
    TooLong,
}

fn is_blank(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|text| text.trim().is_empty())
}

/// The next line, or `None` at the end of the input. What stands behind the last line break is a line too.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin), max: usize) -> io::Result<Option<Line>> {
    let (mut line, mut too_long) = (Vec::new(), false);
    loop {
        let held = input.fill_buf().await?;
        let end = held.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(held.len());
        too_long |= line.len() + taken > max;
        if !too_long {
            line.extend_from_slice(&held[..taken]);
        }
        let input_ended = held.is_empty();
        input.consume(taken + usize::from(end.is_some()));
        if input_ended && line.is_empty() && !too_long {
            return Ok(None);
        }
        if end.is_some() || input_ended {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(Some(if too_long { Line::TooLong } else { Line::Whole(line) }));
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    /// The lines of these pieces, each of which arrives by itself.
    async fn lines(pieces: &[&[u8]], max: usize) -> Vec<Result<Bytes, Refusal>> {
        let pieces = pieces.iter().map(|piece| io::Result::Ok(Bytes::copy_from_slice(piece)));
        let input = tokio_util::io::StreamReader::new(futures::stream::iter(pieces.collect::<Vec<_>>()));
        lines_of(input, max).map(taken).collect().await
    }

    fn taken(incoming: Incoming) -> Result<Bytes, Refusal> {
        match incoming {
            Incoming::Text(text) => Ok(text),
            Incoming::Refused(refusal) => Err(refusal),
        }
    }

    #[tokio::test]
    async fn a_line_that_cannot_be_taken_takes_no_other_with_it() {
        let too_long: &[u8] = b"(too long)";
        for (text, expected) in [
            (&b""[..], &[][..]),
            (b"\n \r\n\n", &[]),
            (b"one\ntwo\r\n\nthree", &[&b"one"[..], b"two", b"three"]),
            // Several in a row, at the very end of the input.
            (b"\xff\n\xff\n1\n\xff\n2\n", &[b"\xff", b"\xff", b"1", b"\xff", b"2"]),
            (b"12345678\n123456789\n1\n1234567890123\n2", &[b"12345678", too_long, b"1", too_long, b"2"]),
            (b"123456789", &[too_long]),
        ] {
            for size in [1, 2, 3, 100] {
                let pieces: Vec<&[u8]> = text.chunks(size).collect();
                let expected: Vec<_> = expected
                    .iter()
                    .map(|line| if *line == too_long { Err(super::too_long(8)) } else { Ok(Bytes::from_static(line)) })
                    .collect();
                assert_eq!(
                    lines(&pieces, 8).await,
                    expected,
                    "{:?} in pieces of {size}",
                    text.escape_ascii().to_string()
                );
            }
        }
    }

    /// Whoever waits for an answer sends nothing more: what has arrived has to be enough.
    #[tokio::test]
    async fn a_good_line_behind_a_bad_one_does_not_wait_for_more_input() {
        let first = futures::stream::iter([io::Result::Ok(Bytes::from_static(b"\xff\n{}\n"))]);
        let input = tokio_util::io::StreamReader::new(first.chain(futures::stream::pending()));
        let lines: Vec<_> = lines_of(input, 8).take(2).map(taken).collect().await;
        assert_eq!(lines, [Ok(Bytes::from_static(b"\xff")), Ok(Bytes::from_static(b"{}"))]);
    }
}
