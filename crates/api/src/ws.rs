//! `GET /rpc` as a WebSocket: JSON-RPC with subscriptions.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{FromRequestParts, State as Extract};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use factum_model::Refusal;
use factum_runtime::Caller;
use futures::{SinkExt, StreamExt};

use crate::connection;
use crate::http::peer;
use crate::metrics::Transport;
use crate::problem::Problem;
use crate::state::{Credential, Place, State};

pub(crate) async fn upgrade(Extract(state): Extract<Arc<State>>, request: http::Request<Body>) -> Response {
    let (mut head, _) = request.into_parts();
    let caller = match state.admit(&head.headers, peer(&head)).await {
        Ok(caller) => caller,
        Err(refusal) => return Problem(refusal).into_response(),
    };
    let Ok(upgrade) = WebSocketUpgrade::from_request_parts(&mut head, &()).await else {
        let message = "GET /rpc is a WebSocket; send POST /rpc for JSON-RPC over HTTP";
        return Problem(Refusal::invalid(message)).into_response();
    };
    let max = state.limits.ws_message_bytes_max;
    let credential = Credential::of(&head.headers, peer(&head));
    let place = head.extensions.remove::<Place>();
    upgrade.max_message_size(max).max_frame_size(max).on_upgrade(async move |socket| {
        serve(state, caller, credential, socket).await;
        drop(place);
    })
}

/// Pings keep idle connections through proxies, and find out about clients that have gone.
async fn serve(state: Arc<State>, caller: Caller, credential: Credential, socket: WebSocket) {
    let (mut sink, stream) = socket.split();
    let heartbeat = state.heartbeat;
    let (connection, mut queue) = connection::open(state, caller, Some(credential), Transport::WebSocket);
    let mut writer = tokio::spawn(async move {
        loop {
            let message = match tokio::time::timeout(heartbeat, queue.recv()).await {
                Err(_) => Message::Ping(Bytes::new()),
                Ok(Some(text)) => match String::from_utf8(text.into()) {
                    Ok(text) => Message::Text(text.into()),
                    Err(_) => continue,
                },
                Ok(None) => break,
            };
            if sink.send(message).await.is_err() {
                return;
            }
        }
        drop(sink.close().await);
    });
    let incoming = stream.take_while(|message| std::future::ready(message.is_ok())).filter_map(|message| {
        std::future::ready(match message {
            Ok(Message::Text(text)) => Some(Bytes::from(text)),
            Ok(Message::Binary(bytes)) => Some(bytes),
            _ => None,
        })
    });
    connection.serve(Box::pin(incoming)).await;
    // A client that does not read what is left must not keep its place.
    if tokio::time::timeout(heartbeat, &mut writer).await.is_err() {
        writer.abort();
    }
}
