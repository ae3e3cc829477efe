//! A channel, its members and its times in words.

use factum_model::messaging::{Channel, ChannelRole, ChannelVisibility};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::output::{BOLD, DIM};
use crate::render::{Breaks, clean};
use crate::table::{Table, count};

/// The channel as lines.
pub(super) fn describe(channel: &Channel, zone: &TimeZone) -> Vec<String> {
    let kind = if channel.direct == Some(true) { "direct" } else { visibility(channel.visibility) };
    let unread = match &channel.read_cursor {
        Some(cursor) => format!(", read up to {}, {} unread", cursor.sequence, cursor.unread_count),
        None => String::new(),
    };
    let (creator, created) = (clean(&channel.created_by, Breaks::Shown), when(channel.created_at, zone));
    let mut lines = vec![
        format!("{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}", title(channel), channel.id),
        format!("  {kind}, version {}, created by {creator} on {created}", channel.version),
        format!("  {}{unread}", count(channel.message_count, "message")),
    ];
    if !channel.metadata.is_empty() {
        lines.push("  metadata:".to_owned());
        let field = |(key, value): (&String, &serde_json::Value)| clean(&format!("{key} = {value}"), Breaks::Shown);
        lines.extend(channel.metadata.iter().map(|pair| format!("    {}", field(pair))));
    }
    lines.push(format!("  {}:", count(channel.members.len() as u64, "member")));
    lines.extend(members(channel, zone).into_iter().map(|line| format!("    {line}")));
    lines
}

/// Who is in it.
pub(super) fn members(channel: &Channel, zone: &TimeZone) -> Vec<String> {
    let mut table = Table::default();
    for member in &channel.members {
        let since = format!("since {}", when(member.joined_at, zone));
        table.row([member.principal_id.clone(), role(member.role).to_owned(), since]);
    }
    table.lines()
}

/// What to call it.
pub(super) fn title(channel: &Channel) -> String {
    let name = channel.name.as_deref().filter(|name| !name.is_empty());
    clean(name.unwrap_or(if channel.direct == Some(true) { "direct channel" } else { "channel" }), Breaks::Shown)
}

pub(super) fn visibility(visibility: ChannelVisibility) -> &'static str {
    match visibility {
        ChannelVisibility::Private => "private",
        ChannelVisibility::Public => "public",
    }
}

pub(super) fn role(role: ChannelRole) -> &'static str {
    match role {
        ChannelRole::Owner => "owner",
        ChannelRole::Member => "member",
        ChannelRole::Moderator => "moderator",
    }
}

/// A time of the wire, where the reader is.
pub(super) fn when(timestamp_ms: i64, zone: &TimeZone) -> String {
    at(timestamp_ms, zone, "%Y-%m-%d %H:%M:%S")
}

/// The same in another form.
pub(super) fn at(timestamp_ms: i64, zone: &TimeZone, form: &str) -> String {
    Timestamp::from_millisecond(timestamp_ms)
        .map_or_else(|_| timestamp_ms.to_string(), |at| at.to_zoned(zone.clone()).strftime(form).to_string())
}
