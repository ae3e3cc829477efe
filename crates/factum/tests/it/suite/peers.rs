//! Remote channels: enrolled, followed, acknowledged, come back, closed. What they are sent is in `peers` beside this.

use serde_json::json;

use super::Suite;

impl Suite<'_> {
    pub(super) async fn peers(&mut self) {
        self.call("create_session", json!({ "session_id": "followed" })).await;
        self.call("create_session", json!({ "session_id": "other" })).await;
        let enroll = json!({
            "channel_id": "ide", "peer_role": "client", "transport": "websocket", "session_ids": ["followed"],
            "capabilities": ["permissions", "resume"], "native_protocol": "json_rpc", "idempotency_key": "ide",
        });
        self.call("enroll_channel", enroll.clone()).await;
        self.call("enroll_channel", enroll).await;
        self.call("enroll_channel", json!({ "peer_role": "client", "session_ids": ["nobody"] })).await;
        self.call("get_channel_summary", json!({ "channel_id": "ide" })).await;
        for ack in [
            json!({ "acknowledged_sequence": 1 }),
            json!({ "acknowledged_sequence": 1 }),
            json!({ "acknowledged_sequence": 99 }),
            json!({ "acknowledged_sequence": 1, "session_id": "other" }),
            json!({ "cursors": { "@channel": 1, "followed": 2 } }),
            json!({ "cursors": { "nobody": 1 } }),
            json!({ "acknowledged_sequence": 1, "resume_token": "fcr_wrong" }),
            json!({}),
        ] {
            self.call("ack_events", super::merged(json!({ "channel_id": "ide" }), ack)).await;
        }
        self.call("follow_sessions", json!({ "channel_id": "ide", "follow": ["other"] })).await;
        self.call("follow_sessions", json!({ "channel_id": "ide", "follow": ["nobody"] })).await;
        self.call("reconnect_channel", json!({ "channel_id": "ide", "last_acknowledged_sequence": 1 })).await;
        self.call("reconnect_channel", json!({ "channel_id": "ide", "cursors": { "other": 1 } })).await;
        self.call("follow_sessions", json!({ "channel_id": "ide", "unfollow": ["other"] })).await;
        let back =
            self.call("reconnect_channel", json!({ "channel_id": "ide", "last_acknowledged_sequence": 9 })).await;
        assert_eq!(back["gap"]["to_sequence"], 9, "{back}");
        let token = json!({ "channel_id": "ide", "resume_token": back["resume_token"] });
        self.call("reconnect_channel", token.clone()).await;
        self.call("reconnect_channel", token).await;
        self.call("heartbeat_channel", json!({ "channel_id": "ide" })).await;
        self.call("list_remote_channels", json!({ "limit": 1 })).await;
        self.call("close_channel", json!({ "channel_id": "ide", "reason": "done" })).await;
        self.call("heartbeat_channel", json!({ "channel_id": "ide" })).await;
        self.call("get_channel_summary", json!({ "channel_id": "ide" })).await;
    }
}
