//! Plain requests are read right from their connection and all others by hyper. Nobody can tell which of the two it was: same
//! status, same headers, same body. And nothing is lost where one takes over from the other.

use factum_testkit::{Server, within};
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

    /// The next answer: its head, and its body by the length that the head tells.
    async fn answer(&mut self) -> (String, String) {
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\n") {
            text.push(within("a head", self.0.read_u8()).await.expect("an answer"));
        }
        let head = String::from_utf8(text).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        within("a body", self.0.read_exact(&mut body)).await.unwrap();
        (head, String::from_utf8(body).unwrap())
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
async fn a_stream_that_was_asked_for_in_disguise_is_a_stream_all_the_same() {
    let (_dir, server) = dev().await;
    let mut wire = Wire::open(&server).await;
    let message = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}"#;
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendS\u0074reamingMessage","params":{message}}}"#);
    wire.send(&request("/a2a", "A2A-Version: 1.0\r\n", &body)).await;
    let text = wire.rest().await;
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("content-type: text/event-stream"), "{text}");
    assert!(text.contains("connection: close") && text.contains("TASK_STATE_COMPLETED"), "{text}");
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
