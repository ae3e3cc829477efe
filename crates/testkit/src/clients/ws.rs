//! JSON-RPC over a WebSocket, with subscriptions.

use async_trait::async_trait;
use futures::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::task::AbortHandle;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::mux::{Mux, mux};
use super::{Client, Outcome};

/// An open connection.
pub struct WebSocket {
    mux: Mux,
    tasks: [AbortHandle; 2],
}

impl WebSocket {
    pub async fn open(address: &str, token: Option<&str>) -> Result<Self, Box<Error>> {
        let mut request = format!("ws://{address}/rpc").into_client_request()?;
        if let Some(token) = token {
            request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        let stream = tokio::net::TcpStream::connect(address).await.map_err(Error::Io)?;
        let (socket, _) = tokio_tungstenite::client_async(request, stream).await?;
        let (mut sink, mut stream) = socket.split();
        let (mux, receiving, mut texts) = mux();
        let reading = tokio::spawn(async move {
            while let Some(Ok(message)) = stream.next().await {
                if let Message::Text(text) = message {
                    receiving.text(&text);
                }
            }
        });
        let writing = tokio::spawn(async move {
            while let Some(text) = texts.recv().await {
                if sink.send(Message::text(text)).await.is_err() {
                    return;
                }
            }
        });
        Ok(Self { mux, tasks: [reading.abort_handle(), writing.abort_handle()] })
    }

    /// Sends a text as it is.
    pub fn send(&self, text: impl Into<String>) {
        self.mux.send(text.into());
    }

    /// The next event notification, or answer to a text that was sent as it is.
    pub async fn next(&self) -> Option<Value> {
        self.mux.other().await
    }
}

impl Drop for WebSocket {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

#[async_trait]
impl Client for WebSocket {
    fn name(&self) -> &'static str {
        "websocket"
    }

    async fn call(&self, method: &str, params: Value) -> Outcome {
        self.mux.call(method, &params).await
    }
}
