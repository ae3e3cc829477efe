//! `factum channel history`: the last messages, those from somewhere on, or all of them.

use anyhow::Result;
use clap::Args;
use factum_model::commands::{HistoryDirection, ReadChannelHistory};
use factum_model::messaging::MessageEvent;
use jiff::Timestamp;

use super::Here;
use super::message::{MessageRef, history};
use super::render::Printer;
use super::target::{Target, Which};
use crate::output::Format;
use crate::when::{now, parse_span};

/// As many messages as the server puts on a page.
const PAGE_MESSAGES: u64 = 200;

#[derive(Debug, Args)]
#[command(after_help = "\
Without --since, --all or --backward: the last messages, oldest first.")]
pub(super) struct History {
    #[command(flatten)]
    which: Which,
    /// So many messages at most.
    #[arg(long, default_value = "50", value_name = "N", conflicts_with = "all")]
    limit: u64,
    /// From behind this message on, or from a time on: 12, 2026-01-01T00:00:00Z, or ago: 30m, 2h, 7d.
    #[arg(long, value_name = "SEQUENCE|TIME", value_parser = parse_since)]
    since: Option<Since>,
    /// Only messages of this principal; may be given several times.
    #[arg(long = "author", value_name = "PRINCIPAL")]
    authors: Vec<String>,
    /// Only messages of the thread of this message, by its number or id.
    #[arg(long, value_name = "MESSAGE")]
    thread: Option<MessageRef>,
    /// Newest first.
    #[arg(long)]
    backward: bool,
    /// Everything there is, however much.
    #[arg(long)]
    all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    Sequence(u64),
    Timestamp(i64),
}

pub(super) async fn run(args: History, here: &Here) -> Result<()> {
    let target = args.which.find(here).await?;
    let thread_id = match &args.thread {
        Some(message) => Some(message.find(&target, here).await?),
        None => None,
    };
    let last = args.since.is_none() && !args.all && !args.backward;
    let left = if args.all { u64::MAX } else { args.limit };
    let command = ReadChannelHistory { thread_id, ..question(args, last, &target) };
    let mut pages = Pages { command: Some(command), left };
    // Turned around or one document: it has to be there as a whole.
    let whole = last || here.output.format == Some(Format::Json);
    let count = if whole { print_whole(&mut pages, last, here).await? } else { print_pages(&mut pages, here).await? };
    match pages.command {
        None if count == 0 => here.output.note("no messages"),
        Some(_) if last => here.output.note("there are older ones; --limit or --all shows more"),
        Some(_) => here.output.note("there are more; --limit or --all shows them"),
        None => {}
    }
    Ok(())
}

fn question(args: History, last: bool, target: &Target) -> ReadChannelHistory {
    let (since_sequence, since_timestamp) = match args.since {
        Some(Since::Sequence(sequence)) => (Some(sequence), None),
        Some(Since::Timestamp(ms)) => (None, Some(ms)),
        None => (None, None),
    };
    ReadChannelHistory {
        since_sequence,
        since_timestamp,
        author_ids: (!args.authors.is_empty()).then_some(args.authors),
        direction: (last || args.backward).then_some(HistoryDirection::Backward),
        ..history(target, None, PAGE_MESSAGES as i64)
    }
}

async fn print_whole(pages: &mut Pages, turned: bool, here: &Here) -> Result<usize> {
    let messages = pages.rest(here, turned).await?;
    print(&messages, &mut Printer::new(here.output), here)?;
    Ok(messages.len())
}

async fn print_pages(pages: &mut Pages, here: &Here) -> Result<usize> {
    let (mut printer, mut count) = (Printer::new(here.output), 0);
    while let Some(messages) = pages.next(here).await? {
        print(&messages, &mut printer, here)?;
        count += messages.len();
    }
    Ok(count)
}

fn print(messages: &[MessageEvent], printer: &mut Printer, here: &Here) -> Result<()> {
    if here.output.is_json() {
        here.output.rows(messages)?;
    } else {
        printer.expect(messages.iter().map(|message| message.author.as_str()));
        messages.iter().try_for_each(|message| printer.message(message))?;
    }
    Ok(())
}

/// The last messages of a channel, oldest first.
pub(super) async fn recent(target: &Target, limit: u64, here: &Here) -> Result<Vec<MessageEvent>> {
    let command = ReadChannelHistory {
        direction: Some(HistoryDirection::Backward),
        ..history(target, None, PAGE_MESSAGES as i64)
    };
    Pages { command: Some(command), left: limit }.rest(here, true).await
}

/// Page after page, as long as there are more and more are wanted.
struct Pages {
    command: Option<ReadChannelHistory>,
    left: u64,
}

impl Pages {
    async fn next(&mut self, here: &Here) -> Result<Option<Vec<MessageEvent>>> {
        // What is left out stays in `command`.
        let Some(mut command) = self.command.take_if(|_| self.left > 0) else { return Ok(None) };
        command.page_size = Some(self.left.min(PAGE_MESSAGES) as i64);
        let page = here.run(&command).await?;
        self.left = self.left.saturating_sub(page.events.len() as u64);
        command.page_token = page.next_page_token;
        self.command = command.page_token.is_some().then_some(command);
        Ok(Some(page.events))
    }

    async fn rest(&mut self, here: &Here, turned: bool) -> Result<Vec<MessageEvent>> {
        let mut messages = Vec::new();
        while let Some(page) = self.next(here).await? {
            messages.extend(page);
        }
        if turned {
            messages.reverse();
        }
        Ok(messages)
    }
}

fn parse_since(text: &str) -> Result<Since, String> {
    since(text, now())
        .ok_or_else(|| "write the number of a message, a time such as 2026-01-01T00:00:00Z, or 2h".to_owned())
}

fn since(text: &str, now: Timestamp) -> Option<Since> {
    if let Ok(sequence) = text.parse() {
        return Some(Since::Sequence(sequence));
    }
    let at = text.parse().ok().or_else(|| now.checked_sub(parse_span(text)?).ok())?;
    Some(Since::Timestamp(Timestamp::as_millisecond(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_number_a_time_or_so_long_ago() {
        let now: Timestamp = "2026-01-02T00:00:00Z".parse().unwrap();
        let ago = |span: i64| Some(Since::Timestamp(now.as_millisecond() - span));
        assert_eq!(since("12", now), Some(Since::Sequence(12)));
        assert_eq!(since("2026-01-01T00:00:00Z", now), ago(86_400_000));
        assert_eq!(since("1d", now), ago(86_400_000));
        assert_eq!(since("30m", now), ago(1_800_000));
        assert_eq!(since("yesterday", now), None);
    }
}
