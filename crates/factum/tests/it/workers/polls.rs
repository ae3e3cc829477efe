//! Long polls: longer than a request may take otherwise, beside other calls, and over when the client is gone.

use factum_testkit::clients::Stdio;
use factum_testkit::{Client, eventually, within};
use serde_json::{Value, json};

use crate::support::*;

async fn enroll(client: &dyn Client, name: &str) {
    let params = json!({ "channel_id": name, "peer_role": "worker", "queues": ["q"] });
    client.call("enroll_channel", params).await.unwrap();
}

async fn task(client: &dyn Client) -> String {
    let params = json!({ "objective": "do it", "queue": "q", "status": "queued" });
    field(&client.call("create_task", params).await.unwrap(), "session_id")
}

fn claim(name: &str, wait_ms: u64) -> Value {
    json!({ "channel_id": name, "wait_ms": wait_ms })
}

/// The session of the only run of an answer.
fn session_of(answer: &Value) -> String {
    assert_eq!(answer["runs"].as_array().map(Vec::len), Some(1), "{answer}");
    field(&answer["runs"][0], "session_id")
}

#[tokio::test]
async fn a_claim_waits_longer_than_other_requests_may_take() {
    let dir = tempfile::tempdir().unwrap();
    let server = launch(&dir).env("FACTUM_LIMITS_REQUEST_TIMEOUT_MS", 1_000).start().await;
    let (http, grpc) = (server.http(None), server.grpc(None));
    enroll(&http, "w").await;
    enroll(&http, "v").await;
    let waits = within("a claim", http.call("claim_runs", claim("w", 60_000)));
    let makes = async {
        // An answer after a second and a half shows that so much time has passed.
        let none = grpc.call("claim_runs", json!({ "channel_id": "v", "wait_ms": 1_500, "queues": ["q"] }));
        assert_eq!(none.await.unwrap()["runs"], json!([]));
        task(&server.http(None)).await
    };
    let (claimed, session) = tokio::join!(waits, makes);
    assert_eq!(session_of(&claimed.unwrap()), session);
}

#[tokio::test]
async fn a_claim_that_waits_holds_up_nothing_on_its_connection() {
    let (_dir, server) = dev().await;
    let bridge = Stdio::spawn(BINARY, &["--url", &server.url("")], &[]);
    let ws = server.ws(None).await;
    for client in [&ws as &dyn Client, &bridge] {
        enroll(client, client.name()).await;
        let waits = within("a claim", client.call("claim_runs", claim(client.name(), 60_000)));
        let (claimed, session) = tokio::join!(waits, task(client));
        assert_eq!(session_of(&claimed.unwrap()), session, "{}", client.name());
    }
}

#[tokio::test]
async fn a_client_that_goes_while_it_waits_gets_nothing() {
    let dir = tempfile::tempdir().unwrap();
    // With room for one, the second is let in as soon as the first is known to have gone.
    let server = launch(&dir).env("FACTUM_LIMITS_WAITING_WORKERS_MAX", 1).start().await;
    let http = server.http(None);
    enroll(&http, "gone").await;
    enroll(&http, "there").await;
    for transport in ["ws", "http", "grpc"] {
        let client: Box<dyn Client> = match transport {
            "ws" => Box::new(server.ws(None).await),
            "http" => Box::new(server.http(None)),
            _ => Box::new(server.grpc(None)),
        };
        let waits = tokio::spawn(async move { wait_as(&*client, "gone").await });
        until_one_waits(&http, "there").await;
        waits.abort();
        drop(waits.await);
        eventually("the first one has gone", async || http.call("claim_runs", claim("there", 1)).await.ok()).await;
        let session = task(&http).await;
        let claimed = http.call("claim_runs", claim("there", 60_000)).await.unwrap();
        assert_eq!(session_of(&claimed), session, "{transport}");
    }
}

#[tokio::test]
async fn a_server_that_closes_sends_those_who_wait_away() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = launch(&dir).env("FACTUM_LIMITS_WAITING_WORKERS_MAX", 1).start().await;
    let http = server.http(None);
    enroll(&http, "w").await;
    let waiting = tokio::spawn(async move { wait_as(&http, "w").await });
    until_one_waits(&server.http(None), "w").await;
    within("the end of the server", server.term()).await;
    assert_eq!(waiting.await.unwrap()["runs"], json!([]));
}

/// Waits for a run in the only place there is, as soon as it is free: those who look whether it is free are in it too.
async fn wait_as(client: &dyn Client, name: &str) -> Value {
    loop {
        match client.call("claim_runs", claim(name, 60_000)).await {
            Err(refused) if refused["code"] == "limit_exceeded" => {}
            outcome => return outcome.unwrap(),
        }
    }
}

/// Looks until the only place to wait is taken.
async fn until_one_waits(client: &dyn Client, name: &str) {
    eventually("somebody waits", async || {
        let refused = client.call("claim_runs", claim(name, 1)).await.err()?;
        (refused["code"] == "limit_exceeded").then_some(())
    })
    .await;
}
