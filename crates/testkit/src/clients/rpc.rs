//! JSON-RPC over HTTP, and how any JSON-RPC answer is read.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Client, Http, Outcome, error_object, transport_error};

/// A client of `POST /rpc`.
pub struct Rpc {
    http: Http,
    next_id: AtomicU64,
}

impl Rpc {
    pub fn new(address: &str, token: Option<&str>) -> Self {
        Self { http: Http::new(address, token), next_id: AtomicU64::new(1) }
    }

    /// Sends a body as it is; gives the status and the body back.
    pub async fn raw(&self, body: impl Into<reqwest::Body>) -> (u16, String) {
        let response = self.http.request(Method::POST, "/rpc").body(body).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }
}

#[async_trait]
impl Client for Rpc {
    fn name(&self) -> &'static str {
        "rpc"
    }

    async fn call(&self, method: &str, params: Value) -> Outcome {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let body = request(id, method, &params);
        let response = self.http.request(Method::POST, "/rpc").body(body).send().await.map_err(transport_error)?;
        let answer: Value = response.json().await.map_err(transport_error)?;
        // A body that was refused before it was read has no id to answer to.
        assert!(answer["id"] == id || (answer["id"].is_null() && answer.get("error").is_some()), "{answer}");
        read_answer(&answer)
    }
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// The outcome in an answer, which has to be one: a result or an error, with the number its code has.
pub fn read_answer(answer: &Value) -> Outcome {
    assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
    let Some(error) = answer.get("error") else {
        return Ok(answer.get("result").unwrap_or_else(|| panic!("neither result nor error: {answer}")).clone());
    };
    assert!(answer.get("result").is_none(), "{answer}");
    assert_eq!(error["message"], error["data"]["message"], "{answer}");
    let expected: &[i64] = match error["data"]["code"].as_str() {
        Some("invalid_params") => &[-32602, -32700, -32600],
        Some("not_found") => &[-32000, -32601],
        _ => &[-32000],
    };
    assert!(expected.contains(&error["code"].as_i64().unwrap()), "{answer}");
    Err(error_object(&error["data"]))
}
