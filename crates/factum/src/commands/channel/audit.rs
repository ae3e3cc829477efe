//! `factum channel audit`: who did what, oldest first, printed page by page.

use anyhow::Result;
use clap::Args;
use factum_model::commands::AuditChannels;
use factum_model::messaging::{ChannelAuditAction, ChannelAuditEntry};
use jiff::tz::TimeZone;

use super::Here;
use super::describe::{role, when};
use super::target::{Target, find};
use crate::failure::{Exit, Problem, exit_of, refusal_of};
use crate::output::Format;
use crate::render::{Breaks, clean};
use crate::table::Table;

/// As many entries as the server puts on a page.
const PAGE_ENTRIES: u64 = 200;

#[derive(Debug, Args)]
pub(super) struct Audit {
    /// The channel's id, the name of one you can see, or @PRINCIPAL; others, and deleted ones, by their id [default: all channels]
    #[arg(value_name = "CHANNEL")]
    channel: Option<String>,
    /// So many entries at most.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Go on where an earlier one with --limit ended, which says what to write here.
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    after: Option<String>,
}

pub(super) async fn run(audit: &Audit, here: &Here) -> Result<()> {
    let channel_id = match &audit.channel {
        None => None,
        Some(word) => match find(word, here).await.map_err(by_its_id)? {
            Target::Id(id) => Some(id),
            peer @ Target::Peer(_) => Some(peer.channel(here).await?.id),
        },
    };
    let (zone, mut left, mut page_token) = (TimeZone::system(), audit.limit.unwrap_or(u64::MAX), audit.after.clone());
    let mut collected = Vec::new();
    while left > 0 {
        let page_size = Some(left.min(PAGE_ENTRIES) as i64);
        let page = here.run(&AuditChannels { channel_id: channel_id.clone(), page_size, page_token }).await?;
        left = left.saturating_sub(page.entries.len() as u64);
        match here.output.format {
            Some(Format::Json) => collected.extend(page.entries),
            Some(Format::Jsonl) => here.output.rows(&page.entries)?,
            _ => table(&page.entries, &zone).lines().iter().try_for_each(|line| here.output.line(line))?,
        }
        page_token = page.next_page_token;
        if page_token.is_none() {
            break;
        }
    }
    if here.output.format == Some(Format::Json) {
        here.output.rows(&collected)?;
    }
    if let Some(place) = page_token.filter(|_| left == 0) {
        let place = clean(&place, Breaks::Shown);
        here.output
            .note(format_args!("this is not the end; a higher --limit shows more, --after {place} goes on here"));
    }
    Ok(())
}

/// An admin may audit channels that they cannot see, and names are those of channels that one can see.
fn by_its_id(error: anyhow::Error) -> anyhow::Error {
    if refusal_of(&error).is_some() || exit_of(&error) != Exit::Findings {
        return error;
    }
    let advice =
        "a channel that you are not in is audited by its id; `factum channel audit` shows them all, with their ids";
    error.downcast::<Problem>().map_or_else(|error| error, |problem| problem.advice(advice).into())
}

fn table(entries: &[ChannelAuditEntry], zone: &TimeZone) -> Table {
    let mut table = Table::default();
    for entry in entries {
        let (time, action) = (when(entry.timestamp, zone), action(entry.action).to_owned());
        table.row([time, entry.actor.clone(), action, object(entry), entry.channel_id.to_string()]);
    }
    table
}

fn action(action: ChannelAuditAction) -> &'static str {
    match action {
        ChannelAuditAction::ChannelCreated => "created",
        ChannelAuditAction::ChannelUpdated => "updated",
        ChannelAuditAction::ChannelDeleted => "deleted",
        ChannelAuditAction::MemberAdded => "added",
        ChannelAuditAction::MemberRemoved => "removed",
        ChannelAuditAction::MemberRoleChanged => "changed role",
        ChannelAuditAction::MessagePublished => "published",
        ChannelAuditAction::ReadMarked => "read up to",
    }
}

/// What it was done to.
fn object(entry: &ChannelAuditEntry) -> String {
    match (&entry.principal_id, entry.role, entry.sequence) {
        (Some(principal), Some(given), _) => format!("{principal} ({})", role(given)),
        (Some(principal), None, None) => principal.clone(),
        (_, _, Some(sequence)) => format!("message {sequence}"),
        (None, ..) => String::new(),
    }
}
