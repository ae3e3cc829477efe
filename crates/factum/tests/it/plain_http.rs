//! Plain requests are read right from their connection and all others by hyper. Nobody can tell which of the two it was: same
//! status, same headers, same body. And nothing is lost where one takes over from the other.

use factum_testkit::{Client, Server, within};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::*;

/// A header that plain requests do not have, so that hyper reads the request.
const FOR_HYPER: &str = "TE: trailers\r\n";

fn request(path: &str, headers: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len())
}

struct Wire(TcpStream);

impl Wire {
    async fn open(server: &Server) -> Self {
        Self(TcpStream::connect(server.address()).await.unwrap())
    }

    async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// The next answer: its head, and its body by the length that the head tells, or by its chunks.
    async fn answer(&mut self) -> (String, String) {
        let head = self.until("\r\n\r\n").await;
        if head.contains("\r\ntransfer-encoding: chunked\r\n") {
            let mut body = String::new();
            loop {
                let chunk = self.chunk().await;
                if chunk.is_empty() {
                    return (head, body);
                }
                body += &chunk;
            }
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let body = self.exactly(length.map_or(0, |length| length.parse().unwrap())).await;
        (head, body)
    }

    async fn chunk(&mut self) -> String {
        let length = self.until("\r\n").await;
        let data = self.exactly(usize::from_str_radix(length.trim_end(), 16).expect("the length of a chunk")).await;
        assert_eq!(self.exactly(2).await, "\r\n");
        data
    }

    async fn until(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            text.push(within("a line", self.0.read_u8()).await.expect("an answer"));
        }
        String::from_utf8(text).unwrap()
    }

    async fn exactly(&mut self, length: usize) -> String {
        let mut bytes = vec![0; length];
        within("a body", self.0.read_exact(&mut bytes)).await.unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// Everything until the server closes.
    async fn rest(&mut self) -> String {
        let mut text = String::new();
        within("the end", self.0.read_to_string(&mut text)).await.unwrap();
        text
    }
}

/// The lines of a head but for the one that changes with time.
fn comparable((head, body): (String, String)) -> (Vec<String>, String) {
    assert!(head.contains("\r\ndate: "), "{head}");
    (head.lines().filter(|line| !line.starts_with("date: ")).map(str::to_owned).collect(), body)
}

#[tokio::test]
async fn both_readers_of_http_answer_the_same() {
    let (_dir, server) = dev().await;
    let not_found = r#"{"session_id":"sess_none"}"#;
    let rpc = |method: &str| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} }).to_string();
    let requests = [
        ("/v1/list_sessions", "", "{}".to_owned()),
        ("/v1/list_sessions", "", String::new()),
        ("/v1/get_session", "", not_found.to_owned()),
        ("/v1/get_session", "Idempotency-Key: \u{e9}\r\n", "{}".to_owned()),
        ("/v1/no_such_command", "", "{}".to_owned()),
        ("/v1/get_session", "", "{broken".to_owned()),
        ("/v1/get_session", "", format!("{}1{}", "[".repeat(100), "]".repeat(100))),
        ("/v1/list_sessions", "Authorization: Bearer nonsense\r\n", "{}".to_owned()),
        ("/v1/list_sessions", "Origin: http://evil.example\r\n", "{}".to_owned()),
        ("/v1/channels/list", "", "{}".to_owned()),
        ("/rpc", "", rpc("list_sessions")),
        ("/rpc", "", rpc("nothing")),
        ("/rpc", "", "[]".to_owned()),
        ("/rpc", "", r#"{"jsonrpc":"2.0","method":"list_sessions"}"#.to_owned()),
        ("/rpc", "Authorization: Bearer nonsense\r\n", rpc("list_sessions")),
        ("/a2a", "A2A-Version: 1.0\r\n", rpc("GetTask")),
        ("/a2a", "A2A-Version: 9.9\r\n", rpc("GetTask")),
        ("/a2a", "", rpc("channels/list")),
    ];
    let (mut plain, mut hyper) = (Wire::open(&server).await, Wire::open(&server).await);
    for (path, headers, body) in &requests {
        plain.send(&request(path, headers, body)).await;
        hyper.send(&request(path, &format!("{headers}{FOR_HYPER}"), body)).await;
        let (plain, hyper) = (comparable(plain.answer().await), comparable(hyper.answer().await));
        assert_eq!(plain, hyper, "{path} {headers}{body}");
    }
}

