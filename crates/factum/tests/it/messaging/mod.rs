//! Messaging channels over every transport of the real binary.

mod errors;
mod limits;
mod matrix;
mod parity;
mod protocol;
mod stalled;
mod streams;
mod timing;

use factum_testkit::Client;
use serde_json::{Value, json};

use crate::support::{field, text};

const ANN: &str = "dev:agent://ann";
const BOB: &str = "dev:agent://bob";
const EVE: &str = "dev:agent://eve";

/// A channel made with these params; gives its id.
async fn create(client: &dyn Client, params: Value) -> String {
    field(&client.call("channels/create", params).await.unwrap()["channel"], "id")
}

/// A private channel with Bob in it; gives its id.
async fn channel_with_bob(client: &dyn Client) -> String {
    create(client, json!({ "name": "ours", "members": [{ "principalId": "agent://bob" }] })).await
}

/// Publishes; gives the event.
async fn publish(client: &dyn Client, channel: &str, words: &str) -> Value {
    let params = json!({ "channelId": channel, "parts": text(words) });
    client.call("channels/publish", params).await.unwrap()["event"].clone()
}
