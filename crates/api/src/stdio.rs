//! JSON-RPC over lines: an editor starts the process and speaks through its pipes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use factum_model::Refusal;
use factum_runtime::{Caller, Runtime};
use futures::{Stream, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use crate::auth::{AuthOptions, Authenticator};
use crate::connection;
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
    let auth = Authenticator::new(runtime.clone(), AuthOptions { dev: false, issuers: Vec::new() }).await;
    let auth = auth.map_err(|error| io::Error::other(error.to_string()))?;
    let metrics = Arc::new(Metrics::new(Vec::new()));
    let state = State::new(runtime, auth, false, limits.clone(), Duration::from_secs(15), metrics);
    let (connection, mut queue) = connection::open(Arc::new(state), caller, None, Transport::Stdio);
    let writer = tokio::spawn(async move {
        while let Some(text) = queue.recv().await {
            output.write_all(&text).await?;
            output.write_all(b"\n").await?;
            if queue.is_empty() {
                output.flush().await?;
            }
        }
        output.flush().await
    });
    let lines = FramedRead::new(input, LinesCodec::new_with_max_length(limits.ws_message_bytes_max));
    let incoming = lines_of(lines, limits.ws_message_bytes_max);
    connection.serve(Box::pin(incoming)).await;
    writer.await.map_err(io::Error::other)?
}

/// The lines of the input. One that cannot be taken is answered like a request that cannot be read, and the next one is read
/// as usual; only the end of the input, or a failure to read it, ends them.
fn lines_of<R: AsyncRead + Send + Unpin>(lines: FramedRead<R, LinesCodec>, max: usize) -> impl Stream<Item = Bytes> {
    futures::stream::unfold((lines, false), move |(mut lines, mut after_error)| async move {
        loop {
            let line = match lines.next().await {
                // The codec says that it ended after each error, once.
                None if std::mem::take(&mut after_error) => continue,
                None => return None,
                Some(Ok(line)) if line.trim().is_empty() => continue,
                Some(Ok(line)) => Bytes::from(line),
                Some(Err(LinesCodecError::MaxLineLengthExceeded)) => {
                    let refusal = Refusal::limit("ws_message_bytes", max as u64 + 1, max as u64);
                    tracing::warn!(%refusal, "a line was too long");
                    after_error = true;
                    Bytes::from_static(b"\"a line longer than the limit\"")
                }
                Some(Err(LinesCodecError::Io(error))) if error.kind() == io::ErrorKind::InvalidData => {
                    after_error = true;
                    Bytes::from_static(b"\xff")
                }
                Some(Err(LinesCodecError::Io(_))) => return None,
            };
            return Some((line, (lines, after_error)));
        }
    })
}
