//! Keys that change: files that are written again, and a key server that is slow, wrong, hostile or gone.

use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::signer::Signer;
use super::*;

#[tokio::test]
async fn a_key_file_is_read_again_when_it_changes() {
    let world = World::new().await;
    let (first, second) = (Signer::p256(), Signer::ed25519());
    let authenticator = world.with_keys(IssuerKeys::JwksFile(world.write_jwks("jwks", &[first.jwk("k1")]))).await;
    assert!(accepts_token(&authenticator, &first.token("k1")).await);
    assert!(!accepts_token(&authenticator, &second.token("k2")).await);

    world.write_jwks("jwks", &[first.jwk("k1"), second.jwk("k2")]);
    assert!(!accepts_token(&authenticator, &second.token("k2")).await, "the file was looked at just now");
    world.pass(2);
    assert!(accepts_token(&authenticator, &second.token("k2")).await);

    world.write_jwks("jwks", &[second.jwk("k2")]);
    world.pass(2);
    assert!(!accepts_token(&authenticator, &first.token("k1")).await, "a withdrawn key is not accepted");

    world.write("jwks", "not a key set");
    world.pass(-60);
    assert!(accepts_token(&authenticator, &second.token("k2")).await, "a broken file leaves the keys as they were");
}

#[tokio::test]
async fn a_key_in_pem_can_be_replaced() {
    let world = World::new().await;
    let (first, second) = (Signer::p256(), Signer::ed25519());
    let authenticator = world.with_keys(IssuerKeys::PemFile(world.write("key.pem", &first.public_pem))).await;
    assert!(accepts_token(&authenticator, &first.token("any")).await);
    world.write("key.pem", &second.public_pem);
    world.pass(2);
    assert!(accepts_token(&authenticator, &second.token("any")).await);
    assert!(!accepts_token(&authenticator, &first.token("any")).await);
}

/// A key server whose answer can be changed and held back.
struct KeyServer {
    url: String,
    shared: Arc<Shared>,
}

type Answer = fn(&Shared) -> Response;

struct Shared {
    answer: Mutex<Answer>,
    keys: Mutex<Vec<Value>>,
    asked: AtomicUsize,
    /// Answers wait for this where `held`.
    release: Notify,
    asked_again: Notify,
    held: std::sync::atomic::AtomicBool,
}

impl Shared {
    fn key_set(&self) -> String {
        json!({ "keys": *self.keys.lock() }).to_string()
    }
}

impl KeyServer {
    async fn start(keys: &[Value]) -> Self {
        let shared = Arc::new(Shared {
            answer: Mutex::new(|shared| shared.key_set().into_response()),
            keys: Mutex::new(keys.to_vec()),
            asked: AtomicUsize::new(0),
            release: Notify::new(),
            asked_again: Notify::new(),
            held: false.into(),
        });
        let router = Router::new().route("/jwks", get(answer)).with_state(shared.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared }
    }

    fn keys(&self) -> IssuerKeys {
        IssuerKeys::JwksUrl(self.url.clone())
    }

    fn publish(&self, keys: &[Value]) {
        *self.shared.keys.lock() = keys.to_vec();
    }

    fn answer_with(&self, answer: Answer) {
        *self.shared.answer.lock() = answer;
    }

    fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::SeqCst)
    }

    async fn asked_more_than(&self, times: usize) {
        loop {
            let asked = self.shared.asked_again.notified();
            if self.asked() > times {
                return;
            }
            asked.await;
        }
    }
}

async fn answer(State(shared): State<Arc<Shared>>) -> Response {
    shared.asked.fetch_add(1, Ordering::SeqCst);
    shared.asked_again.notify_one();
    if shared.held.load(Ordering::SeqCst) {
        shared.release.notified().await;
    }
    let answer = *shared.answer.lock();
    answer(&shared)
}

#[tokio::test]
async fn an_unknown_kid_asks_the_key_server_and_not_too_often() {
    let world = World::new().await;
    let (first, second) = (Signer::p256(), Signer::p256());
    let server = KeyServer::start(&[first.jwk("k1")]).await;
    let authenticator = world.with_keys(server.keys()).await;
    assert_eq!(server.asked(), 1);
    for _ in 0..20 {
        assert!(accepts_token(&authenticator, &first.token("k1")).await);
        assert!(!accepts_token(&authenticator, &second.token("k2")).await);
    }
    assert_eq!(server.asked(), 1, "it was asked just now");

    server.publish(&[first.jwk("k1"), second.jwk("k2")]);
    world.pass(30);
    let token = second.token("k2");
    let all = futures::future::join_all((0..20).map(|_| accepts_token(&authenticator, &token))).await;
    assert_eq!(all, [true; 20], "everybody who waited gets the new key");
    assert_eq!(server.asked(), 2, "one of them asked");
}

