//! A webhook on loopback: notes what is delivered, by path.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use serde_json::Value;

/// One delivery.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub authorization: Option<String>,
    pub body: Value,
}

type Deliveries = Arc<Mutex<BTreeMap<String, Vec<Delivery>>>>;

/// Where notifications can be sent.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    base: String,
    deliveries: Deliveries,
}

impl Receiver {
    pub(crate) async fn start() -> Result<Receiver> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let base = format!("http://{}", listener.local_addr()?);
        let deliveries = Deliveries::default();
        let router = axum::Router::new().fallback(note).with_state(deliveries.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Receiver { base, deliveries })
    }

    /// An address that nobody else uses.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    pub(crate) fn received(&self, path: &str) -> Vec<Delivery> {
        let deliveries = self.deliveries.lock().unwrap_or_else(PoisonError::into_inner);
        deliveries.get(path).cloned().unwrap_or_default()
    }
}

async fn note(State(deliveries): State<Deliveries>, uri: Uri, headers: HeaderMap, body: String) -> StatusCode {
    let authorization = headers.get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = serde_json::from_str(&body).unwrap_or(Value::String(body));
    let mut deliveries = deliveries.lock().unwrap_or_else(PoisonError::into_inner);
    deliveries.entry(uri.path().to_owned()).or_default().push(Delivery { authorization, body });
    StatusCode::OK
}
