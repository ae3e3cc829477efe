//! A proxy from the environment is not used. The environment of a process is set before it starts, so one is started.

use std::net::TcpListener;

use axum::Router;
use axum::routing::get;

use crate::world::{local, serve};

/// Also run by the test below, in a process whose environment names proxies.
#[tokio::test]
async fn a_request_reaches_its_target() {
    let address = serve("127.0.0.1:0", Router::new().route("/", get(|| async { "direct" }))).await;
    let answer = local().get(&format!("http://{address}/")).unwrap().send().await.unwrap();
    assert_eq!(answer.body.as_ref(), b"direct");
}

#[test]
#[allow(clippy::disallowed_methods, reason = "this test's own binary, with another environment")]
fn proxies_of_the_environment_are_not_used() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let url = format!("http://{}", proxy.local_addr().unwrap());
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "proxy::a_request_reaches_its_target"]);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, &url);
    }
    let output = command.env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(
        proxy.accept().map(drop).unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock,
        "nobody came to the proxy"
    );
}
