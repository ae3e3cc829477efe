//! Lines to a server's WebSocket and back. It understands no more of a message than whether it is owed an answer.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};

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
    let owed = AtomicU64::new(0);
    // Beside the reading: a server that waits for its answers to be read takes no more requests.
    let sending = async {
        let mut lines = BufReader::new(input).lines();
        while let Some(line) = lines.next_line().await.context("stdin cannot be read")? {
            if line.trim().is_empty() {
                continue;
            }
            owed.fetch_add(u64::from(is_owed_an_answer(&line)), Ordering::Relaxed);
            sink.send(Message::text(line)).await.map_err(|error| went_away(remote, error))?;
        }
        anyhow::Ok(())
    };
    {
        let mut sending = pin!(sending);
        let mut ended = false;
        while !ended || owed.load(Ordering::Relaxed) > 0 {
            tokio::select! {
                sent = &mut sending, if !ended => {
                    sent?;
                    ended = true;
                }
                message = stream.next() => match message {
                    Some(Ok(Message::Text(text))) => {
                        // More answers than requests are the server's mistake, and no reason to wait for ever.
                        if is_answer(&text) && owed.load(Ordering::Relaxed) > 0 {
                            owed.fetch_sub(1, Ordering::Relaxed);
                        }
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
    use std::time::Duration;

    use super::*;
    use crate::client::Credential;

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

    /// A server that reads no request before what it sends is taken, with more of both than the system keeps for a connection.
    #[tokio::test]
    async fn what_comes_is_read_while_requests_wait_to_be_sent() {
        const MESSAGES: usize = 64;
        let long = "x".repeat(256 << 10);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let remote = Remote { url, credential: Credential { token: None } };
        let server = async {
            let (stream, _) = listener.accept().await.unwrap();
            let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
            let event = format!(r#"{{"jsonrpc":"2.0","method":"event","params":"{long}"}}"#);
            for _ in 0..MESSAGES {
                socket.send(Message::text(event.clone())).await.unwrap();
            }
            for _ in 0..MESSAGES {
                assert!(socket.next().await.unwrap().unwrap().is_text());
                socket.send(Message::text(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)).await.unwrap();
            }
        };
        let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{long}\"}}\n");
        let (input, mut output) = (request.repeat(MESSAGES), Vec::new());
        let both = async { tokio::join!(run(&remote, input.as_bytes(), &mut output), server).0 };
        let exit = tokio::time::timeout(Duration::from_secs(60), both).await.expect("neither waits for the other");
        assert_eq!(exit.unwrap(), Exit::Ok);
        assert_eq!(output.iter().filter(|byte| **byte == b'\n').count(), 2 * MESSAGES);
    }
}
