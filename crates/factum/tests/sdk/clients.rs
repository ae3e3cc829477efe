//! Every client on every binding it speaks: send, stream, subscribe, ask, list, cancel, configure push.

use crate::support::*;

async fn plays(sdk: Sdk, script: &str, binding: &str) {
    let (_dir, server, token) = server().await;
    succeeds(sdk.script(script).args([server.url("").as_str(), binding, &token]), &server).await;
}

#[tokio::test]
async fn python_1_0_over_json_rpc() {
    plays(PYTHON_1, "python_1.py", "JSONRPC").await;
}

#[tokio::test]
async fn python_1_0_over_http_json() {
    plays(PYTHON_1, "python_1.py", "HTTP+JSON").await;
}

#[tokio::test]
async fn python_1_0_over_grpc() {
    plays(PYTHON_1, "python_1.py", "GRPC").await;
}

#[tokio::test]
async fn python_0_3_over_json_rpc() {
    plays(PYTHON_03, "python_03.py", "JSONRPC").await;
}

#[tokio::test]
async fn python_0_3_over_http_json() {
    plays(PYTHON_03, "python_03.py", "HTTP+JSON").await;
}

#[tokio::test]
async fn js_1_0_over_json_rpc() {
    plays(JS_1, "js_1.mjs", "JSONRPC").await;
}

#[tokio::test]
async fn js_1_0_over_http_json() {
    plays(JS_1, "js_1.mjs", "HTTP+JSON").await;
}

#[tokio::test]
async fn js_1_0_over_grpc() {
    plays(JS_1, "js_1.mjs", "GRPC").await;
}

#[tokio::test]
async fn js_0_3_over_json_rpc() {
    plays(JS_03, "js_03.mjs", "JSONRPC").await;
}

#[tokio::test]
async fn js_0_3_over_http_json() {
    plays(JS_03, "js_03.mjs", "HTTP+JSON").await;
}
