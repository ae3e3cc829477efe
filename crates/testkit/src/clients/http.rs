//! Plain HTTP: `POST /v1/{command}`, and whatever else a test asks for by path.

use async_trait::async_trait;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

use super::{Client, Outcome, error_object, transport_error};

/// A client of one server as one caller.
#[derive(Clone)]
pub struct Http {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

impl Http {
    pub fn new(address: &str, token: Option<&str>) -> Self {
        Self { http: new_client(), base: format!("http://{address}"), token: token.map(str::to_owned) }
    }

    /// A request as this caller.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    /// The JSON of a path, which has to be there.
    pub async fn json(&self, path: &str) -> Value {
        let response = self.get(path).send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {}", response.text().await.unwrap());
        response.json().await.unwrap()
    }
}

/// A client that goes through no proxy of the environment.
pub(crate) fn new_client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

#[async_trait]
impl Client for Http {
    fn name(&self) -> &'static str {
        "http"
    }

    async fn call(&self, method: &str, params: Value) -> Outcome {
        let request = self.request(Method::POST, &format!("/v1/{method}")).body(params.to_string());
        let response = request.send().await.map_err(transport_error)?;
        read(response).await
    }
}

/// An answer or a problem, which has to be whole: the status in it is its own, and its two texts are the same.
async fn read(response: Response) -> Outcome {
    let status = response.status();
    let media_type = response.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned());
    let text = response.text().await.map_err(transport_error)?;
    let body: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    if status.is_success() {
        assert_eq!(media_type.as_deref(), Some("application/json"));
        return Ok(body);
    }
    assert_eq!(media_type.as_deref(), Some("application/problem+json"), "{text}");
    assert_eq!(body["status"], status.as_u16(), "{text}");
    assert_eq!(body["detail"], body["message"], "{text}");
    assert_eq!(body["type"], format!("urn:factum:error:{}", body["code"].as_str().unwrap()), "{text}");
    Err(error_object(&body))
}
