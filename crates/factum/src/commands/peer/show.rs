//! `factum peer show`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::GetChannelSummary;
use factum_model::id::ChannelId;
use factum_model::peer::{ChannelSnapshot, PeerTaskLink, PermissionBridge};
use jiff::tz::TimeZone;

use super::{Here, role, state, word};
use crate::output::{BOLD, DIM};
use crate::render::{Breaks, clean};
use crate::table::{Table, count};
use crate::when::local;

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The channel's id.
    #[arg(value_name = "CHANNEL")]
    channel_id: ChannelId,
}

pub(super) async fn run(show: Show, here: &Here) -> Result<()> {
    let summary = here.run(&GetChannelSummary { channel_id: show.channel_id }).await?.summary;
    if here.output.is_json() {
        return Ok(here.output.json(&summary)?);
    }
    let zone = TimeZone::system();
    describe(&summary, &zone).iter().try_for_each(|line| here.output.line(line))?;
    Ok(())
}

fn describe(summary: &ChannelSnapshot, zone: &TimeZone) -> Vec<String> {
    let channel = &summary.channel;
    let identity = &channel.identity;
    let seen =
        channel.last_seen_at.map_or_else(|| "never seen".to_owned(), |at| format!("last seen {}", local(at, zone)));
    let protocol = identity.native_protocol.as_deref().map(|name| format!(", speaks {}", clean(name, Breaks::Shown)));
    let mut lines = vec![
        format!("{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}", channel.channel_id, state(channel.state)),
        format!(
            "  {} over {}{}, {seen}",
            role(identity.peer_role),
            word(&identity.transport),
            protocol.unwrap_or_default()
        ),
    ];
    if !identity.capabilities.is_empty() {
        lines.push(format!("  can: {}", clean(&identity.capabilities.join(", "), Breaks::Shown)));
    }
    lines.push(format!("  {} followed:", count(summary.sessions.len() as u64, "session")));
    let mut table = Table::default();
    for session in &summary.sessions {
        let behind = session.head_sequence.saturating_sub(session.last_acknowledged_sequence);
        let at = format!("at {} of {}", session.last_acknowledged_sequence, session.head_sequence);
        let behind = if behind == 0 { "up to date".to_owned() } else { format!("{behind} behind") };
        table.row([session.session_id.to_string(), at, behind]);
    }
    lines.extend(table.lines().into_iter().map(|line| format!("    {line}")));
    section(&mut lines, "asked to decide", &summary.permission_bridge, question);
    section(&mut lines, "tasks of the peer", &summary.peer_tasks, task);
    lines
}

fn section<T>(lines: &mut Vec<String>, title: &str, items: &[T], row: fn(&T) -> [String; 3]) {
    if items.is_empty() {
        return;
    }
    lines.push(format!("  {title}:"));
    let mut table = Table::default();
    items.iter().for_each(|item| table.row(row(item)));
    lines.extend(table.lines().into_iter().map(|line| format!("    {line}")));
}

fn question(entry: &PermissionBridge) -> [String; 3] {
    let outcome = match (&entry.decision, &entry.decided_by) {
        (Some(decision), Some(by)) => format!("{} by {by}", word(decision)),
        (Some(decision), None) => word(decision),
        (None, _) if entry.channel_scoped => "open, only through its own channel".to_owned(),
        (None, _) => "open".to_owned(),
    };
    [entry.action_id.to_string(), outcome, entry.subject.name.clone()]
}

fn task(link: &PeerTaskLink) -> [String; 3] {
    let remote = link.peer_task.remote_task_id.clone().unwrap_or_else(|| "-".to_owned());
    let local = link.task_id.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
    [remote, local, word(&link.peer_task.recovery)]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_channel_in_words() {
        let summary: ChannelSnapshot = serde_json::from_value(json!({
            "channel": {
                "channel_id": "my-ide", "transport": "websocket", "peer_role": "client", "capabilities": ["permissions"],
                "state": "connected", "last_seen_at": "2026-01-02T03:04:05Z", "last_acknowledged_sequence": 2,
                "native_protocol": "a2a",
            },
            "sessions": [{
                "session_id": "s", "since_sequence": 0, "last_acknowledged_sequence": 7, "head_sequence": 9,
            }],
            "peer_tasks": [],
            "permission_bridge": [{
                "action_id": "act_1", "requesting_peer": "agent://demo", "channel_scoped": true,
                "subject": { "kind": "tool", "name": "deploy" }, "forwarded_at": "2026-01-02T03:04:05Z",
            }],
            "as_of_sequence": 3,
        }))
        .unwrap();
        let text = describe(&summary, &TimeZone::UTC).join("\n");
        for part in [
            "my-ide",
            "connected",
            "client over websocket, speaks a2a, last seen 2026-01-02",
            "can: permissions",
            "1 session followed:",
            "at 7 of 9",
            "2 behind",
            "open, only through its own channel",
            "deploy",
        ] {
            assert!(text.contains(part), "{part:?} in\n{text}");
        }
    }
}
