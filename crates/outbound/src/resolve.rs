//! From a name to the addresses that were judged, in one lookup.
//!
//! The library that connects asks its resolver once for each connection and connects to what it answers. The resolver it
//! is given is [`Guarded`]: it judges every address before it hands any over, so what was judged is what is connected to,
//! and a name that changes its mind in between changes nothing (DNS rebinding).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolving};

use crate::error::{Error, Phase};
use crate::policy::Policy;

/// The most addresses of one name that are looked at.
const ADDRESSES_MAX: usize = 64;

/// Looks names up. Asked once for each connection; need not remember anything.
#[async_trait]
pub trait Resolve: Send + Sync + 'static {
    /// Every address of a name, in the order in which they are to be tried.
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// The resolver of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// A resolver that answers with addresses that may be reached, or not at all.
#[derive(Clone)]
pub(crate) struct Guarded {
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) timeout: Duration,
}

impl Guarded {
    async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, Error> {
        let unresolved = |problem: String| Error::Unresolved { host: name.to_owned(), problem };
        let looked_up = tokio::time::timeout(self.timeout, self.resolver.resolve(name)).await;
        let addresses = looked_up
            .map_err(|_| Error::TimedOut { host: name.to_owned(), phase: Phase::Connecting, after: self.timeout })?
            .map_err(|error| unresolved(error.to_string()))?;
        if addresses.is_empty() || addresses.len() > ADDRESSES_MAX {
            return Err(unresolved(format!("it has {} addresses", addresses.len())));
        }
        self.policy.check(name, &addresses)?;
        Ok(addresses)
    }
}

impl reqwest::dns::Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let guarded = self.clone();
        Box::pin(async move {
            let addresses = guarded.addresses(name.as_str()).await?;
            // Port 0 stands for the port of the request.
            Ok(Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}