#[tokio::test]
async fn good_tokens_do_not_wait_for_a_key_server_that_hangs() {
    let world = World::new().await;
    let signer = Signer::p256();
    let server = KeyServer::start(&[signer.jwk("k1")]).await;
    let authenticator = world.with_keys(server.keys()).await;
    server.shared.held.store(true, Ordering::SeqCst);
    world.pass(301);
    let waiting = tokio::spawn({
        let authenticator = authenticator.clone();
        let token = Signer::p256().token("unknown");
        async move { accepts_token(&authenticator, &token).await }
    });
    server.asked_more_than(1).await;
    let token = signer.token("k1");
    for _ in 0..10 {
        let good = accepts_token(&authenticator, &token);
        assert!(tokio::time::timeout(Duration::from_secs(2), good).await.unwrap());
    }
    assert!(!waiting.is_finished());
    server.shared.release.notify_one();
    assert!(!waiting.await.unwrap());
}

#[tokio::test]
async fn old_keys_are_refreshed_beside_the_requests_and_withdrawn_ones_go() {
    let world = World::new().await;
    let (first, second) = (Signer::p256(), Signer::p256());
    let server = KeyServer::start(&[first.jwk("k1")]).await;
    let authenticator = world.with_keys(server.keys()).await;
    server.publish(&[second.jwk("k2")]);
    world.pass(300);
    assert!(accepts_token(&authenticator, &first.token("k1")).await, "the request that notices does not wait");
    server.asked_more_than(1).await;
    while accepts_token(&authenticator, &first.token("k1")).await {
        tokio::task::yield_now().await;
    }
    assert!(accepts_token(&authenticator, &second.token("k2")).await);
}

/// Each answer would bring a stranger's key in, were it taken.
#[tokio::test]
async fn an_answer_that_is_no_key_set_changes_nothing() {
    static ELSEWHERE_URL: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let world = World::new().await;
    let (signer, stranger) = (Signer::p256(), Signer::p256());
    let server = KeyServer::start(&[signer.jwk("k1")]).await;
    let elsewhere = KeyServer::start(&[stranger.jwk("k2")]).await;
    ELSEWHERE_URL.set(elsewhere.url.clone()).unwrap();
    let authenticator = world.with_keys(server.keys()).await;
    server.publish(&[stranger.jwk("k2")]);
    let answers: [(&str, Answer); 4] = [
        ("an error", |shared| (http::StatusCode::INTERNAL_SERVER_ERROR, shared.key_set()).into_response()),
        ("a page", |shared| format!("<html>{}", shared.key_set()).into_response()),
        ("far too much", |shared| (shared.key_set() + &" ".repeat(10 << 20)).into_response()),
        ("a redirect", |_| Redirect::temporary(ELSEWHERE_URL.get().unwrap()).into_response()),
    ];
    for (number, (name, answer)) in answers.into_iter().enumerate() {
        server.answer_with(answer);
        world.pass(31);
        assert!(!accepts_token(&authenticator, &stranger.token("k2")).await, "{name}");
        assert_eq!(server.asked(), number + 2, "{name}");
        assert!(accepts_token(&authenticator, &signer.token("k1")).await, "{name}");
    }
    assert_eq!(elsewhere.asked(), 0, "redirects are not followed");
}

#[tokio::test]
async fn a_server_starts_without_its_key_server_and_stops_trusting_it_after_a_day() {
    let world = World::new().await;
    let signer = Signer::p256();
    let server = KeyServer::start(&[signer.jwk("k1")]).await;
    server.answer_with(|_| http::StatusCode::BAD_GATEWAY.into_response());
    let authenticator = world.with_keys(server.keys()).await;
    let header = format!("Bearer {}", signer.token("k1"));
    let refusal = authenticator.authenticate(Some(&header), ELSEWHERE).await.unwrap_err();
    assert_eq!(refusal.code, factum_model::ErrorCode::Unavailable);

    server.answer_with(|shared| shared.key_set().into_response());
    world.pass(3);
    assert!(accepts(&authenticator, &header).await);

    server.answer_with(|_| http::StatusCode::BAD_GATEWAY.into_response());
    let claims = super::signer::claims_with(&json!({ "exp": NOW + 1_000_000 }));
    let header = format!("Bearer {}", signer.claiming("k1", &claims));
    world.pass(23 * 3600);
    assert!(accepts(&authenticator, &header).await);
    world.pass(3600);
    let refusal = authenticator.authenticate(Some(&header), ELSEWHERE).await.unwrap_err();
    assert_eq!(refusal.code, factum_model::ErrorCode::Unavailable);
}
