//! `factum channel chat`: follow a channel and post to it.
//!
//! Three things go on at once, each in a task of its own: the channel is followed, lines are posted one after the other,
//! and what a person was shown is marked as read. This file is the loop that joins them with whoever types. What that
//! looks like is in `face`; a message is shown when the channel says it is there, never before.

mod editor;
mod face;
mod keys;
mod marks;
mod post;
mod raw;
mod screen;
mod words;

use std::io::IsTerminal;

use anyhow::{Result, anyhow};
use clap::Args;
use factum_model::messaging::{Channel, MessageEvent, StreamEnvelope};
use jiff::tz::TimeZone;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Here;
use super::describe::{members, title};
use super::follow::{Also, open_new};
use super::history::recent;
use super::presence::{lines, who};
use super::target::{Target, Which};
use crate::client::{FollowChannel, Heard};
use crate::failure::{Problem, render};
use crate::render::{Breaks, clean};
use crate::table::count;
use face::{Face, Typed};
use marks::Marks;
use post::{Post, Posted, Poster};
use words::{HELP, Said};

/// Messages from before that are shown to a person.
const LAST_MESSAGES: u64 = 20;
/// What was heard and is not yet shown. Whoever reads slower than this makes the server wait.
const HEARD_MAX: usize = 256;

#[derive(Debug, Args)]
#[command(after_help = "\
On a terminal: /who, /members, /reply MESSAGE TEXT, /help and /quit; a line that starts with // is posted with one slash.
From a pipe: every line is a message as it is; it ends when all of them are in the channel.
On a terminal what is shown is marked as read, unless messages you have not read stand before it. From a pipe nothing is.")]
pub(in super::super) struct Chat {
    #[command(flatten)]
    which: Which,
    /// How many messages from before to show [default: 20 on a terminal, else 0]
    #[arg(long, value_name = "N")]
    last: Option<u64>,
    /// Print messages as they come and read whole lines, even on a terminal.
    #[arg(long)]
    plain: bool,
}

/// Who is at the other end of stdin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Typist {
    /// Makes mistakes, and has commands.
    Person,
    /// Every line is a message, and the first that fails is the end.
    Pipe,
}

pub(super) async fn run(chat: &Chat, here: &Here) -> Result<()> {
    let target = chat.which.find(here).await?;
    let mut channel = target.channel(here).await?;
    let typist = if std::io::stdin().is_terminal() { Typist::Person } else { Typist::Pipe };
    let last = chat.last.unwrap_or(if typist == Typist::Person { LAST_MESSAGES } else { 0 });
    let before = recent(&target, last, here).await?;
    let reading = reading(typist, &channel, &before);
    // Something may have been published between the two questions.
    channel.message_count = before.last().map_or(0, |message| message.sequence).max(channel.message_count);
    let also = Also { control: typist == Typist::Person, presence: false };
    let heard = listen(open_new(&target, &channel, also, here));

    let on_screen = typist == Typist::Person && here.output.is_terminal() && !here.output.is_json() && !chat.plain;
    if typist == Typist::Person {
        here.output.note(greeting(&channel));
    }
    if let Reading::Gap { last } = reading {
        here.output.note(format_args!(
            "not everything you have not read is shown, so nothing is marked as read; --last {last} shows it"
        ));
    }
    let mut face =
        if on_screen { Face::screen(here.output, &name(&target, &channel))? } else { Face::lines(here.output) };
    face.expect(channel.members.iter().map(|member| member.principal_id.as_str()));
    before.iter().try_for_each(|message| face.message(message))?;
    let marks = match reading {
        Reading::On { from } => Marks::start(&target, from, here),
        Reading::Gap { .. } | Reading::Nobody => Marks::none(),
    };
    marks.shown(before.last().map_or(0, |message| message.sequence));
    let room = Room {
        poster: Poster::start(&target, here),
        here: here.clone(),
        marks,
        asks: JoinSet::new(),
        face,
        target,
        typist,
        shown: channel.message_count,
        lines: 0,
        posted: 0,
        ended: false,
    };
    room.converse(heard).await
}

/// Follows the channel in a task of its own, which ends with whoever listens.
fn listen(mut stream: FollowChannel) -> mpsc::Receiver<Result<Heard>> {
    let (tell, heard) = mpsc::channel(HEARD_MAX);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                next = stream.next() => {
                    let over = next.is_err();
                    if tell.send(next).await.is_err() || over {
                        return;
                    }
                }
                () = tell.closed() => return,
            }
        }
    });
    heard
}

fn greeting(channel: &Channel) -> String {
    let (members, messages) = (count(channel.members.len() as u64, "member"), count(channel.message_count, "message"));
    let unread = channel.read_cursor.as_ref().map_or(0, |cursor| cursor.unread_count);
    let unread = if unread > 0 { format!(", {unread} unread") } else { String::new() };
    format!("{}: {members}, {messages}{unread}. /help says what you can do.", title(channel))
}

