//! `channels/stream` over every transport that can carry one: where it begins, what comes, how it ends.

use std::time::{Duration, Instant};

use factum_api::grpc::proto::{EventMessage, SubscribeRequest};
use factum_testkit::clients::{A2a, Grpc, Http, WebSocket};
use factum_testkit::sse::Frame;
use factum_testkit::{Reader, Server, eventually, within};
use reqwest::Method;
use tonic::Streaming;

use super::*;
use crate::support::{dev, launch};

/// A stream of any transport, seen as envelopes.
enum Stream {
    A2a(Reader),
    Plain(Reader),
    Ws(WebSocket),
    Grpc(Streaming<EventMessage>),
}

const TRANSPORTS: [&str; 5] = ["a2a", "post", "get", "ws", "grpc"];

impl Stream {
    async fn open(server: &Server, token: &str, over: &str, params: &Value) -> Self {
        let http = server.http(Some(token));
        match over {
            "a2a" => Self::A2a(Reader::of_channel(server.a2a(Some(token)).stream(params, None).await.unwrap())),
            "post" => {
                Self::Plain(plain(http.request(Method::POST, "/v1/channels/stream").body(params.to_string())).await)
            }
            "get" => {
                let fields = params.as_object().unwrap().iter().filter(|(name, _)| *name != "channelId");
                let query: Vec<String> = fields.map(|(name, value)| format!("{name}={value}")).collect();
                let path = format!("/v1/channels/{}/events?{}", params["channelId"].as_str().unwrap(), query.join("&"));
                Self::Plain(plain(http.get(&path)).await)
            }
            "ws" => {
                let ws = server.ws(Some(token)).await;
                let opened = ws.call("channels/stream", params.clone()).await.unwrap();
                assert_eq!(opened["channelId"], params["channelId"]);
                Self::Ws(ws)
            }
            _ => {
                let request = SubscribeRequest { channel: params.to_string(), ..Default::default() };
                Self::Grpc(server.grpc(Some(token)).subscribe(request).await.unwrap())
            }
        }
    }

    /// The next envelope, or the error object that is the last thing heard.
    async fn next(&mut self) -> Result<Value, Value> {
        within("an envelope", async {
            match self {
                Self::A2a(reader) => {
                    let event = reader.next().await.expect("the stream ended without a word");
                    let Some(envelope) = event.data.get("result") else {
                        return Err(event.data["error"]["data"].clone());
                    };
                    assert_eq!(event.data["jsonrpc"], "2.0");
                    check_id(&event.id, envelope);
                    Ok(envelope.clone())
                }
                Self::Plain(reader) => {
                    let event = reader.next().await.expect("the stream ended without a word");
                    if event.name.as_deref() == Some("error") {
                        return Err(event.data);
                    }
                    check_id(&event.id, &event.data);
                    Ok(event.data)
                }
                Self::Ws(ws) => {
                    let message = ws.next().await.expect("the connection ended");
                    match message["method"].as_str() {
                        Some("ended") => Err(message["params"]["error"].clone()),
                        _ => Ok(message["params"]["event"].clone()),
                    }
                }
                Self::Grpc(stream) => match stream.message().await {
                    Ok(message) => Ok(serde_json::from_str(&message.expect("it ended without a word").event).unwrap()),
                    Err(status) => Err(Grpc::error(&status)),
                },
            }
        })
        .await
    }

    async fn sequences(&mut self, count: usize) -> Vec<u64> {
        let mut sequences = Vec::new();
        for _ in 0..count {
            sequences.push(self.next().await.unwrap()["event"]["sequence"].as_u64().unwrap());
        }
        sequences
    }
}

async fn plain(request: reqwest::RequestBuilder) -> Reader {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    Reader::of_channel(response)
}

/// A message's id is its sequence. A change's says where it stands, too; nothing else has a place.
fn check_id(id: &str, envelope: &Value) {
    let event = &envelope["event"];
    let expected = match envelope["kind"].as_str().unwrap() {
        "messageEvent" => event["sequence"].to_string(),
        "controlEvent" => format!("{}.{}", event["afterSequence"], event["version"]),
        _ => String::new(),
    };
    assert_eq!(id, expected, "{envelope}");
}

