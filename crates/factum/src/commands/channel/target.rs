//! Which channel is meant: an id, `@principal` for a direct channel, or a name.
//!
//! Names are not unique on a server; here they have to be, among the channels that the caller can see.

use anyhow::Result;
use clap::Args;
use factum_model::commands::{GetChannel, ListChannels};
use factum_model::id::MessagingChannelId;
use factum_model::messaging::{Channel, ChannelVisibility};

use super::Here;
use super::principal::remark;
use crate::failure::Problem;
use crate::nearest::did_you_mean;
use crate::render::{Breaks, clean};

/// As many channels as the server puts on a page.
const PAGE_CHANNELS: i64 = 200;
/// Channels of the same name that an error names.
const NAMED_MAX: usize = 5;

// A channel on the command line. (No doc comment: it would become the subcommand's help.)
#[derive(Debug, Args)]
pub(super) struct Which {
    /// The channel's id, its name, or @PRINCIPAL.
    #[arg(value_name = "CHANNEL", required_unless_present = "peer")]
    channel: Option<String>,
    /// The direct channel with this principal, instead of CHANNEL.
    #[arg(long, value_name = "PRINCIPAL", conflicts_with = "channel")]
    peer: Option<String>,
}

/// A channel, as commands name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Id(MessagingChannelId),
    /// The direct channel with this principal, which is made when it is first used.
    Peer(String),
}

impl Target {
    pub(super) fn channel_id(&self) -> Option<MessagingChannelId> {
        match self {
            Self::Id(id) => Some(id.clone()),
            Self::Peer(_) => None,
        }
    }

    pub(super) fn peer(&self) -> Option<String> {
        match self {
            Self::Id(_) => None,
            Self::Peer(peer) => Some(peer.clone()),
        }
    }

    /// The direct channel with somebody, as they were typed.
    pub(super) fn with(peer: &str, here: &Here) -> Self {
        remark(peer, here);
        Self::Peer(peer.to_owned())
    }

    /// The channel itself.
    pub(super) async fn channel(&self, here: &Here) -> Result<Channel> {
        let command = GetChannel { channel_id: self.channel_id(), peer: self.peer() };
        Ok(here.run(&command).await?.channel)
    }
}

impl Which {
    pub(super) async fn find(&self, here: &Here) -> Result<Target> {
        match (&self.peer, &self.channel) {
            (Some(peer), _) => Ok(Target::with(peer, here)),
            (None, channel) => find(channel.as_deref().unwrap_or_default(), here).await,
        }
    }
}

/// The channel that a word stands for.
pub(super) async fn find(word: &str, here: &Here) -> Result<Target> {
    match Word::read(word)? {
        Word::Id(id) => Ok(Target::Id(id)),
        Word::Peer(peer) => Ok(Target::with(peer, here)),
        Word::Name(name) => named(name, &all(here, None).await?).map(Target::Id).map_err(Into::into),
    }
}

/// The channel, where only its id will do and no direct one can be meant.
pub(super) async fn find_to_manage(word: &str, here: &Here) -> Result<MessagingChannelId> {
    match find(word, here).await? {
        Target::Id(id) => Ok(id),
        Target::Peer(peer) => {
            let problem = Problem::cannot_run(format!("the direct channel with {peer} cannot be changed"));
            Err(problem.because("it belongs to its two members as it is").advice("create a channel instead").into())
        }
    }
}

/// All channels that the caller can see.
pub(super) async fn all(here: &Here, visibility: Option<ChannelVisibility>) -> Result<Vec<Channel>> {
    let mut command = ListChannels { visibility, page_size: Some(PAGE_CHANNELS), page_token: None };
    let mut channels = Vec::new();
    loop {
        let page = here.run(&command).await?;
        channels.extend(page.channels);
        command.page_token = page.next_page_token;
        if command.page_token.is_none() {
            return Ok(channels);
        }
    }
}

/// What a word is before anybody is asked.
#[derive(Debug, PartialEq, Eq)]
enum Word<'a> {
    Id(MessagingChannelId),
    Peer(&'a str),
    Name(&'a str),
}

impl<'a> Word<'a> {
    fn read(word: &'a str) -> Result<Self, Problem> {
        if let Some(peer) = word.strip_prefix('@') {
            return Ok(Self::Peer(peer));
        }
        if word.starts_with("chan_") || word.starts_with("chan:") {
            let bad = |error| Problem::cannot_run(format!("{word:?} is not a channel's id")).because(error);
            return word.parse().map(Self::Id).map_err(bad);
        }
        if word.contains("://") {
            let problem = Problem::cannot_run(format!("{word} is somebody's name, not a channel's"));
            return Err(problem.advice(format!("write @{word} for the direct channel with them")));
        }
        Ok(Self::Name(word))
    }
}

/// The one channel of this name.
fn named(name: &str, channels: &[Channel]) -> Result<MessagingChannelId, Problem> {
    let matching: Vec<&Channel> = channels.iter().filter(|channel| channel.name.as_deref() == Some(name)).collect();
    match matching.as_slice() {
        [one] => Ok(one.id.clone()),
        [] => {
            let hint = did_you_mean(name, channels.iter().filter_map(|channel| channel.name.as_deref()));
            let problem =
                Problem::refused(format!("no channel you can see is called {name:?}{}", clean(&hint, Breaks::Shown)));
            Err(problem.advice("`factum channel list` shows those you can see; a channel's id works too"))
        }
        several => {
            let ids: Vec<&str> = several.iter().take(NAMED_MAX).map(|channel| channel.id.as_str()).collect();
            let more = if several.len() > NAMED_MAX { "\n…" } else { "" };
            let problem = Problem::cannot_run(format!("{} channels are called {name:?}", several.len()));
            Err(problem.advice(format!("say which one by its id:\n{}{more}", ids.join("\n"))))
        }
    }
}

#[cfg(test)]
mod tests {
    use factum_model::messaging::ChannelKind;

    use super::*;

    fn channel(id: &str, name: &str) -> Channel {
        Channel {
            id: id.parse().unwrap(),
            name: Some(name.to_owned()),
            visibility: ChannelVisibility::Private,
            created_at: 0,
            created_by: "agent://a".to_owned(),
            members: Vec::new(),
            metadata: Default::default(),
            version: 1,
            kind: ChannelKind::Channel,
            direct: None,
            message_count: 0,
            read_cursor: None,
        }
    }

    #[test]
    fn words_are_ids_principals_or_names() {
        let read = |word| Word::read(word).ok();
        let id = |id: &str| Some(Word::Id(id.parse().unwrap()));
        assert_eq!(read("chan_1"), id("chan_1"));
        assert_eq!(read("chan:direct:00"), id("chan:direct:00"));
        assert_eq!(read("@agent://bob"), Some(Word::Peer("agent://bob")));
        assert_eq!(read("general"), Some(Word::Name("general")));
        assert_eq!(read("chan_ with space"), None);
        assert_eq!(read("agent://bob"), None);
    }

    #[test]
    fn a_name_has_to_stand_for_one_channel() {
        let channels = [channel("chan_1", "general"), channel("chan_2", "twins"), channel("chan_3", "twins")];
        let found = |name| named(name, &channels).map(|id| id.to_string()).map_err(|problem| problem.to_string());
        assert_eq!(found("general"), Ok("chan_1".to_owned()));
        assert_eq!(found("twins"), Err("2 channels are called \"twins\"".to_owned()));
        let unknown = "no channel you can see is called \"generl\"; did you mean \"general\"?";
        assert_eq!(found("generl"), Err(unknown.to_owned()));
    }
}
