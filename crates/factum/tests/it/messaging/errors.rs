//! Seed 002 §9: every error of the extension on `POST /a2a`, with its number and its name.

use super::*;
use crate::support::dev;

#[tokio::test]
async fn each_error_has_its_number_and_its_name() {
    let (_dir, server) = dev().await;
    let (ann, bob, eve) = (server.a2a(Some(ANN)), server.a2a(Some(BOB)), server.a2a(Some(EVE)));
    let id = channel_with_bob(&ann).await;
    let public = create(&ann, json!({ "visibility": "public" })).await;
    let keyed = |words: &str| json!({ "channelId": id, "parts": text(words), "idempotencyKey": "k" });
    ann.call("channels/publish", keyed("one")).await.unwrap();
    let not_found = (-32040, "ChannelNotFoundError");
    let denied = (-32041, "PermissionDeniedError");
    let conflict = (-32042, "ConflictError");
    let limit = (-32043, "LimitExceededError");
    let invalid = (-32602, "InvalidParamsError");
    let nobody = "chan_0198c0de-0000-7000-8000-000000000000";
    let table = [
        (&ann, "channels/get", json!({ "channelId": nobody }), not_found),
        (&eve, "channels/get", json!({ "channelId": id }), not_found),
        (&eve, "channels/stream", json!({ "channelId": id }), not_found),
        (&eve, "channels/publish", json!({ "channelId": public, "parts": text("x") }), denied),
        (&bob, "channels/delete", json!({ "channelId": id }), denied),
        (&bob, "channels/addMember", json!({ "channelId": id, "principalId": "agent://eve" }), denied),
        (&ann, "channels/audit", json!({}), denied),
        (&ann, "channels/publish", keyed("two"), conflict),
        (&ann, "channels/update", json!({ "channelId": id, "expectedVersion": 9, "name": "n" }), conflict),
        (&ann, "channels/removeMember", json!({ "channelId": id, "principalId": "agent://ann" }), conflict),
        (&ann, "channels/publish", json!({ "channelId": id, "parts": vec![json!({ "text": "x" }); 33] }), limit),
        (&ann, "channels/history", json!({ "channelId": id, "sinceSequence": 1, "sinceTimestamp": 1 }), invalid),
        (&ann, "channels/history", json!({ "channelId": id, "pageToken": "forged" }), invalid),
        (&ann, "channels/update", json!({ "channelId": id, "name": "no version" }), invalid),
        (&ann, "channels/publish", json!({ "channelId": id, "parts": [{ "type": "smell" }] }), invalid),
        (&ann, "channels/publish", json!({ "channelId": id }), invalid),
        (&ann, "channels/get", json!({ "channelId": 7 }), invalid),
        (&ann, "channels/get", json!([]), invalid),
        (&ann, "channels/stream", json!({ "channelId": id, "sinceSequence": 99 }), invalid),
        (&ann, "channels/stream", json!("text"), invalid),
        (&ann, "channels/removeMember", json!({ "channelId": id, "principalId": "agent://nobody" }), invalid),
    ];
    for (client, method, params, (number, name)) in table {
        let error = client.error(method, params.clone()).await;
        assert_eq!(
            (&error["code"], &error["data"]["error"]),
            (&json!(number), &json!(name)),
            "{method} {params}: {error}"
        );
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{error}");
    }
}

#[tokio::test]
async fn protocol_faults_have_the_numbers_of_their_protocols() {
    let (_dir, server) = dev().await;
    let ann = server.a2a(Some(ANN));
    for method in ["message/send", "SendMessage", "tasks/get", "GetTask"] {
        assert_eq!(ann.error(method, json!({})).await["code"], -32602, "{method}");
    }
    for method in ["channels/nothing", "channels/", "nothing", "submit_turn", "list_sessions"] {
        assert_eq!(ann.error(method, json!({})).await["code"], -32601, "{method}");
    }
    let code = async |body: &str| {
        let response = ann.raw(body.to_owned()).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.json::<Value>().await.unwrap()["error"]["code"].clone()
    };
    assert_eq!(code("{").await, -32700);
    assert_eq!(code("[]").await, -32600);
    assert_eq!(code(r#"{"jsonrpc":"1.0","id":1,"method":"channels/list"}"#).await, -32600);
    let stream = json!({ "jsonrpc": "2.0", "id": 1, "method": "channels/stream", "params": { "channelId": "chan_x" } });
    let batch = ann.raw(format!("[{stream}]")).send().await.unwrap().json::<Value>().await.unwrap();
    assert_eq!(batch[0]["error"]["code"], -32602, "a stream cannot be in a batch");
}

#[tokio::test]
async fn batches_and_notifications_are_answered_as_json_rpc_says() {
    let (_dir, server) = dev().await;
    let ann = server.a2a(Some(ANN));
    let id = channel_with_bob(&ann).await;
    let call = |rpc_id: Value, words: &str| {
        let mut call = json!({ "jsonrpc": "2.0", "method": "channels/publish", "params": { "channelId": id, "parts": text(words) } });
        if !rpc_id.is_null() {
            call["id"] = rpc_id;
        }
        call
    };
    let batch = json!([call(json!(1), "one"), call(Value::Null, "two"), call(json!("three"), "three"), 7]);
    let answers = ann.raw(batch.to_string()).send().await.unwrap().json::<Value>().await.unwrap();
    let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!("three"), &Value::Null]);
    assert_eq!(answers[1]["result"]["event"]["sequence"], 3, "the notification was carried out, too");
    let response = ann.raw(call(Value::Null, "four").to_string()).send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.text().await.unwrap()), (204, String::new()));
}

/// Without a credential, or with a bad one, HTTP says so, and JSON-RPC too.
#[tokio::test]
async fn a_bad_credential_is_refused_before_anything() {
    let (_dir, server) = dev().await;
    let response = server.a2a(Some("nonsense")).request("channels/list", &json!({})).send().await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["www-authenticate"]),
        (401, &"Bearer".parse().unwrap())
    );
    let answer: Value = response.json().await.unwrap();
    assert_eq!(answer["error"]["data"]["code"], "unauthenticated");
}
