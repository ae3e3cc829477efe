//! A server whose log nobody reads any more: whoever collected it has died, or its disk is full.

use serde_json::json;

use crate::access::serve_with;
use factum_testkit::Client;

#[tokio::test]
async fn a_server_that_cannot_log_answers_and_ends_as_ever() {
    // Everything that happens would be logged.
    let (_dir, mut server, _) = serve_with(|launch| launch.arg("-vvv").unheard()).await;
    for _ in 0..3 {
        let refused = server.http(Some("fct_wrong")).call("list_sessions", json!({})).await.unwrap_err();
        assert_eq!(refused["code"], "unauthenticated", "{refused}");
    }
    server.term().await;
}