#[tokio::test]
async fn every_transport_catches_up_and_goes_on_live() {
    let (_dir, server) = dev().await;
    let ann = server.http(Some(ANN));
    let id = channel_with_bob(&ann).await;
    for number in 1..=5 {
        publish(&ann, &id, &number.to_string()).await;
    }
    for (round, over) in (0..).zip(TRANSPORTS) {
        let mut stream = Stream::open(&server, BOB, over, &json!({ "channelId": id, "sinceSequence": 2 })).await;
        assert_eq!(stream.sequences(3 + round).await, (3..=5 + round as u64).collect::<Vec<_>>(), "{over}");
        let event = publish(&ann, &id, "live").await;
        assert_eq!(stream.next().await, Ok(json!({ "kind": "messageEvent", "event": event })), "{over}");
    }
}

#[tokio::test]
async fn a_removed_member_hears_the_same_as_anyone_who_never_was() {
    for over in TRANSPORTS {
        let (_dir, server) = dev().await;
        let ann = server.http(Some(ANN));
        let id = channel_with_bob(&ann).await;
        publish(&ann, &id, "one").await;
        let mut stream = Stream::open(&server, BOB, over, &json!({ "channelId": id, "sinceSequence": 0 })).await;
        assert_eq!(stream.sequences(1).await, [1], "{over}");
        let bob = json!({ "channelId": id, "principalId": "agent://bob" });
        ann.call("channels/removeMember", bob).await.unwrap();
        publish(&ann, &id, "two").await;
        let last = stream.next().await.expect_err(over);
        assert_eq!(last["code"], "not_found", "{over}: {last}");
    }
}

#[tokio::test]
async fn control_and_presence_come_to_who_asks() {
    let (_dir, server) = dev().await;
    let ann = server.http(Some(ANN));
    for over in TRANSPORTS {
        let id = channel_with_bob(&ann).await;
        let asked = json!({ "channelId": id, "sinceSequence": 0, "controlEvents": true, "presence": true });
        let mut stream = Stream::open(&server, ANN, over, &asked).await;
        let mut silent = Stream::open(&server, ANN, over, &json!({ "channelId": id, "sinceSequence": 0 })).await;
        let mut kinds = [stream.next().await.unwrap(), stream.next().await.unwrap()];
        kinds.sort_by_key(|envelope| envelope["kind"].to_string());
        assert_eq!(
            (&kinds[0]["event"]["action"], &kinds[1]["event"]["state"]),
            (&json!("channelCreated"), &json!("online")),
            "{over}"
        );
        let event = publish(&ann, &id, "hi").await;
        let message = json!({ "kind": "messageEvent", "event": event });
        assert_eq!(stream.next().await.as_ref(), Ok(&message), "{over}");
        assert_eq!(silent.next().await, Ok(message), "{over}");
    }
}

/// What a client has heard of a channel, in short: `1`, `2` for messages, `v3` for the change that made version 3.
async fn heard(stream: &mut Stream, count: usize) -> Vec<String> {
    let mut heard = Vec::new();
    for _ in 0..count {
        let envelope = stream.next().await.unwrap();
        heard.push(match envelope["kind"].as_str().unwrap() {
            "messageEvent" => envelope["event"]["sequence"].to_string(),
            "controlEvent" => format!("v{}", envelope["event"]["version"]),
            other => panic!("{other}"),
        });
    }
    heard
}

/// A channel with the facts v1, 1, v2, v3, 2, v4.
async fn changing_channel(ann: &Http) -> Value {
    let id = channel_with_bob(ann).await;
    publish(ann, &id, "one").await;
    for (version, name) in [(1, "two"), (2, "three")] {
        let params = json!({ "channelId": id, "expectedVersion": version, "name": name });
        ann.call("channels/update", params).await.unwrap();
    }
    publish(ann, &id, "two").await;
    let params = json!({ "channelId": id, "expectedVersion": 3, "name": "four" });
    ann.call("channels/update", params).await.unwrap();
    json!(id)
}

