//! Names that lead where they should not, names that change their mind, and answers that point elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::HeaderMap;
use axum::response::Redirect;
use axum::routing::get;
use factum_outbound::{Client, Error, Options, Range, Spelling};
use secrecy::SecretString;

use crate::world::{Changing, allowing, local, serve};

#[tokio::test]
async fn a_name_with_one_address_that_is_not_public_is_refused_before_anything_is_sent() {
    let table: &[(&[&str], Range)] = &[
        (&["127.0.0.1"], Range::Loopback),
        (&["8.8.8.8", "127.0.0.1"], Range::Loopback),
        (&["2001:4860:4860::8888", "::ffff:169.254.169.254"], Range::LinkLocal),
        (&["64:ff9b::10.0.0.1"], Range::Private),
        (&["fd00::1"], Range::UniqueLocal),
    ];
    for (answer, expected) in table {
        let resolver = Changing::new(&[answer]);
        let client = Client::with_resolver(Options::default(), resolver.clone()).unwrap();
        let error = client.get("https://inside.example/").unwrap().send().await.unwrap_err();
        let Error::Blocked { host, range, .. } = &error else { panic!("{answer:?}: {error}") };
        assert_eq!((host.as_str(), range, resolver.asked()), ("inside.example", expected, 1), "{answer:?}");
        assert!(error.to_string().contains("allow below [outbound]"), "{error}");
        assert!(error.is_before_sending());
    }
}

/// The name is one of an allowed address first, and of loopback from then on. What was judged is what is reached.
#[tokio::test]
async fn a_name_that_changes_its_mind_is_looked_up_once_and_changes_nothing() {
    let good = serve("127.0.0.2:0", Router::new().route("/", get(|| async { "good" }))).await;
    let resolver = Changing::new(&[&["127.0.0.2"], &["127.0.0.1"]]);
    let client = Client::with_resolver(allowing(&["127.0.0.2/32"]), resolver.clone()).unwrap();
    let url = format!("http://rebinding.example:{}/", good.port());
    let answer = client.get(&url).unwrap().send().await.unwrap();
    assert_eq!((answer.body.as_ref(), resolver.asked()), (b"good".as_ref(), 1));

    // Another connection is another lookup, and is judged like the first.
    let client = Client::with_resolver(allowing(&["127.0.0.2/32"]), resolver.clone()).unwrap();
    let error = client.get(&url).unwrap().send().await.unwrap_err();
    assert!(matches!(error, Error::Blocked { range: Range::Loopback, .. }), "{error}");
    assert_eq!(resolver.asked(), 2);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let reached = Arc::new(AtomicUsize::new(0));
    let count = reached.clone();
    let router = Router::new()
        .route("/from", get(|| async { Redirect::temporary("/to") }))
        .route("/to", get(move || async move { count.fetch_add(1, Ordering::SeqCst).to_string() }));
    let address = serve("127.0.0.1:0", router).await;
    let error = local().get(&format!("http://{address}/from")).unwrap().send().await.unwrap_err();
    let Error::Redirected { status: 307, to: Some(to), .. } = &error else { panic!("{error}") };
    assert_eq!((to.as_str(), reached.load(Ordering::SeqCst)), ("/to", 0));
    assert!(error.to_string().contains("give the final address"), "{error}");
}

#[tokio::test]
async fn this_machine_is_reached_only_where_it_was_allowed() {
    let address = serve("127.0.0.1:0", Router::new().route("/", get(|| async { "here" }))).await;
    let (literal, name) = (format!("http://{address}/"), format!("http://localhost:{}/", address.port()));
    for url in [&literal, &name] {
        let answer = local().get(url).unwrap().send().await.unwrap();
        assert_eq!(answer.body.as_ref(), b"here", "{url}");
    }
    let closed = Client::new(Options::default()).unwrap();
    assert!(matches!(closed.get(&literal).map(drop), Err(Error::Blocked { range: Range::Loopback, .. })));
    assert!(matches!(closed.get(&name).map(drop), Err(Error::Address { problem: Spelling::Localhost, .. })));
}

#[tokio::test]
async fn a_secret_is_sent_but_not_in_the_clear_and_never_shown() {
    let echo = |headers: HeaderMap| async move { headers["authorization"].to_str().unwrap().to_owned() };
    let address = serve("127.0.0.1:0", Router::new().route("/", get(echo))).await;
    let secret = SecretString::from("hunter2");
    let answer = local().get(&format!("http://{address}/")).unwrap().bearer(&secret).send().await.unwrap();
    assert_eq!(answer.body.as_ref(), b"Bearer hunter2");

    let resolver = Changing::new(&[&["8.8.8.8"]]);
    let client = Client::with_resolver(Options::default(), resolver.clone()).unwrap();
    let error = client.get("http://example.com/").unwrap().bearer(&secret).send().await.unwrap_err();
    assert!(error.to_string().contains("use https"), "{error}");
    assert!(!error.to_string().contains("hunter2"));
    assert_eq!(resolver.asked(), 0, "nothing was even looked up");
}

#[tokio::test]
async fn a_name_that_is_none_and_a_port_where_nobody_listens_are_told_apart() {
    let resolver = Changing::new(&[&[]]);
    let client = Client::with_resolver(Options::default(), resolver).unwrap();
    let error = client.get("https://nobody.example/").unwrap().send().await.unwrap_err();
    assert!(matches!(error, Error::Unresolved { .. }) && error.is_before_sending(), "{error}");

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = local().post(&format!("http://{address}/")).unwrap().send().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }) && error.is_before_sending(), "{error}");
    let error = local().post(&format!("http://{address}/")).unwrap().call().await.map(drop).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }) && error.is_before_sending(), "over HTTP/2: {error}");
}
