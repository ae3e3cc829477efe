//! `channels/list`: the caller's channels, then public ones that are not theirs. Direct channels are never listed.

use bytes::Bytes;
use factum_engine::json_bytes;
use factum_engine::messaging::{MemberRow, keys};
use factum_model::commands::{ListChannels, ListChannelsResult};
use factum_model::id::MessagingChannelId;
use factum_model::messaging::{Channel, ChannelVisibility};
use factum_model::{ErrorCode, Refusal};
use factum_store::{Direction, Scan};

use super::messages::MESSAGES_BYTES_MAX;
use super::page_token::{Purpose, given, page_size};
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::runtime::Runtime;

/// How many rows one page looks at for each channel it may show: direct channels are passed over.
const ROWS_PER_CHANNEL_MAX: usize = 10;

/// How many bytes of channels one page has: what one of messages has. A channel that is larger comes alone.
const CHANNELS_BYTES_MAX: usize = MESSAGES_BYTES_MAX;

/// The two stretches of the list, one behind the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stretch {
    Own = 0,
    Public = 1,
}

impl Handle<ListChannels> for Runtime {
    async fn handle(&self, caller: &Caller, command: ListChannels) -> Result<ListChannelsResult, Refusal> {
        let purpose = Purpose::new("channels/list", caller, &format!("{:?}", command.visibility));
        let (mut stretch, mut after) = match given(command.page_token.as_deref()) {
            Some(token) => open_place(&self.open_page_token(caller, &purpose, token)?)?,
            None => (Stretch::Own, None),
        };
        let size = page_size(command.page_size);
        let (mut channels, mut bytes) = (Vec::with_capacity(size), 0);
        let mut looks = size * ROWS_PER_CHANNEL_MAX;
        loop {
            // One more than the page has: only where there is another channel is there another page.
            let wanted = (size + 1).min(looks);
            let rows = self.rows(caller, stretch, after.clone(), wanted).await?;
            let ended = rows.len() < wanted;
            for (key, value) in rows {
                looks -= 1;
                if let Some(channel) = self.listed(caller, &command, stretch, &key, &value).await? {
                    bytes += json_bytes(&channel);
                    if channels.len() == size || (bytes > CHANNELS_BYTES_MAX && !channels.is_empty()) {
                        let token = self.page_token(caller, &purpose, &place(stretch, after.as_deref()));
                        return Ok(ListChannelsResult { channels, next_page_token: Some(token) });
                    }
                    channels.push(channel);
                }
                after = Some(key);
            }
            if looks == 0 {
                let token = self.page_token(caller, &purpose, &place(stretch, after.as_deref()));
                return Ok(ListChannelsResult { channels, next_page_token: Some(token) });
            }
            if ended && stretch == Stretch::Public {
                return Ok(ListChannelsResult { channels, next_page_token: None });
            }
            if ended {
                (stretch, after) = (Stretch::Public, None);
            }
        }
    }
}

impl Runtime {
    async fn rows(
        &self,
        caller: &Caller,
        stretch: Stretch,
        after: Option<Bytes>,
        limit: usize,
    ) -> Result<Vec<(Bytes, Bytes)>, Refusal> {
        let prefix = match stretch {
            Stretch::Own => keys::members_of(&caller.account, &caller.principal),
            Stretch::Public => keys::publics_of(&caller.account),
        };
        let scan = Scan { prefix: prefix.into(), after, until: None, direction: Direction::Forward, limit };
        self.0.store.scan(scan).await.map_err(|error| read_refusal(&error))
    }

    /// The channel of a row, if it is to be shown.
    async fn listed(
        &self,
        caller: &Caller,
        command: &ListChannels,
        stretch: Stretch,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Channel>, Refusal> {
        let channel_id: Option<MessagingChannelId> = match stretch {
            Stretch::Own => {
                let direct = serde_json::from_slice(value).is_ok_and(|row: MemberRow| row.direct);
                keys::read_member(key).filter(|_| !direct)
            }
            Stretch::Public => keys::read_public(key),
        };
        let Some(channel_id) = channel_id else { return Ok(None) };
        let channel = match self.channel_of(caller, &channel_id).await {
            Ok(channel) => channel,
            // Gone since its row was read.
            Err(refusal) if refusal.code == ErrorCode::NotFound => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let own = channel.read_cursor.is_some();
        let here = own == (stretch == Stretch::Own);
        let visible = command.visibility.is_none_or(|wanted: ChannelVisibility| wanted == channel.visibility);
        Ok(Some(channel).filter(|_| here && visible))
    }
}

fn place(stretch: Stretch, after: Option<&[u8]>) -> Vec<u8> {
    [&[stretch as u8], after.unwrap_or_default()].concat()
}

fn open_place(place: &[u8]) -> Result<(Stretch, Option<Bytes>), Refusal> {
    let refuse = || Refusal::invalid("the page token is not valid here; start again without one");
    let (first, after) = place.split_first().ok_or_else(refuse)?;
    let stretch = if *first == Stretch::Own as u8 { Stretch::Own } else { Stretch::Public };
    Ok((stretch, Some(after).filter(|after| !after.is_empty()).map(Bytes::copy_from_slice)))
}