/// What becomes of how far somebody has read.
#[derive(Debug, PartialEq, Eq)]
enum Reading {
    /// It goes on behind `from`: everything unread is shown.
    On { from: u64 },
    /// Something unread stands before what is shown, and a mark would cover it. The last so many messages have all of it.
    Gap { last: u64 },
    /// A pipe does not read, and who is no member has nothing to mark.
    Nobody,
}

/// `channel` is how it was before `shown` was asked for.
fn reading(typist: Typist, channel: &Channel, shown: &[MessageEvent]) -> Reading {
    let Some(cursor) = channel.read_cursor.as_ref().filter(|_| typist == Typist::Person) else {
        return Reading::Nobody;
    };
    // What is behind the cursor and not unread is their own.
    let read = if cursor.unread_count == 0 { channel.message_count } else { cursor.sequence };
    let (first, last) = match shown {
        [first, .., last] => (first.sequence, last.sequence),
        [one] => (one.sequence, one.sequence),
        [] => (channel.message_count + 1, channel.message_count),
    };
    if first <= read + 1 {
        return Reading::On { from: cursor.sequence };
    }
    Reading::Gap { last: last.saturating_sub(read) }
}

/// What stands before the line that is being typed.
fn name(target: &Target, channel: &Channel) -> String {
    match target {
        Target::Peer(peer) => clean(&format!("@{peer}"), Breaks::Shown),
        Target::Id(_) => title(channel),
    }
}

/// Everything that the loop changes.
struct Room {
    here: Here,
    target: Target,
    typist: Typist,
    face: Face,
    poster: Poster,
    marks: Marks,
    /// Questions that the server is still answering.
    asks: JoinSet<Result<String>>,
    /// The last message that was shown.
    shown: u64,
    /// How many lines came in.
    lines: u64,
    /// The last of our own messages that the server has.
    posted: u64,
    /// Nothing more will be typed.
    ended: bool,
}

impl Room {
    async fn converse(mut self, mut heard: mpsc::Receiver<Result<Heard>>) -> Result<()> {
        let (mut terminate, mut hangup) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
        while !self.is_done() {
            tokio::select! {
                next = heard.recv() => self.hear(next)?,
                posted = self.poster.next(), if self.poster.is_busy() => self.posted(posted)?,
                Some(answer) = self.asks.join_next(), if !self.asks.is_empty() => self.answer(answer?)?,
                typed = self.face.next(), if self.takes_lines() => match typed.map_err(|error| self.in_line(error))? {
                    Typed::Line(line) => self.line(line)?,
                    // Told twice, it does not wait for the server.
                    Typed::End if self.ended => break,
                    Typed::End => self.ended = true,
                },
                _ = tokio::signal::ctrl_c() => break,
                _ = terminate.recv() => break,
                _ = hangup.recv() => break,
            }
        }
        self.leave().await
    }

    /// Whether all that was typed can be seen in the channel, and no more will be.
    fn is_done(&self) -> bool {
        self.ended && !self.poster.is_busy() && self.shown >= self.posted
    }

    /// A pipe waits until its last line is in the channel, so that the first that fails is the last that was tried. A
    /// person may say that they do not want to wait any longer.
    fn takes_lines(&self) -> bool {
        match (&self.face, self.typist) {
            (Face::Screen(_), _) => true,
            (Face::Lines(_), Typist::Person) => !self.ended,
            (Face::Lines(_), Typist::Pipe) => !self.ended && !self.poster.is_busy(),
        }
    }

    fn hear(&mut self, next: Option<Result<Heard>>) -> Result<()> {
        match next.ok_or_else(|| anyhow!("following the channel ended"))?? {
            Heard::Entry(entry) => {
                self.face.entry(&entry)?;
                if let StreamEnvelope::MessageEvent { event } = &entry.envelope {
                    self.shown = event.sequence;
                    self.marks.shown(event.sequence);
                }
                Ok(())
            }
            Heard::Lost(why) => self.face.notice(&format!("the connection is lost ({why}); trying again")),
            Heard::Back => self.face.notice("connected again"),
        }
    }

    fn line(&mut self, line: String) -> Result<()> {
        self.lines += 1;
        // Who presses enter has nothing to say; in what a pipe brings an empty line is one, too.
        let says_nothing = self.typist == Typist::Person && line.trim().is_empty();
        if self.ended || says_nothing {
            return Ok(());
        }
        let said = if self.typist == Typist::Pipe { Said::Post(line.clone()) } else { Said::read(&line) };
        match said {
            Said::Post(text) => self.post(Post { line, text, reply_to: None })?,
            Said::Reply(message, text) => self.post(Post { line, text, reply_to: Some(message) })?,
            Said::Who => self.ask_who(),
            Said::Members => self.ask_members(),
            Said::Help => self.face.notice(HELP)?,
            Said::Quit => self.ended = true,
            Said::Wrong(why) => {
                self.face.notice(&why)?;
                self.face.give_back(&line)?;
            }
        }
        Ok(())
    }

