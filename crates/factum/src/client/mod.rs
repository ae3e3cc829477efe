//! Speaking to a running server over HTTP: calling commands and reading events. Nothing here knows a runtime.

mod channel;
mod follow;
mod retry;
mod sse;

use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use factum_model::Refusal;
use factum_model::registry::Command;
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

pub(crate) use channel::{Entry, FollowChannel, Heard};
pub(crate) use follow::{Follow, Followed};
pub(crate) use retry::Retry;

use crate::failure::Problem;

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an answer may take where nobody says.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Which server, and as whom.
#[derive(Clone, Debug, Args)]
pub(crate) struct Remote {
    /// The server.
    #[arg(long, env = "FACTUM_URL", default_value = "http://127.0.0.1:7420", value_name = "URL")]
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) credential: Credential,
}

/// What is shown as `Authorization: Bearer`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Credential {
    /// An API key or a token; prefer the variable, which others on this machine do not see.
    #[arg(long, env = "FACTUM_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub(crate) token: Option<SecretString>,
}

impl Credential {
    /// The one there is. An empty variable is how a shell says that it is not set.
    pub(crate) fn token(&self) -> Option<&SecretString> {
        self.token.as_ref().filter(|token| !token.expose_secret().trim().is_empty())
    }
}

/// A client of one server.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
    token: Option<SecretString>,
}

impl Client {
    pub(crate) fn new(remote: &Remote) -> Result<Self> {
        let base = base_url(&remote.url)?;
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("factum/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&base) {
            // A proxy of the environment knows another loopback than ours.
            builder = builder.no_proxy();
        }
        Ok(Self { http: builder.build()?, base, token: remote.credential.token().cloned() })
    }

    /// Calls a command: the body is the params, the answer is the result.
    pub(crate) async fn call(&self, command: &str, params: &Value, timeout: Duration) -> Result<Value> {
        let request = self.http.post(self.at(&format!("v1/{command}"))?).json(params).timeout(timeout);
        let response = self.send(request).await?;
        let response = self.accepted(command, response).await?;
        response.json().await.map_err(|error| self.unreachable(error).into())
    }

    /// Calls a command with its own types.
    pub(crate) async fn run<C: Command>(&self, command: &C) -> Result<C::Output> {
        let answer = self.call(C::NAME, &serde_json::to_value(command)?, ANSWER_TIMEOUT).await?;
        serde_json::from_value(answer)
            .with_context(|| format!("the answer to {} is not one this version knows", C::NAME))
    }

    fn at(&self, path: &str) -> Result<Url> {
        Ok(self.base.join(path)?)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response> {
        let request = match &self.token {
            Some(token) => request.bearer_auth(token.expose_secret()),
            None => request,
        };
        request.send().await.map_err(|error| self.unreachable(error).into())
    }

    /// The response, where it is a success; otherwise what the server says about why not.
    async fn accepted(&self, doing: &str, response: Response) -> Result<Response> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let text = response.text().await.unwrap_or_default();
        let problem = match serde_json::from_str::<Refusal>(&text) {
            Ok(refusal) => Problem::refusal(doing, &refusal),
            Err(_) => {
                Problem::refused(format!("{doing} was refused")).because(format!("{} answered {status}", self.base))
            }
        };
        let problem = match status {
            StatusCode::UNAUTHORIZED => problem.advice("give --token or FACTUM_TOKEN; `factum key create` makes one"),
            StatusCode::NOT_FOUND if text.is_empty() => problem.advice("is --url the address of a Factum server?"),
            _ => problem,
        };
        Err(problem.into())
    }

    fn unreachable(&self, error: reqwest::Error) -> Problem {
        let problem = Problem::unreachable(format!("no answer from {}", self.base));
        if error.is_timeout() {
            return problem
                .because("it took too long")
                .advice("look whether the server is well, or give a longer --timeout");
        }
        problem
            .because(error.without_url())
            .advice("start one with `factum dev`, or give its address with --url or FACTUM_URL")
    }
}

/// The address without a path of its own, always with a slash behind it.
fn base_url(text: &str) -> Result<Url> {
    let wrong =
        || Problem::cannot_run(format!("{text:?} is not the address of a server")).advice("write http://HOST:PORT");
    let mut url = Url::parse(text).map_err(|error| wrong().because(error))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong().into());
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The address of the WebSocket of a server.
pub(crate) fn websocket_url(remote: &Remote) -> Result<Url> {
    let mut url = base_url(&remote.url)?.join("rpc")?;
    let scheme = if url.scheme() == "https" { "wss" } else { "ws" };
    url.set_scheme(scheme).map_err(|()| Problem::cannot_run(format!("{url} has no WebSocket")))?;
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_and_completed() {
        let text = |url: &str| base_url(url).map(|url| url.to_string()).map_err(|error| error.to_string());
        assert_eq!(text("http://127.0.0.1:7420"), Ok("http://127.0.0.1:7420/".into()));
        assert_eq!(text("https://a/factum"), Ok("https://a/factum/".into()));
        assert!(text("127.0.0.1:7420").is_err());
        assert!(text("ftp://a").is_err());
        for (url, loopback) in [("http://127.0.0.1:1", true), ("http://[::1]:1", true), ("http://example.org", false)] {
            assert_eq!(is_loopback(&base_url(url).unwrap()), loopback, "{url}");
        }
    }
}
