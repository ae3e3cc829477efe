//! Push notification configurations of A2A: `factum dev` takes addresses of this machine, `factum serve` what its
//! configuration allows, and neither takes one that it would not send to.

use factum_testkit::{Launch, Server};
use serde_json::{Value, json};

use crate::access::offline_key;
use crate::support::*;

/// What comes of a message that brings a configuration along: an error's message, or nothing.
async fn refusal(server: &Server, token: Option<&str>, url: &str) -> Option<String> {
    let params = json!({
        "message": { "messageId": url, "role": "ROLE_USER", "parts": [{ "text": "hello" }] },
        "configuration": { "taskPushNotificationConfig": { "url": url, "token": "mine" } },
    });
    let request = server.a2a(token).request("SendMessage", &params).header("a2a-version", "1.0");
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    answer["error"].as_object().map(|error| error["message"].as_str().unwrap().to_owned())
}

const FIELD: &str = "configuration.taskPushNotificationConfig.url: ";

#[tokio::test]
async fn dev_takes_addresses_of_this_machine() {
    let dir = tempfile::tempdir().unwrap();
    let server = launch(&dir).env("FACTUM_A2A_PUSH_NOTIFICATIONS", "true").start().await;
    for url in ["http://127.0.0.1:9/hook", "http://localhost:9/", "https://example.com/"] {
        assert_eq!(refusal(&server, None, url).await, None, "{url}");
    }
    for url in ["http://10.1.2.3/", "http://example.com/", "http://2130706433:9/"] {
        let said = refusal(&server, None, url).await.unwrap_or_else(|| panic!("{url} was taken"));
        assert!(said.starts_with(FIELD), "{said}");
    }
}

#[tokio::test]
async fn serve_takes_what_outbound_allows() {
    let dir = tempfile::tempdir().unwrap();
    let key = offline_key(&dir, "default", &["--admin"]).await;
    let launch = Launch::serve(BINARY, dir.path().join("data"));
    let launch = launch.env("FACTUM_A2A_PUSH_NOTIFICATIONS", "true").env("FACTUM_OUTBOUND_ALLOW", "10.1.0.0/16");
    let server = launch.start().await;
    for url in ["http://10.1.2.3/", "https://example.com/"] {
        assert_eq!(refusal(&server, Some(&key), url).await, None, "{url}");
    }
    for url in ["http://127.0.0.1:9/hook", "https://localhost/", "http://10.2.0.1/", "http://example.com/"] {
        let said = refusal(&server, Some(&key), url).await.unwrap_or_else(|| panic!("{url} was taken"));
        assert!(said.starts_with(FIELD), "{said}");
    }
}
