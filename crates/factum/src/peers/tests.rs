//! What the runtime asks of peers, against a peer on loopback that answers by a script of its own.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use factum_a2a::client::PeerOptions;
use factum_model::peer::{DeliveryMechanism, PeerRecovery};
use factum_model::task::TaskStatus;
use factum_runtime::{Answer, ArtifactContent, Delegate, Errand, Found, Given, Remote, Terms, Trouble, ViewedArtifact};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::delegate::Peers;
use crate::config::{Peer, PeerCredential, Settings};

mod arrival;
mod bounds;

/// Answers a method with a result, an error, or a stream of results.
enum Says {
    Result(Value),
    Error(i32),
    Stream(Vec<Value>),
    /// Anything, from whoever stands in front of the peer.
    Else(u16, String),
}

type Script = fn(&str, &Value) -> Says;

struct Fake {
    script: Script,
    asked: Mutex<Vec<(String, Value)>>,
    address: Mutex<Option<SocketAddr>>,
    extensions: Value,
}

async fn answer(State(fake): State<Arc<Fake>>, body: String) -> Response {
    let Ok(body) = serde_json::from_str::<Value>(&body) else {
        let url = format!("http://{}/", fake.address.lock().unwrap());
        if fake.extensions.is_null() {
            let card = json!({ "name": "fake", "url": url, "capabilities": { "streaming": true } });
            return card.to_string().into_response();
        }
        let card = json!({
            "name": "fake",
            "capabilities": { "streaming": true, "extensions": fake.extensions },
            "supportedInterfaces": [{ "url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
        });
        return card.to_string().into_response();
    };
    let method = body["method"].as_str().unwrap_or_default().to_owned();
    fake.asked.lock().push((method.clone(), body["params"].clone()));
    let wrap = |result: &Value| json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string();
    match (fake.script)(&method, &body["params"]) {
        Says::Result(result) => wrap(&result).into_response(),
        Says::Error(code) => {
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": code, "message": "no" } }).to_string().into_response()
        }
        Says::Else(status, body) => (axum::http::StatusCode::from_u16(status).unwrap(), body).into_response(),
        Says::Stream(items) => {
            let events: String = items
                .iter()
                .enumerate()
                .map(|(at, item)| format!("id: {}\ndata: {}\n\n", at + 1, wrap(item)))
                .collect();
            ([("content-type", "text/event-stream")], events).into_response()
        }
    }
}

async fn start(script: Script, extensions: Value) -> (Arc<Fake>, Peers) {
    let (asked, address) = Default::default();
    let fake = Arc::new(Fake { script, asked, address, extensions });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    *fake.address.lock() = Some(address);
    let router = Router::new().fallback(answer).with_state(fake.clone());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let client = factum_outbound::Client::new(factum_outbound::Options::default().with_loopback()).unwrap();
    let options = PeerOptions { url: format!("http://{address}"), ..PeerOptions::default() };
    (fake, Peers::new(client, vec![("north".to_owned(), options)]))
}

/// A peer whose card is of April 2025.
async fn start_april(script: Script) -> (Arc<Fake>, Peers) {
    start(script, Value::Null).await
}

fn task(state: &str) -> Value {
    json!({ "id": "r1", "contextId": "c1", "status": { "state": state } })
}

/// The same, called as it was asked for.
fn called(params: &Value, mut task: Value) -> Value {
    task["id"] = params["id"].clone();
    task
}

fn errand() -> Errand {
    let since = jiff::Timestamp::from_second(1_800_000_000).unwrap();
    Errand { message_id: "msg_1".to_owned(), text: "count".to_owned(), since }
}

fn remote() -> Remote {
    Remote { task_id: "r1".to_owned(), context_id: Some("c1".to_owned()) }
}

#[tokio::test]
async fn an_errand_is_given_with_its_own_message_id_and_an_answer_names_its_task() {
    let (fake, peers) = start(|_, _| Says::Result(json!({ "task": task("TASK_STATE_WORKING") })), json!([])).await;
    let Given::Task(view) = peers.give("north", &errand()).await.unwrap() else { panic!("words") };
    assert_eq!(
        (view.remote.clone(), view.status, view.recovery),
        (remote(), TaskStatus::Running, PeerRecovery::Running)
    );
    assert_eq!((view.native_status.as_str(), view.delivery), ("TASK_STATE_WORKING", DeliveryMechanism::Subscription));
    let answer = Answer {
        message_id: "act_1".to_owned(),
        decision: "allow".to_owned(),
        text: "up".to_owned(),
        action_id: Some("act_there".to_owned()),
    };
    peers.answer("north", &remote(), &answer).await.unwrap();
    let asked = fake.asked.lock().clone();
    let message = |at: usize| asked[at].1["message"].clone();
    assert_eq!((&message(0)["messageId"], &message(0)["parts"][0]["text"]), (&json!("msg_1"), &json!("count")));
    assert_eq!(asked[0].1["configuration"]["returnImmediately"], true);
    assert_eq!((&message(1)["taskId"], &message(1)["contextId"]), (&json!("r1"), &json!("c1")));
    assert_eq!(message(1)["metadata"], json!({ "decision": "allow", "action_id": "act_there" }));
}

#[tokio::test]
async fn every_state_has_a_meaning() {
    let table = [
        ("TASK_STATE_SUBMITTED", TaskStatus::Queued, PeerRecovery::Idle),
        ("TASK_STATE_INPUT_REQUIRED", TaskStatus::WaitingInput, PeerRecovery::WaitingInput),
        ("TASK_STATE_AUTH_REQUIRED", TaskStatus::WaitingPermission, PeerRecovery::WaitingAuthorization),
        ("TASK_STATE_COMPLETED", TaskStatus::Completed, PeerRecovery::CompletedUnreconciled),
        ("TASK_STATE_FAILED", TaskStatus::Failed, PeerRecovery::CompletedUnreconciled),
        ("TASK_STATE_REJECTED", TaskStatus::Failed, PeerRecovery::CompletedUnreconciled),
        ("TASK_STATE_CANCELED", TaskStatus::Cancelled, PeerRecovery::CompletedUnreconciled),
        ("TASK_STATE_UNSPECIFIED", TaskStatus::Unknown, PeerRecovery::Unknown),
        ("TASK_STATE_PONDERING", TaskStatus::Unknown, PeerRecovery::Unknown),
    ];
    // The id that is asked for is the state that is answered.
    let script: Script = |_, params| Says::Result(called(params, task(params["id"].as_str().unwrap())));
    let (_, peers) = start(script, json!([])).await;
    for (state, status, recovery) in table {
        let remote = Remote { task_id: state.to_owned(), context_id: None };
        let view = peers.look("north", &remote).await.unwrap();
        assert_eq!((view.status, view.recovery, view.native_status.as_str()), (status, recovery, state));
        assert_eq!(view.rejected, state == "TASK_STATE_REJECTED");
    }
}

/// Messages of April 2025 have no ids: questions are told apart by when they were asked.
#[tokio::test]
async fn questions_without_an_id_are_told_apart_by_their_time() {
    fn script(_: &str, params: &Value) -> Says {
        let message = json!({ "role": "agent", "parts": [{ "type": "text", "text": "up?" }] });
        let mut status = json!({ "state": "input-required", "message": message });
        match params["id"].as_str() {
            Some("timed") => status["timestamp"] = json!("2025-04-01T00:00:00Z"),
            // As the official server of that time writes it.
            Some("zoneless") => status["timestamp"] = json!("2025-04-01T00:00:00.123456"),
            _ => {}
        }
        Says::Result(json!({ "id": params["id"], "status": status }))
    }
    let (_, peers) = start_april(script).await;
    let look = async |id: &str| {
        let remote = Remote { task_id: id.to_owned(), context_id: None };
        peers.look("north", &remote).await.unwrap().question
    };
    for id in ["timed", "zoneless"] {
        assert!(look(id).await.is_some_and(|question| question.starts_with("2025-04-01")), "{id}");
    }
    assert_eq!(look("untimed").await, None);
}

#[tokio::test]
async fn a_stream_tells_states_and_whole_artifacts_and_where_to_go_on() {
    fn script(_: &str, _: &Value) -> Says {
        let artifact = |id: &str, more: Value| {
            let mut update = json!({ "taskId": "r1", "contextId": "c1",
                "artifact": { "artifactId": id, "name": "numbers", "parts": [{ "text": "1 2 3" }] } });
            update.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
            json!({ "artifactUpdate": update })
        };
        let question = json!({ "messageId": "q1", "role": "ROLE_AGENT", "parts": [{ "text": "up?" }] });
        Says::Stream(vec![
            json!({ "task": task("TASK_STATE_WORKING") }),
            artifact("a0", json!({})),
            artifact("a0", json!({ "append": false, "lastChunk": false })),
            artifact("a0", json!({ "append": true })),
            artifact("a0", json!({ "append": true, "lastChunk": true })),
            artifact("a1", json!({ "append": false, "lastChunk": true })),
            json!({ "statusUpdate": { "taskId": "r1", "contextId": "c1",
                "status": { "state": "TASK_STATE_INPUT_REQUIRED", "message": question } } }),
        ])
    }
    let (_, peers) = start(script, json!([])).await;
    let mut stream = peers.follow("north", &remote(), None).await.unwrap().unwrap();
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!((first.recovery, first.whole), (PeerRecovery::Running, true));
    let second = stream.next().await.unwrap().unwrap();
    let content = ArtifactContent::Bytes { media_type: "text/plain; charset=utf-8".to_owned(), bytes: "1 2 3".into() };
    let artifact = (second.artifacts[0].remote_id.as_str(), &second.artifacts[0].content, second.whole);
    assert_eq!(artifact, ("a1", &content, false), "what is streamed in pieces is not kept piece by piece");
    let third = stream.next().await.unwrap().unwrap();
    assert_eq!((third.recovery, third.question.as_deref()), (PeerRecovery::WaitingInput, Some("q1")));
    assert_eq!((third.message.as_deref(), stream.position().as_deref()), (Some("up?"), Some("7")));
    assert_eq!(stream.next().await.unwrap(), None);
}

#[tokio::test]
async fn what_a_peer_does_not_know_or_do_is_told_apart() {
    let (_, peers) = start(|_, _| Says::Error(-32001), json!([])).await;
    assert!(matches!(peers.look("north", &remote()).await, Err(Trouble::Missing { .. })));
    let (_, peers) = start(|_, _| Says::Error(-32002), json!([])).await;
    assert!(matches!(peers.cancel("north", &remote()).await, Err(Trouble::Refused { .. })));
    let away = peers.give("south", &errand()).await;
    assert!(matches!(away, Err(Trouble::Network { may_have_arrived: false, .. })), "{away:?}");
}

#[tokio::test]
async fn a_peer_is_described_by_its_card() {
    let (fake, peers) = start(|_, _| Says::Result(json!({ "task": task("TASK_STATE_WORKING") })), json!([])).await;
    assert_eq!(peers.described("north"), None, "it was not read yet");
    let Given::Task(view) = peers.give("north", &errand()).await.unwrap() else { panic!("words") };
    let described = peers.described("north").unwrap();
    let card = format!("http://{}/.well-known/agent-card.json", fake.address.lock().unwrap());
    assert_eq!((described.card.as_ref(), view.card.as_ref()), (Some(&card), Some(&card)));
    assert_eq!(described.capabilities, ["artifacts", "task_delegation", "streaming"]);
}

/// Nothing is sent to a peer that wants to be asked by rules that nobody here knows.
#[tokio::test]
async fn a_required_extension_that_nobody_knows_is_a_refusal() {
    let required = json!([{ "uri": "https://example.com/ext", "required": true }]);
    let (fake, peers) = start(|_, _| Says::Error(-32601), required).await;
    let Err(Trouble::Refused { problem }) = peers.give("north", &errand()).await else { panic!("given") };
    assert!(problem.contains("https://example.com/ext"), "{problem}");
    assert!(fake.asked.lock().is_empty());
}

/// What a question says to programs, as another Factum says it: in its data, or beside it where it has none.
#[tokio::test]
async fn the_terms_of_a_question_are_read() {
    fn script(_: &str, params: &Value) -> Says {
        let (parts, metadata) = match params["id"].as_str() {
            Some("plain") => (json!([{ "text": "up?" }]), json!({ "action_id": "act_1" })),
            Some("silent") => (json!([{ "text": "up?" }]), json!(null)),
            _ => {
                let data = json!({ "action_id": "act_2", "decisions": ["allow", "deny"], "tool_name": "rm",
                    "input_schema": { "type": "object" } });
                (json!([{ "text": "up?" }, { "data": data }]), json!(null))
            }
        };
        let message = json!({ "messageId": "q1", "role": "ROLE_AGENT", "parts": parts, "metadata": metadata });
        let mut task = called(params, task("TASK_STATE_INPUT_REQUIRED"));
        task["status"]["message"] = message;
        Says::Result(task)
    }
    let (_, peers) = start(script, json!([])).await;
    let terms = async |id: &str| {
        let remote = Remote { task_id: id.to_owned(), context_id: None };
        peers.look("north", &remote).await.unwrap().terms
    };
    assert_eq!(terms("plain").await, Terms { action_id: Some("act_1".to_owned()), ..Terms::default() });
    assert_eq!(terms("silent").await, Terms::default());
    let all = Terms {
        action_id: Some("act_2".to_owned()),
        tool_name: Some("rm".to_owned()),
        decisions: vec!["allow".to_owned(), "deny".to_owned()],
        input_schema: Some(json!({ "type": "object" })),
    };
    assert_eq!(terms("all").await, all);
}

/// An agent that streams its text makes a part of each piece: together they are the text.
#[tokio::test]
async fn pieces_of_text_are_one_text() {
    fn script(_: &str, params: &Value) -> Says {
        let parts = match params["id"].as_str() {
            Some("plain") => json!([{ "text": "c0 " }, { "text": "c1 " }, { "text": "c2" }]),
            Some("marked") => {
                json!([{ "text": "# c", "mediaType": "text/markdown" }, { "text": "0", "mediaType": "text/markdown" }])
            }
            Some("both") => json!([{ "text": "# c", "mediaType": "text/markdown" }, { "text": "0" }]),
            _ => json!([{ "text": "c0" }, { "data": { "c": 1 } }]),
        };
        let mut task = called(params, task("TASK_STATE_COMPLETED"));
        task["artifacts"] = json!([{ "artifactId": "a1", "parts": parts }]);
        Says::Result(task)
    }
    let (_, peers) = start(script, json!([])).await;
    for (id, media_type, text) in [
        ("plain", "text/plain; charset=utf-8", "c0 c1 c2"),
        ("marked", "text/markdown", "# c0"),
        ("both", "text/plain; charset=utf-8", "# c0"),
        ("mixed", "application/json", r#"[{"text":"c0"},{"data":{"c":1}}]"#),
    ] {
        let remote = Remote { task_id: id.to_owned(), context_id: None };
        let view = peers.look("north", &remote).await.unwrap();
        let content = ArtifactContent::Bytes { media_type: media_type.to_owned(), bytes: text.into() };
        assert_eq!(view.artifacts[0].content, content, "{id}");
    }
}

/// Of a reply, and of a task's last word, more is kept than the words that a fact repeats: all of the text first, then each of the
/// other parts as what it is.
#[tokio::test]
async fn what_a_message_holds_besides_short_words_is_kept() {
    fn script(method: &str, params: &Value) -> Says {
        let parts = match params["message"]["parts"][0]["text"].as_str().or(params["id"].as_str()) {
            Some("short") => json!([{ "text": "4" }, { "text": "2" }]),
            Some("data") => json!([{ "data": { "answer": 42 } }]),
            _ => json!([{ "text": "x".repeat(5_000) }, { "data": { "answer": 42 } },
                { "raw": "AQI=", "filename": "n.bin", "mediaType": "image/png" }, { "text": "end" }]),
        };
        let message = json!({ "messageId": "m", "role": "ROLE_AGENT", "parts": parts });
        let mut task = task("TASK_STATE_COMPLETED");
        task["status"]["message"] = message.clone();
        task["id"] = params["id"].clone();
        Says::Result(if method == "SendMessage" { json!({ "message": message }) } else { task })
    }
    let (_, peers) = start(script, json!([])).await;
    let kept = |id: &str, name: Option<&str>, media_type: &str, bytes: &[u8]| ViewedArtifact {
        remote_id: format!("message:m/{id}"),
        name: name.map(str::to_owned),
        content: ArtifactContent::Bytes { media_type: media_type.to_owned(), bytes: bytes.to_vec().into() },
    };
    let long = format!("{}\nend", "x".repeat(5_000));
    let answer = br#"{"answer":42}"#;
    let all = vec![
        kept("text", Some("message"), "text/plain; charset=utf-8", long.as_bytes()),
        kept("1", None, "application/json", answer),
        kept("2", Some("n.bin"), "image/png", &[1, 2]),
    ];
    let data = vec![kept("0", None, "application/json", answer)];
    for (id, words, held) in [("short", "4\n2", vec![]), ("data", "", data), ("all", long.as_str(), all)] {
        let given = peers.give("north", &Errand { text: id.to_owned(), ..errand() }).await.unwrap();
        assert_eq!(given, Given::Reply { text: words.to_owned(), artifacts: held.clone() }, "{id}");
        let remote = Remote { task_id: id.to_owned(), context_id: None };
        assert_eq!(peers.look("north", &remote).await.unwrap().artifacts, held, "{id}");
    }
}

/// It would never be sent, and look like a peer that is away.
#[test]
#[allow(clippy::disallowed_methods, reason = "tests touch the world")]
fn a_credential_that_would_be_sent_in_the_clear_is_refused_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    std::fs::write(&path, "hunter2").unwrap();
    let start = |url: &str, credential: &PeerCredential| {
        let peer = Peer { url: url.to_owned(), credential: credential.clone(), ..Peer::default() };
        let settings = Settings { peers: [("north".to_owned(), peer)].into(), ..Settings::default() };
        let allow = vec!["10.0.0.0/8".parse().unwrap()];
        let outbound = factum_outbound::Options { allow, ..Default::default() }.with_loopback();
        super::delegate(&settings, outbound).map(drop).map_err(|error| format!("{error:#}"))
    };
    let token = PeerCredential::TokenFile(path);
    for url in ["https://peer.internal", "http://10.0.0.1:8080", "http://localhost:7420"] {
        assert_eq!(start(url, &token), Ok(()), "{url}");
    }
    let refused = start("http://peer.internal:8080", &token).unwrap_err();
    assert!(refused.contains("peers.north") && refused.contains("use https"), "{refused}");
    assert_eq!(start("http://peer.internal:8080", &PeerCredential::None), Ok(()), "there is nothing to keep");
}
