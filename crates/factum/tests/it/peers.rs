//! A remote channel over every transport: it enrolls, takes part in a session, reads, is cut off, comes back and gets exactly
//! what it missed; the server is killed in between.

use std::collections::BTreeMap;

use factum_api::grpc::proto::{EventMessage, SubscribeRequest};
use factum_testkit::clients::{Grpc, Http, Stdio, WebSocket};
use factum_testkit::{Client, Reader, Server, within};
use serde_json::{Value, json};
use tonic::Streaming;

use crate::support::*;

/// One way to reach the server: commands through the channel, and what the channel is sent.
enum Link {
    /// Server-sent events, and commands as plain HTTP.
    Sse(Http),
    WebSocket(WebSocket),
    Grpc(Grpc, String),
    Stdio(Stdio),
}

/// An open stream of a link.
enum Stream {
    Sse(Box<Reader>),
    /// Notifications of the link itself.
    Notified,
    Grpc(Box<Streaming<EventMessage>>),
}

const TRANSPORTS: [&str; 4] = ["sse", "websocket", "grpc", "stdio"];

impl Link {
    async fn open(transport: &str, server: &Server) -> Self {
        match transport {
            "sse" => Self::Sse(server.http(None)),
            "websocket" => Self::WebSocket(server.ws(None).await),
            "grpc" => Self::Grpc(server.grpc(None), server.address().to_owned()),
            _ => Self::Stdio(Stdio::spawn(BINARY, &["--url", &server.url("")], &[])),
        }
    }

    fn client(&self) -> &dyn Client {
        match self {
            Self::Sse(http) => http,
            Self::WebSocket(ws) => ws,
            Self::Grpc(grpc, _) => grpc,
            Self::Stdio(stdio) => stdio,
        }
    }

    async fn call(&self, method: &str, params: Value) -> Value {
        let outcome = self.client().call(method, params).await;
        outcome.unwrap_or_else(|error| panic!("{method} over {}: {error}", self.client().name()))
    }

    /// A command that comes through the channel, as each transport says so.
    async fn through(&self, channel: &str, method: &str, params: Value) -> Result<Value, Value> {
        let text =
            || json!({ "jsonrpc": "2.0", "id": "through", "method": method, "channel_id": channel, "params": params });
        let answered = |answer: Value| match answer.get("error") {
            Some(error) => Err(error["data"].clone()),
            None => Ok(answer["result"].clone()),
        };
        match self {
            Self::Sse(http) => {
                let request = http.request(reqwest::Method::POST, &format!("/v1/{method}")).body(params.to_string());
                let response = request.header("factum-channel", channel).send().await.unwrap();
                let success = response.status().is_success();
                let body: Value = response.json().await.unwrap();
                if success { Ok(body) } else { Err(body) }
            }
            Self::WebSocket(ws) => {
                ws.send(text().to_string());
                answered(answer_among(async || ws.next().await).await)
            }
            Self::Stdio(stdio) => {
                stdio.send(text().to_string());
                answered(answer_among(async || stdio.next().await).await)
            }
            Self::Grpc(_, address) => {
                use factum_api::grpc::proto::CallRequest;
                use factum_api::grpc::proto::runtime_client::RuntimeClient;
                let message = CallRequest { method: method.to_owned(), params: params.to_string() };
                let mut request = tonic::Request::new(message);
                request.metadata_mut().insert("factum-channel", channel.parse().unwrap());
                let answer = RuntimeClient::new(Grpc::channel(address)).call(request).await;
                match answer {
                    Ok(answer) => Ok(serde_json::from_str(&answer.into_inner().result).unwrap()),
                    Err(status) => Err(Grpc::error(&status)),
                }
            }
        }
    }