#[tokio::test]
async fn a_change_does_not_come_again_to_who_goes_on_behind_it() {
    let (_dir, server) = dev().await;
    let ann = server.http(Some(ANN));
    let id = changing_channel(&ann).await;
    let all = ["v1", "1", "v2", "v3", "2", "v4"];
    for over in TRANSPORTS {
        let asked = json!({ "channelId": id, "sinceSequence": 0, "controlEvents": true });
        let mut stream = Stream::open(&server, ANN, over, &asked).await;
        assert_eq!(heard(&mut stream, 6).await, all, "{over}");
        // Whoever was cut off behind any of them asks with the last sequence and the last version that they have.
        let (mut sequence, mut version) = (0, 0);
        for (place, fact) in all.iter().enumerate() {
            match fact.strip_prefix('v') {
                Some(number) => version = number.parse::<u64>().unwrap(),
                None => sequence = fact.parse::<u64>().unwrap(),
            }
            let mut asked = asked.clone();
            (asked["sinceSequence"], asked["sinceVersion"]) = (json!(sequence), json!(version));
            let mut stream = Stream::open(&server, ANN, over, &asked).await;
            assert_eq!(heard(&mut stream, all.len() - place - 1).await, all[place + 1..], "{over} behind {fact}");
        }
        let mut ahead = asked;
        ahead["sinceVersion"] = json!(5);
        let refused = server.a2a(Some(ANN)).stream(&ahead, None).await.unwrap_err();
        assert_eq!(refused["error"]["code"], -32602);
    }
}

/// A browser's `EventSource` does the same by the ids alone.
#[tokio::test]
async fn the_id_of_a_change_is_a_place_to_go_on_behind() {
    let (_dir, server) = dev().await;
    let ann = server.http(Some(ANN));
    let id = changing_channel(&ann).await;
    let path = format!("/v1/channels/{}/events?sinceSequence=0&controlEvents=true", id.as_str().unwrap());
    let open = async |last: &str| {
        let response = ann.get(&path).header("last-event-id", last).send().await.unwrap();
        assert_eq!(response.status(), 200, "{last}");
        Reader::of_channel(response)
    };
    let ids = async |reader: &mut Reader, count: usize| {
        let mut ids = Vec::new();
        for _ in 0..count {
            ids.push(within("an event", reader.next()).await.unwrap().id);
        }
        ids
    };
    let all = ["0.1", "1", "1.2", "1.3", "2", "2.4"];
    assert_eq!(ids(&mut open("").await, 6).await, all);
    for (place, last) in all.iter().enumerate() {
        assert_eq!(ids(&mut open(last).await, all.len() - place - 1).await, all[place + 1..], "behind {last}");
    }
    let mut end = open("2.4").await;
    publish(&ann, id.as_str().unwrap(), "three").await;
    assert_eq!(ids(&mut end, 1).await, ["3"], "and nothing else before it");
    for bad in ["1.", ".1", "1.2.3", "-1", "1.-2", "x", "é"] {
        let refused = ann.get(&path).header("last-event-id", bad).send().await.unwrap();
        assert_eq!(refused.status(), 400, "{bad}");
    }
}

#[tokio::test]
async fn heartbeats_come_as_asked() {
    let (_dir, server) = dev().await;
    let ann = server.http(Some(ANN));
    let id = channel_with_bob(&ann).await;
    for over in TRANSPORTS {
        let mut stream =
            Stream::open(&server, ANN, over, &json!({ "channelId": id, "heartbeatIntervalMs": 100 })).await;
        for _ in 0..3 {
            let beat = stream.next().await.unwrap();
            assert_eq!(beat["kind"], "heartbeat", "{over}");
            assert!(beat["timestamp"].as_i64().is_some_and(|at| at > 1_600_000_000_000), "{beat}");
        }
    }
    // Nobody gets one oftener than ten times a second: the interval is brought into its bounds.
    let mut stream = Stream::open(&server, ANN, "a2a", &json!({ "channelId": id, "heartbeatIntervalMs": 1 })).await;
    let mut times = Vec::new();
    for _ in 0..5 {
        times.push(stream.next().await.unwrap()["timestamp"].as_i64().unwrap());
    }
    assert!(times[4] - times[0] >= 4 * 95, "{times:?}");
}

/// A heartbeat is what a quiet stream says: none comes sooner behind a message than was asked for.
#[tokio::test]
async fn a_busy_stream_has_no_heartbeats() {
    const INTERVAL: Duration = Duration::from_millis(100);
    let (_dir, server) = dev().await;
    let ann = server.http(Some(ANN));
    let id = channel_with_bob(&ann).await;
    for over in TRANSPORTS {
        let asked = json!({ "channelId": id, "heartbeatIntervalMs": INTERVAL.as_millis() as u64 });
        let mut before = Instant::now();
        let mut stream = Stream::open(&server, BOB, over, &asked).await;
        let opened = Instant::now();
        while opened.elapsed() < 4 * INTERVAL {
            let publishing = Instant::now();
            let event = publish(&ann, &id, "busy").await;
            loop {
                let envelope = stream.next().await.unwrap();
                if envelope["kind"] == "messageEvent" {
                    assert_eq!(envelope["event"], event, "{over}");
                    break;
                }
                // A machine that was held up made the stream quiet.
                assert!(before.elapsed() >= INTERVAL, "{over}: a heartbeat {:?} behind a message", before.elapsed());
            }
            before = publishing;
        }
    }
}

