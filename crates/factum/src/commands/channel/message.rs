//! A message as somebody names it: by its place in the channel, as it is shown everywhere, or by its id.

use std::str::FromStr;

use anyhow::Result;
use factum_model::commands::ReadChannelHistory;
use factum_model::id::MessageId;

use super::Here;
use super::target::Target;
use crate::failure::Problem;

/// A message, named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MessageRef {
    Sequence(u64),
    Id(MessageId),
}

impl FromStr for MessageRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(sequence) = text.parse() {
            return Ok(Self::Sequence(sequence));
        }
        let id = text.parse().ok().filter(|_| text.starts_with("msg_"));
        id.map(Self::Id).ok_or_else(|| "a message is named by its number or its id, such as 12 or msg_…".to_owned())
    }
}

impl MessageRef {
    pub(super) async fn find(&self, target: &Target, here: &Here) -> Result<MessageId> {
        let sequence = match self {
            Self::Id(id) => return Ok(id.clone()),
            Self::Sequence(sequence) => *sequence,
        };
        let unknown = || Problem::refused(format!("there is no message {sequence} in the channel"));
        let before = sequence.checked_sub(1).ok_or_else(unknown)?;
        let page = here.run(&history(target, Some(before), 1)).await?;
        let message = page.events.into_iter().find(|message| message.sequence == sequence);
        Ok(message.ok_or_else(unknown)?.id)
    }
}

/// What comes behind a message.
pub(super) fn history(target: &Target, since_sequence: Option<u64>, page_size: i64) -> ReadChannelHistory {
    ReadChannelHistory {
        channel_id: target.channel_id(),
        peer: target.peer(),
        page_size: Some(page_size),
        page_token: None,
        since_sequence,
        since_timestamp: None,
        author_ids: None,
        thread_id: None,
        direction: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_a_number_and_an_id() {
        assert_eq!("12".parse(), Ok(MessageRef::Sequence(12)));
        assert_eq!("msg_1".parse(), Ok(MessageRef::Id("msg_1".parse().unwrap())));
        for text in ["", "first", "msg_ 1", "-1"] {
            assert!(text.parse::<MessageRef>().is_err(), "{text:?}");
        }
    }
}