    /// Follows the channel; gives the error where that is refused.
    async fn stream(&self, channel: &str, cursors: &BTreeMap<String, u64>) -> Result<Stream, Value> {
        let params = json!({ "channel_id": channel, "cursors": cursors });
        match self {
            Self::Sse(http) => {
                let cursors: Vec<String> = cursors.iter().map(|(stream, at)| format!("{stream}:{at}")).collect();
                let path = format!("/v1/remote_channels/{channel}/events?cursors={}", cursors.join(","));
                match Reader::open(http, &path, None).await {
                    Ok(reader) => Ok(Stream::Sse(Box::new(reader))),
                    Err(response) => Err(response.json().await.unwrap()),
                }
            }
            Self::Grpc(grpc, _) => {
                let request = SubscribeRequest { remote_channel: params.to_string(), ..Default::default() };
                let stream = grpc.subscribe(request).await.map_err(|status| Grpc::error(&status))?;
                Ok(Stream::Grpc(Box::new(stream)))
            }
            Self::WebSocket(_) | Self::Stdio(_) => {
                self.client().call("subscribe", params).await.map(|_| Stream::Notified)
            }
        }
    }

    /// The next event and the stream it is of.
    async fn next(&self, stream: &mut Stream) -> Option<(String, Value)> {
        let named = |cursor: &str, event: Value| {
            let (name, sequence) = cursor.rsplit_once(':').unwrap();
            assert_eq!(event["sequence"].to_string(), sequence);
            (name.to_owned(), event)
        };
        let notified = |message: Value| {
            let params = message.get("params")?;
            Some((params["stream"].as_str()?.to_owned(), params["event"].clone()))
        };
        within("an event", async {
            match (stream, self) {
                (Stream::Sse(reader), _) => reader.next().await.map(|event| named(&event.id, event.data)),
                (Stream::Grpc(stream), _) => {
                    let message = stream.message().await.ok().flatten()?;
                    Some(named(&message.cursor, serde_json::from_str(&message.event).unwrap()))
                }
                (Stream::Notified, Self::WebSocket(ws)) => notified(ws.next().await?),
                (Stream::Notified, Self::Stdio(stdio)) => notified(stdio.next().await?),
                _ => None,
            }
        })
        .await
    }
}

/// The answer to a text that was sent as it is, among the notifications.
async fn answer_among(next: impl AsyncFn() -> Option<Value>) -> Value {
    loop {
        let message = next().await.expect("an answer");
        if message["id"] == "through" {
            return message;
        }
    }
}

/// What a client took in, by stream. Checks the order as it comes.
#[derive(Default)]
struct Taken {
    cursors: BTreeMap<String, u64>,
    events: Vec<Value>,
}

impl Taken {
    fn take(&mut self, stream: String, event: Value) {
        let sequence = event["sequence"].as_u64().unwrap();
        let before = self.cursors.insert(stream.clone(), sequence).unwrap_or(0);
        if stream == "@channel" {
            assert!(sequence > before, "{stream}: {sequence} after {before}");
        } else {
            assert_eq!(sequence, before + 1, "{stream}: lost, repeated or out of order");
            self.events.push(event);
        }
    }

    async fn until(&mut self, link: &Link, stream: &mut Stream, kind: &str) {
        loop {
            let (name, event) = link.next(stream).await.unwrap_or_else(|| panic!("the stream ended before {kind}"));
            let found = event["type"] == kind;
            self.take(name, event);
            if found {
                return;
            }
        }
    }
}