#[tokio::test]
async fn who_asks_for_no_heartbeat_gets_comments() {
    let dir = tempfile::tempdir().unwrap();
    let server = launch(&dir).env("FACTUM_SERVER_HEARTBEAT_MS", 100).start().await;
    let ann = server.a2a(Some(ANN));
    let id = channel_with_bob(&ann).await;
    // 0 asks for nothing: it is what clients send who cannot leave a field out.
    for params in [json!({ "channelId": id }), json!({ "channelId": id, "heartbeatIntervalMs": 0 })] {
        let mut reader = Reader::of_channel(ann.stream(&params, None).await.unwrap());
        for _ in 0..2 {
            assert_eq!(within("a heartbeat", reader.frame()).await, Some(Frame::Comment("heartbeat".to_owned())));
        }
    }
}

async fn resumed(client: &A2a, params: Value, last: &str) -> u64 {
    let mut reader = Reader::of_channel(client.stream(&params, Some(last)).await.unwrap());
    let event = within("an event", reader.next()).await.unwrap();
    event.data["result"]["event"]["sequence"].as_u64().unwrap()
}

#[tokio::test]
async fn a_client_that_comes_back_goes_on_behind_the_last_it_has() {
    let (_dir, server) = dev().await;
    let ann = server.a2a(Some(ANN));
    let id = channel_with_bob(&ann).await;
    for number in 1..=4 {
        publish(&ann, &id, &number.to_string()).await;
    }
    assert_eq!(resumed(&ann, json!({ "channelId": id }), "2").await, 3);
    assert_eq!(resumed(&ann, json!({ "channelId": id, "sinceSequence": 0 }), "3").await, 4, "the header counts more");
    assert_eq!(resumed(&ann, json!({ "channelId": id, "sinceSequence": 1 }), "").await, 2, "an empty one is none");
    let refused = ann.stream(&json!({ "channelId": id }), Some("nonsense")).await.unwrap_err();
    assert_eq!(refused["error"]["code"], -32602);
    let refused = ann.stream(&json!({ "channelId": id }), Some("99")).await.unwrap_err();
    assert_eq!(refused["error"]["code"], -32602);
    let http: Http = server.http(Some(ANN));
    let request = http.get(&format!("/v1/channels/{id}/events?sinceSequence=0")).header("last-event-id", "3");
    let mut reader = Reader::of_channel(request.send().await.unwrap());
    assert_eq!(within("an event", reader.next()).await.unwrap().id, "4");
}

#[tokio::test]
async fn the_answers_of_a_stream_are_for_its_request() {
    let (_dir, server) = dev().await;
    let ann = server.a2a(Some(ANN));
    let id = channel_with_bob(&ann).await;
    publish(&ann, &id, "one").await;
    let params = json!({ "channelId": id, "sinceSequence": 0 });
    for rpc_id in [json!("mine"), json!(7), json!(null)] {
        let body = json!({ "jsonrpc": "2.0", "id": rpc_id, "method": "channels/stream", "params": params });
        let response = ann.raw(body.to_string()).send().await.unwrap();
        let event = within("an event", Reader::of_channel(response).next()).await.unwrap();
        assert_eq!((&event.data["id"], event.id.as_str()), (&rpc_id, "1"));
    }
}

/// What has ended makes room for what comes.
#[tokio::test]
async fn a_connection_has_room_again_when_a_stream_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let server = launch(&dir).env("FACTUM_LIMITS_STREAMS_MAX", 1).start().await;
    let ann = server.http(Some(ANN));
    let (id, other) = (channel_with_bob(&ann).await, channel_with_bob(&ann).await);
    let bob = server.ws(Some(BOB)).await;
    bob.call("channels/stream", json!({ "channelId": id })).await.unwrap();
    let refused = bob.call("channels/stream", json!({ "channelId": other })).await.unwrap_err();
    assert_eq!(refused["code"], "limit_exceeded");
    ann.call("channels/delete", json!({ "channelId": id })).await.unwrap();
    assert_eq!(bob.next().await.unwrap()["method"], "ended");
    eventually("room", async || bob.call("channels/stream", json!({ "channelId": other })).await.ok()).await;
}
