//! A2A over JSON-RPC: `POST /a2a`, as far as messaging channels go.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use super::rpc::request;
use super::{Client, Http, Outcome, transport_error};

/// A client of `POST /a2a`.
pub struct A2a {
    http: Http,
    next_id: AtomicU64,
}

impl A2a {
    pub fn new(address: &str, token: Option<&str>) -> Self {
        Self { http: Http::new(address, token), next_id: AtomicU64::new(1) }
    }

    /// A request with one call in it.
    pub fn request(&self, method: &str, params: &Value) -> RequestBuilder {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.raw(request(id, method, params))
    }

    /// A request with any body.
    pub fn raw(&self, body: impl Into<reqwest::Body>) -> RequestBuilder {
        self.http.request(Method::POST, "/a2a").header("content-type", "application/json").body(body)
    }

    /// The error object of a call that has to be refused, as it is on the wire.
    pub async fn error(&self, method: &str, params: Value) -> Value {
        let response = self.request(method, &params).send().await.unwrap();
        let answer: Value = response.json().await.unwrap();
        answer.get("error").unwrap_or_else(|| panic!("{method} {params} was not refused: {answer}")).clone()
    }

    /// Opens a stream. Gives the answer back where there is none.
    pub async fn stream(&self, params: &Value, last_event_id: Option<&str>) -> Result<Response, Value> {
        let mut request = self.request("channels/stream", params);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.map_err(transport_error)?;
        let media_type = response.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned());
        if media_type.as_deref() == Some("text/event-stream") {
            return Ok(response);
        }
        Err(response.json().await.map_err(transport_error)?)
    }
}

#[async_trait]
impl Client for A2a {
    fn name(&self) -> &'static str {
        "a2a"
    }

    async fn call(&self, method: &str, params: Value) -> Outcome {
        let response = self.request(method, &params).send().await.map_err(transport_error)?;
        let answer: Value = response.json().await.map_err(transport_error)?;
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        let Some(error) = answer.get("error") else { return Ok(answer["result"].clone()) };
        assert!(answer.get("result").is_none(), "{answer}");
        let data = &error["data"];
        Err(json!({
            "code": data["code"], "message": error["message"], "retryable": data["retryable"],
            "details": data["details"],
        }))
    }
}