#[tokio::test]
async fn a_connection_goes_from_one_reader_to_the_other_without_losing_a_byte() {
    let (_dir, server) = dev().await;
    let call = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "list_sessions" }).to_string();
    // All at once: three plain ones, one that is not, and two that hyper reads although they are plain.
    let mut wire = Wire::open(&server).await;
    let headers = ["", "", "", FOR_HYPER, "", ""];
    let text: String = headers.iter().zip(1..).map(|(headers, id)| request("/rpc", headers, &call(id))).collect();
    wire.send(&text).await;
    for id in 1..=6 {
        let (_, body) = wire.answer().await;
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["id"], id, "{body}");
    }
    // One whose body comes by bytes, and one whose head does.
    let mut wire = Wire::open(&server).await;
    let text = request("/rpc", "", &call(7));
    let (head, body) = text.split_at(text.find("\r\n\r\n").unwrap() + 4);
    wire.send(head).await;
    for at in 0..body.len() {
        wire.send(&body[at..=at]).await;
    }
    assert!(wire.answer().await.1.contains("\"id\":7"));
    for at in 0..text.len() {
        wire.send(&text[at..=at]).await;
    }
    assert!(wire.answer().await.1.contains("\"id\":7"));
}

#[tokio::test]
async fn both_readers_ask_the_router_for_the_same() {
    let (_dir, server) = dev().await;
    let session = server.http(None).call("create_session", json!({})).await.unwrap();
    let events = format!("/v1/sessions/{}/events", session["session_id"].as_str().unwrap());
    let get = |path: &str, headers: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    let paths = [
        ("/healthz", ""),
        ("/readyz", "Connection: keep-alive\r\n"),
        ("/.well-known/agent-card.json", ""),
        ("/openapi.json", ""),
        ("/nowhere", ""),
        ("/v1/get_session", ""),
        ("/rpc", ""),
        ("/a2a", ""),
        ("/a2a/tasks/none", "A2A-Version: 1.0\r\n"),
        ("/v1/sessions/sess_none/events", "Accept: text/event-stream\r\n"),
        ("/v1/channels/chan_none/events", "Accept: text/event-stream\r\nLast-Event-ID: 7\r\n"),
        (&events, ""),
        (&events, "Accept: text/event-stream\r\nLast-Event-ID: x\r\n"),
        (&events, "Authorization: Bearer nonsense\r\n"),
        (&events, "Origin: http://evil.example\r\n"),
    ];
    let streams = ["/v1/channels/stream", "/v1/list_sessions?x=1", "/v1/", "/v1/nothing/at/all"];
    let requests =
        paths.iter().map(|(path, headers)| (get(path, headers), get(path, &format!("{headers}{FOR_HYPER}"))));
    let requests = requests.chain(streams.iter().map(|path| (request(path, "", "{}"), request(path, FOR_HYPER, "{}"))));
    let (mut plain, mut hyper) = (Wire::open(&server).await, Wire::open(&server).await);
    for (ours, theirs) in requests {
        plain.send(&ours).await;
        hyper.send(&theirs).await;
        assert_eq!(comparable(plain.answer().await), comparable(hyper.answer().await), "{ours}");
    }
}

