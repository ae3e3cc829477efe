//! A server whose routes a test gives, and resolvers that say what a test wants.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use factum_outbound::{Client, Network, Options, Resolve};
use parking_lot::Mutex;

/// Serves on this address until the test ends.
pub(crate) async fn serve(address: &str, router: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await.unwrap();
    });
    address
}

/// Answers each lookup with the next of its answers, and counts.
pub(crate) struct Changing {
    pub(crate) answers: Vec<Vec<IpAddr>>,
    pub(crate) asked: Mutex<Vec<String>>,
}

impl Changing {
    pub(crate) fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self { answers: answers.iter().map(parse).collect(), asked: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.lock().len()
    }
}

#[async_trait]
impl Resolve for Changing {
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        let mut asked = self.asked.lock();
        asked.push(name.to_owned());
        let index = (asked.len() - 1).min(self.answers.len() - 1);
        Ok(self.answers[index].clone())
    }
}

pub(crate) fn allowing(networks: &[&str]) -> Options {
    let allow = networks.iter().map(|network| network.parse::<Network>().unwrap()).collect();
    Options { allow, ..Options::default() }
}

pub(crate) fn local() -> Client {
    Client::new(Options::default().with_loopback()).unwrap()
}
