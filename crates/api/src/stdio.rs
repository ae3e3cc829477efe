//! JSON-RPC over lines: an editor starts the process and speaks through its pipes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use factum_model::Refusal;
use factum_runtime::{Caller, Runtime};
use futures::StreamExt;
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
    let (connection, mut queue) = connection::open(Arc::new(state), caller, Transport::Stdio);
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
    let max = limits.ws_message_bytes_max;
    let incoming = lines.filter_map(move |line| {
        std::future::ready(match line {
            Ok(line) if line.trim().is_empty() => None,
            Ok(line) => Some(Bytes::from(line)),
            // Too long a line is answered like a request that cannot be read; the next line is read as usual.
            Err(LinesCodecError::MaxLineLengthExceeded) => {
                let refusal = Refusal::limit("ws_message_bytes", max as u64 + 1, max as u64);
                tracing::warn!(%refusal, "a line was too long");
                Some(Bytes::from_static(b"\"a line longer than the limit\""))
            }
            Err(LinesCodecError::Io(_)) => None,
        })
    });
    connection.serve(Box::pin(incoming)).await;
    writer.await.map_err(io::Error::other)?
}
