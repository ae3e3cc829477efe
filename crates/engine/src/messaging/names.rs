//! What a channel's stream is called, and which partition it is in.

use factum_model::id::MessagingChannelId;

/// One channel is one stream. The account is in the name, so another account's channel is a lookup that misses.
pub fn stream_name(account: &str, channel_id: &MessagingChannelId) -> String {
    ["messaging/", account, "/", channel_id.as_str()].concat()
}

/// Not an account's name: a feed shows what is said in channels only to those who may read them.
pub fn partition_name(account: &str) -> String {
    format!("*messaging/{account}")
}
