//! The client: its bounds, and the settings of the library below that close the ways around the guard.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use ipnet::IpNet;
use reqwest::redirect;

use crate::error::Error;
use crate::policy::Policy;
use crate::request::Request;
use crate::resolve::{Guarded, Resolve, SystemResolver};
use crate::target::Target;

/// What may be reached, and how long and how much an answer may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Networks that may be reached besides the public internet.
    pub allow: Vec<IpNet>,
    /// How long a lookup and a connection may take.
    pub connect_timeout: Duration,
    /// How long a whole answer may take, where it is no stream.
    pub timeout: Duration,
    /// How long a stream may be silent.
    pub idle_timeout: Duration,
    /// Bytes of an answer that is no stream.
    pub body_bytes_max: usize,
    /// Bytes of one event of a stream.
    pub event_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(60),
            body_bytes_max: 16 << 20,
            event_bytes_max: 4 << 20,
        }
    }
}

impl Options {
    /// The same, with this machine allowed.
    #[must_use]
    pub fn with_loopback(mut self) -> Self {
        self.allow.extend(crate::policy::LOOPBACK.iter().filter_map(|network| network.parse::<IpNet>().ok()));
        self
    }
}

/// Sends requests. A handle; clones share connections.
#[derive(Clone)]
pub struct Client {
    pub(crate) http: reqwest::Client,
    /// For calls, which are HTTP/2's.
    pub(crate) http2: reqwest::Client,
    pub(crate) policy: Arc<Policy>,
    pub(crate) options: Arc<Options>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Client {
    pub fn new(options: Options) -> Result<Self, Error> {
        Self::with_resolver(options, Arc::new(SystemResolver))
    }

    pub fn with_resolver(options: Options, resolver: Arc<dyn Resolve>) -> Result<Self, Error> {
        let policy = Arc::new(Policy::new(options.allow.clone()));
        let guarded = Guarded { resolver, policy: policy.clone(), timeout: options.connect_timeout };
        let guarded = Arc::new(guarded);
        let built = |builder: reqwest::ClientBuilder| builder.build().map_err(|error| Error::Setup(describe(&error)));
        let http = built(builder(guarded.clone(), &options).http1_only())?;
        // Each call has a connection of its own. On a shared one long streams use up the streams that a server allows,
        // and everything behind them waits; and a call that got no answer would leave the next one the same dead wire.
        let http2 = built(builder(guarded, &options).http2_prior_knowledge().pool_max_idle_per_host(0))?;
        Ok(Self { http, http2, policy, options: Arc::new(options) })
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Reads and judges an address without asking anybody.
    pub fn target(&self, url: &str) -> Result<Target, Error> {
        Target::parse(url, &self.policy)
    }

    pub fn get(&self, url: &str) -> Result<Request, Error> {
        self.request(Method::GET, url)
    }

    pub fn post(&self, url: &str) -> Result<Request, Error> {
        self.request(Method::POST, url)
    }

    pub fn request(&self, method: Method, url: &str) -> Result<Request, Error> {
        Ok(Request::new(self.clone(), method, self.target(url)?))
    }
}

/// What every client of the library is told, whatever it speaks.
fn builder(guarded: Arc<Guarded>, options: &Options) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .dns_resolver(guarded)
        .redirect(redirect::Policy::none())
        .referer(false)
        // A proxy from the environment would look names up itself, out of our sight.
        .no_proxy()
        .connect_timeout(options.connect_timeout)
        .user_agent(concat!("factum/", env!("CARGO_PKG_VERSION")))
}

/// An error of the library with its causes. Its own first words are an address, which may hold what is secret.
pub(crate) fn describe(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let text = cause.to_string();
        if causes.last() != Some(&text) {
            causes.push(text);
        }
        source = cause.source();
    }
    if causes.is_empty() { "the request failed".to_owned() } else { causes.join(": ") }
}
