//! Requests and answers over one connection that stays: answers find their requests by id, the rest are notifications.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::rpc::{read_answer, request};
use super::{Outcome, transport_error};
use crate::wait::within;

type Pending = Arc<Mutex<Option<HashMap<u64, oneshot::Sender<Value>>>>>;

/// The calling side of a connection. Whoever moves the texts feeds it through a [`Receiving`].
pub(crate) struct Mux {
    next_id: AtomicU64,
    pending: Pending,
    out: mpsc::UnboundedSender<String>,
    others: tokio::sync::Mutex<mpsc::UnboundedReceiver<Value>>,
}

/// The side that texts arrive at.
pub(crate) struct Receiving {
    pending: Pending,
    others: mpsc::UnboundedSender<Value>,
}

pub(crate) fn mux() -> (Mux, Receiving, mpsc::UnboundedReceiver<String>) {
    let (out, texts) = mpsc::unbounded_channel();
    let (others, receiver) = mpsc::unbounded_channel();
    let pending: Pending = Arc::new(Mutex::new(Some(HashMap::new())));
    let mux = Mux { next_id: AtomicU64::new(1), pending: pending.clone(), out, others: receiver.into() };
    (mux, Receiving { pending, others }, texts)
}

impl Mux {
    pub(crate) async fn call(&self, method: &str, params: &Value) -> Outcome {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        match self.pending.lock().unwrap().as_mut() {
            Some(pending) => drop(pending.insert(id, sender)),
            None => return Err(transport_error("the connection is closed")),
        }
        self.send(request(id, method, params));
        match within(method, receiver).await {
            Ok(answer) => read_answer(&answer),
            Err(_) => Err(transport_error("the connection ended")),
        }
    }

    /// Sends a text as it is.
    pub(crate) fn send(&self, text: String) {
        drop(self.out.send(text));
    }

    /// The next message that answers no call of ours. `None` once the connection has ended.
    pub(crate) async fn other(&self) -> Option<Value> {
        within("a message", self.others.lock().await.recv()).await
    }
}

impl Receiving {
    pub(crate) fn text(&self, text: &str) {
        let message: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let waiting = message["id"].as_u64().and_then(|id| self.pending.lock().unwrap().as_mut()?.remove(&id));
        match waiting {
            Some(waiting) => drop(waiting.send(message)),
            None => drop(self.others.send(message)),
        }
    }
}

impl Drop for Receiving {
    /// Whoever still waits hears that nothing comes any more.
    fn drop(&mut self) {
        self.pending.lock().unwrap().take();
    }
}