#[tokio::test]
async fn a_channel_gets_exactly_what_it_missed_on_every_transport() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = launch(&dir).start().await;
    for transport in TRANSPORTS {
        let link = Link::open(transport, &server).await;
        let enroll = json!({ "channel_id": transport, "peer_role": "client", "transport": "custom" });
        let token = link.call("enroll_channel", enroll).await["resume_token"].clone();
        let turn = json!({ "input": text("one") });
        let submitted = link.through(transport, "submit_turn", turn).await.unwrap();
        let session = field(&submitted, "session_id");
        let mut taken = Taken::default();
        let mut stream = link.stream(transport, &BTreeMap::new()).await.unwrap();
        taken.until(&link, &mut stream, "turn.completed").await;
        let ack = json!({ "channel_id": transport, "cursors": taken.cursors });
        link.call("ack_events", ack).await;

        // Cut off while a turn goes on, and the server is killed as well.
        drop((stream, link));
        let turn = json!({ "session_id": session, "input": text("two") });
        server.http(None).call("submit_turn", turn).await.unwrap();
        wait_for(&server.http(None), &session, "turn.completed", 2).await;
        server.kill_and_restart().await;

        let link = Link::open(transport, &server).await;
        let summary = link.call("get_channel_summary", json!({ "channel_id": transport })).await;
        assert_ne!(summary["channel"]["state"], "connected", "{transport}: nobody has heard of it since the start");
        let back = json!({ "channel_id": transport, "resume_token": token });
        let back = link.call("reconnect_channel", back).await;
        assert_eq!(back["resume_from"], json!(taken.cursors[&session]), "{transport}");
        assert_eq!(back["gap"], Value::Null);
        assert!(back["snapshot"]["sessions"][0]["head_sequence"].as_u64() > back["resume_from"].as_u64());
        let mut stream = link.stream(transport, &BTreeMap::new()).await.unwrap();
        taken.until(&link, &mut stream, "turn.completed").await;
        assert_eq!(taken.events, all_events(&server.http(None), &session).await, "{transport}");

        // Where a client says itself how far it is, it goes on there.
        let from = taken.cursors.clone();
        drop(stream);
        let link = Link::open(transport, &server).await;
        let mut stream = link.stream(transport, &from).await.unwrap();
        link.through(transport, "submit_turn", json!({ "session_id": session, "input": text("three") })).await.unwrap();
        if !matches!(stream, Stream::Notified) {
            taken.until(&link, &mut stream, "turn.completed").await;
            assert_eq!(taken.events, all_events(&server.http(None), &session).await, "{transport}");
        }
    }
}

#[tokio::test]
async fn another_ones_channel_is_not_there_on_any_transport() {
    let (_dir, server) = dev().await;
    let http = server.http(None);
    http.call("enroll_channel", json!({ "channel_id": "mine", "peer_role": "client" })).await.unwrap();
    let eve = Some("dev:agent://eve");
    let links = [
        Link::Sse(server.http(eve)),
        Link::WebSocket(server.ws(eve).await),
        Link::Grpc(server.grpc(eve), server.address().to_owned()),
    ];
    for link in links {
        let name = link.client().name().to_owned();
        let mut refusals = Vec::new();
        for channel in ["mine", "nobodys"] {
            let streamed = link.stream(channel, &BTreeMap::new()).await.err().unwrap();
            assert_eq!(streamed["code"], "not_found", "{name}");
            refusals.push(streamed.to_string());
        }
        assert_eq!(refusals[0], refusals[1], "{name}");
    }
    let eve = server.http(eve);
    for channel in ["mine", "nobodys"] {
        let request = eve.request(reqwest::Method::POST, "/v1/submit_turn").header("factum-channel", channel);
        let response = request.body(json!({ "input": text("x") }).to_string()).send().await.unwrap();
        assert_eq!(response.status(), 404, "{channel}");
    }
    let bad = eve.request(reqwest::Method::POST, "/v1/list_sessions").header("factum-channel", "a b").body("{}");
    assert_eq!(bad.send().await.unwrap().status(), 400);
}

#[tokio::test]
async fn a_lost_connection_is_noticed_and_a_new_one_replaces_the_old() {
    let (_dir, server) = dev().await;
    for transport in TRANSPORTS {
        let link = Link::open(transport, &server).await;
        link.call("enroll_channel", json!({ "channel_id": transport, "peer_role": "client" })).await;
        let channel = async || {
            let params = json!({ "channel_id": transport });
            server.http(None).call("get_channel_summary", params).await.unwrap()["channel"].clone()
        };
        let state = async || channel().await["state"].clone();
        // Server-sent events come beside plain HTTP; the lines of `factum stdio` go to a server over a WebSocket.
        let (enrolled, used) = match transport {
            "sse" => ("http_json", "sse"),
            "stdio" => ("websocket", "websocket"),
            other => (other, other),
        };
        assert_eq!(channel().await["transport"], enrolled, "{transport}");
        let first = link.stream(transport, &BTreeMap::new()).await.unwrap();
        assert_eq!((state().await, channel().await["transport"].clone()), (json!("connected"), json!(used)));
        let other = Link::open(transport, &server).await;
        let second = other.stream(transport, &BTreeMap::new()).await.unwrap();
        drop((first, link));
        assert_eq!(state().await, "connected", "{transport}: the end of the one that was replaced is no news");
        drop((second, other));
        factum_testkit::eventually("the channel is given up", async || (state().await == "disconnected").then_some(()))
            .await;
    }
}