    /// A line that could not even be read. Whoever wrote the lines wants to know which.
    fn in_line(&self, error: anyhow::Error) -> anyhow::Error {
        match self.typist {
            Typist::Pipe => error.context(format!("line {} was not posted", self.lines + 1)),
            Typist::Person => error,
        }
    }

    fn post(&mut self, post: Post) -> Result<()> {
        if let Err(post) = self.poster.post(post) {
            self.face.notice("too much is waiting to be sent; try again when the server is back")?;
            self.face.give_back(&post.line)?;
        }
        Ok(())
    }

    fn posted(&mut self, posted: Posted) -> Result<()> {
        let error = match posted.outcome {
            Ok(sequence) => {
                self.posted = self.posted.max(sequence);
                return Ok(());
            }
            Err(error) => error,
        };
        if self.typist == Typist::Pipe {
            return Err(error.context(format!("line {} was not posted", self.lines)));
        }
        self.face.notice(&render(&error))?;
        self.face.give_back(&posted.post.line)
    }

    fn ask_who(&mut self) {
        let (target, here) = (self.target.clone(), self.here.clone());
        self.asks.spawn(async move {
            let present = who(&target, &here).await?;
            Ok(lines(&present, &TimeZone::system()).join("\n"))
        });
    }

    fn ask_members(&mut self) {
        let (target, here) = (self.target.clone(), self.here.clone());
        self.asks.spawn(async move {
            let channel = target.channel(&here).await?;
            Ok(members(&channel, &TimeZone::system()).join("\n"))
        });
    }

    fn answer(&mut self, answer: Result<String>) -> Result<()> {
        match answer {
            Ok(text) => self.face.notice(&text),
            Err(error) => self.face.notice(&render(&error)),
        }
    }

    async fn leave(self) -> Result<()> {
        let Self { face, poster, marks, .. } = self;
        drop(face);
        marks.finish().await;
        match poster.under_way() {
            0 => Ok(()),
            waiting => {
                let what = format!("it is not known whether {} arrived", count(waiting as u64, "message"));
                Err(Problem::unreachable(what).advice("`factum channel history` shows it").into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn channel(messages: u64, read: Option<(u64, u64)>) -> Channel {
        let cursor = read.map(|(sequence, unread)| json!({ "sequence": sequence, "unreadCount": unread }));
        let channel = json!({
            "id": "chan_1", "visibility": "private", "createdAt": 0, "createdBy": "agent://a", "members": [], "metadata": {},
            "version": 1, "kind": "channel", "messageCount": messages, "readCursor": cursor,
        });
        serde_json::from_value(channel).unwrap()
    }

    fn messages(sequences: std::ops::RangeInclusive<u64>) -> Vec<MessageEvent> {
        let message = |sequence| {
            let parts = json!([{ "text": "hi" }]);
            json!({
                "id": format!("msg_{sequence}"), "channelId": "chan_1", "sequence": sequence, "timestamp": 0,
                "author": "agent://a", "parts": parts, "kind": "messageEvent",
            })
        };
        sequences.map(|sequence| serde_json::from_value(message(sequence)).unwrap()).collect()
    }

    #[test]
    fn a_mark_never_covers_what_was_not_shown() {
        let person = |channel: &Channel, shown: &[MessageEvent]| reading(Typist::Person, channel, shown);
        let behind = channel(100, Some((50, 50)));
        assert_eq!(person(&behind, &messages(81..=100)), Reading::Gap { last: 50 });
        assert_eq!(person(&behind, &messages(51..=100)), Reading::On { from: 50 });
        assert_eq!(person(&behind, &messages(52..=101)), Reading::Gap { last: 51 }, "one more came in between");
        let through = channel(100, Some((50, 0)));
        assert_eq!(person(&through, &messages(102..=121)), Reading::Gap { last: 21 }, "many came in between");
        assert_eq!(person(&behind, &[]), Reading::Gap { last: 50 });
        assert_eq!(person(&channel(100, Some((50, 0))), &[]), Reading::On { from: 50 }, "the rest is one's own");
        assert_eq!(person(&channel(0, Some((0, 0))), &[]), Reading::On { from: 0 });
        assert_eq!(person(&channel(1, None), &messages(1..=1)), Reading::Nobody);
        assert_eq!(reading(Typist::Pipe, &channel(1, Some((0, 1))), &messages(1..=1)), Reading::Nobody);
    }
}
