//! Lines to a server's WebSocket and back. It understands no more of a message than whether it is owed an answer.

use anyhow::{Context, Result};
use futures::{SinkExt, StreamExt};
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::client::{Remote, websocket_url};
use crate::failure::{Exit, Problem};

/// Passes lines on until the input has ended and every request is answered, or the server goes away.
pub(crate) async fn run(
    remote: &Remote,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> Result<Exit> {
    let url = websocket_url(remote)?;
    let mut request = url.as_str().into_client_request().context("the address has no WebSocket")?;
    if let Some(token) = remote.credential.token() {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()))?;
        value.set_sensitive(true);
        request.headers_mut().insert("authorization", value);
    }
    let (socket, _) =
        tokio_tungstenite::connect_async(request).await.map_err(|error| cannot_connect(url.as_str(), error))?;
    let (mut sink, mut stream) = socket.split();
    let mut lines = BufReader::new(input).lines();
    let (mut owed, mut ended) = (0_u64, false);
    while !ended || owed > 0 {
        tokio::select! {
            line = lines.next_line(), if !ended => match line.context("stdin cannot be read")? {
                Some(line) if line.trim().is_empty() => {}
                Some(line) => {
                    owed += u64::from(is_owed_an_answer(&line));
                    sink.send(Message::text(line)).await.map_err(|error| went_away(remote, error))?;
                }
                None => ended = true,
            },
            message = stream.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    owed = owed.saturating_sub(u64::from(is_answer(&text)));
                    output.write_all(text.as_bytes()).await?;
                    output.write_all(b"\n").await?;
                    output.flush().await?;
                }
                Some(Ok(Message::Close(_))) | None => {
                    return Err(Problem::unreachable(format!("{} closed the connection", remote.url)).into());
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(went_away(remote, error).into()),
            },
        }
    }
    let _ = sink.close().await;
    Ok(Exit::Ok)
}

/// Whether the server will answer: a request with an id, a batch with one, or something it cannot read.
fn is_owed_an_answer(line: &str) -> bool {
    match serde_json::from_str::<Value>(line) {
        Ok(Value::Array(batch)) => batch.is_empty() || batch.iter().any(is_request),
        Ok(one) => is_request(&one),
        Err(_) => true,
    }
}

fn is_request(value: &Value) -> bool {
    value.as_object().is_none_or(|object| object.contains_key("id") || !object.contains_key("method"))
}

fn is_answer(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_array() || value.get("method").is_none())
}

fn cannot_connect(url: &str, error: Error) -> Problem {
    match error {
        Error::Http(response) if response.status().as_u16() == 401 => {
            let problem = Problem::refused(format!("{url} refused the connection")).because("it asks for a credential");
            problem.advice("give --token or FACTUM_TOKEN; `factum key create` makes one")
        }
        Error::Http(response) => Problem::refused(format!("{url} answered {}", response.status())),
        other => Problem::unreachable(format!("no answer from {url}"))
            .because(other)
            .advice("start one with `factum dev`, or give its address with --url"),
    }
}

fn went_away(remote: &Remote, error: Error) -> Problem {
    Problem::unreachable(format!("the connection to {} broke", remote.url)).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_owed_an_answer_and_notifications_are_not() {
        for (line, owed) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"get_session"}"#, true),
            (r#"{"jsonrpc":"2.0","method":"submit_turn"}"#, false),
            (r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]"#, true),
            (r#"[{"jsonrpc":"2.0","method":"a"}]"#, false),
            ("[]", true),
            ("nonsense", true),
            ("{}", true),
        ] {
            assert_eq!(is_owed_an_answer(line), owed, "{line}");
        }
        assert!(is_answer(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
        assert!(!is_answer(r#"{"jsonrpc":"2.0","method":"event","params":{}}"#));
    }
}