#[tokio::test]
async fn a_connection_goes_on_behind_a_stream() {
    let (_dir, server) = dev().await;
    let call = |id: u64, method: &str, params: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        request("/a2a", "A2A-Version: 1.0\r\n", &body)
    };
    let message = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}"#;
    let mut wire = Wire::open(&server).await;
    // All at once; the second of them is a stream in disguise.
    let asked = ["SendStreamingMessage", r"SendS\u0074reamingMessage", "SendMessage", "SendStreamingMessage"];
    let text: String = asked.iter().zip(1..).map(|(method, id)| call(id, method, message)).collect();
    wire.send(&text).await;
    for (method, id) in asked.iter().zip(1..) {
        let (head, body) = wire.answer().await;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && !head.contains("connection: close"), "{head}");
        assert_eq!(head.contains("content-type: text/event-stream\r\n"), *method != "SendMessage", "{head}");
        assert!(body.contains("TASK_STATE_COMPLETED") && body.contains(&format!("\"id\":{id},")), "{body}");
    }
}

#[tokio::test]
async fn a_stream_has_the_same_head_from_either_reader_and_ends_with_its_server() {
    let (_dir, mut server) = dev().await;
    let get = |headers: &str| {
        format!("GET /v1/feed HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{headers}\r\n")
    };
    let (mut plain, mut hyper) = (Wire::open(&server).await, Wire::open(&server).await);
    plain.send(&get("")).await;
    hyper.send(&get(FOR_HYPER)).await;
    let mut begun = Vec::new();
    for wire in [&mut plain, &mut hyper] {
        let head = wire.until("\r\n\r\n").await;
        begun.push(comparable((head, wire.chunk().await)));
    }
    assert_eq!(begun[0], begun[1]);
    assert!(begun[0].0.contains(&"transfer-encoding: chunked".to_owned()), "{begun:?}");
    server.term().await;
    for mut wire in [plain, hyper] {
        let rest = wire.rest().await;
        assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
    }
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed_after_header_timeout() {
    let dir = tempfile::tempdir().unwrap();
    let server = launch(&dir).env("FACTUM_LIMITS_HEADER_TIMEOUT_MS", 300).start().await;
    let mut wire = Wire::open(&server).await;
    assert_eq!(wire.rest().await, "");
    let mut wire = Wire::open(&server).await;
    wire.send(&request("/v1/list_sessions", "", "{}")).await;
    wire.answer().await;
    assert_eq!(wire.rest().await, "", "nothing follows the answer");
}

#[tokio::test]
async fn what_was_asked_for_before_a_client_stopped_sending_is_answered() {
    let (_dir, server) = dev().await;
    let mut wire = Wire::open(&server).await;
    let text = request("/v1/create_session", "", "{}").repeat(20);
    wire.send(&text).await;
    wire.0.shutdown().await.unwrap();
    let answers = wire.rest().await.matches("HTTP/1.1 200 OK").count();
    // Whoever sends no more and waits for the last one alone looks like somebody who has gone.
    assert!(answers >= 19, "{answers}");
}

#[tokio::test]
async fn a_body_that_comes_by_bytes_does_not_come_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let server = launch(&dir).env("FACTUM_LIMITS_REQUEST_TIMEOUT_MS", 300).start().await;
    let mut wire = Wire::open(&server).await;
    let body = format!("{{}}{}", " ".repeat(200));
    let text = request("/v1/list_sessions", "", &body);
    let (head, body) = text.split_at(text.find("\r\n\r\n").unwrap() + 4);
    wire.send(head).await;
    for sent in 0.. {
        assert!(sent < body.len(), "all of it was taken, however long it took");
        wire.send(&body[sent..=sent]).await;
        if tokio::time::timeout(std::time::Duration::from_millis(30), wire.0.readable()).await.is_ok() {
            break;
        }
    }
    let answered = wire.until("\r\n\r\n").await;
    assert!(answered.starts_with("HTTP/1.1 503"), "{answered}");
}

#[tokio::test]
async fn every_origin_that_is_named_counts() {
    let (_dir, server) = dev().await;
    let mut wire = Wire::open(&server).await;
    let both = "Origin: http://localhost\r\nOrigin: http://evil.example\r\n";
    wire.send(&request("/v1/list_sessions", both, "{}")).await;
    let (head, _) = wire.answer().await;
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
}
