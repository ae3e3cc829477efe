//! The feed: every stream the caller may see, in the order of the store, behind an opaque cursor: the sessions of the account,
//! and the channels that they may read at the moment, without what there is of others alone.

use bytes::Bytes;
use factum_model::Refusal;
use factum_model::registry::Scope;
use factum_store::{Position, ReadLimit};

use crate::caller::Caller;
use crate::error::read_refusal;
use crate::messaging::{ChannelsSeen, is_for};
use crate::runtime::Runtime;

const PURPOSE: &str = "feed";
/// How many commits are looked at for one page at most, whoever's they are.
const LOOK_RECORDS_MAX: usize = 4_096;
/// How many bytes of them.
const LOOK_BYTES_MAX: usize = 4 << 20;

/// What comes at once to whoever follows. One who does not read is left with that much in hand, and may be taken out of a channel
/// meanwhile: what they may see is looked at once for each.
const FOLLOWED: ReadLimit = ReadLimit { records: 100, bytes: 32 << 10 };

/// One event of the feed and the cursor that continues behind it.
#[derive(Clone, Debug)]
pub struct FeedEvent {
    pub cursor: String,
    pub json: Bytes,
}

/// A stretch of the feed. `cursor` continues behind everything that was looked at, also where nothing was the account's.
#[derive(Clone, Debug)]
pub struct FeedPage {
    pub events: Vec<FeedEvent>,
    pub cursor: String,
    pub has_more: bool,
}

/// Behind which record of which commit to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) position: Position,
    /// Records of that commit that have been given.
    pub(crate) records: u32,
}

impl Place {
    pub(crate) const START: Place = Place { position: 0, records: 0 };

    /// Behind all of a commit, which then is not read again: it may be more than is read at once.
    fn behind(position: Position) -> Self {
        Self { position, records: 0 }
    }

    /// Behind which position to read: a commit that was given in part is read again, and its position is behind the one before it.
    pub(crate) fn read_after(self) -> Position {
        if self.records > 0 { self.position.saturating_sub(1) } else { self.position }
    }

    /// How many records of the commit at a position have been given.
    pub(crate) fn given_of(self, position: Position) -> usize {
        if position == self.position { self.records as usize } else { 0 }
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        [self.position.to_be_bytes().as_slice(), &self.records.to_be_bytes()].concat()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (position, records) = bytes.split_first_chunk::<8>()?;
        let records = records.try_into().map(u32::from_be_bytes).ok()?;
        Some(Self { position: u64::from_be_bytes(*position), records })
    }
}

/// The feed, as it goes on for one caller. Nothing is taken from it before somebody asks: what waits for a client that does not
/// read waits in the log.
pub struct FeedStream {
    runtime: Runtime,
    caller: Caller,
    cursor: Option<String>,
}

impl FeedStream {
    /// The next events, at least one. Waits where there are none yet; dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Vec<FeedEvent>, Refusal> {
        loop {
            let page = self.runtime.feed_within(&self.caller, self.cursor.as_deref(), FOLLOWED).await?;
            let at = self.cursor.insert(page.cursor);
            if !page.events.is_empty() {
                return Ok(page.events);
            }
            if !page.has_more {
                self.runtime.feed_changed(&self.caller, at).await?;
            }
        }
    }
}

impl Runtime {
    /// The next events behind a cursor, from the beginning where there is none.
    pub async fn feed(&self, caller: &Caller, cursor: Option<&str>, limit: usize) -> Result<FeedPage, Refusal> {
        self.feed_within(caller, cursor, ReadLimit { records: limit, bytes: LOOK_BYTES_MAX }).await
    }

    /// Follows the feed from behind a cursor. One that is not valid here is refused now, not in the middle of a stream.
    pub async fn follow_feed(&self, caller: &Caller, cursor: Option<&str>) -> Result<FeedStream, Refusal> {
        self.feed(caller, cursor, 1).await?;
        Ok(FeedStream { runtime: self.clone(), caller: caller.clone(), cursor: cursor.map(str::to_owned) })
    }

    /// As many events as fit, and always one where there is one.
    async fn feed_within(&self, caller: &Caller, cursor: Option<&str>, limit: ReadLimit) -> Result<FeedPage, Refusal> {
        caller.require(Scope::SessionsRead)?;
        let place = cursor.map_or(Ok(Place::START), |cursor| self.open_place(caller, cursor))?;
        let mut page = FeedPage { events: Vec::new(), cursor: String::new(), has_more: false };
        let (mut at, mut bytes) = (place, 0);
        let mut channels = ChannelsSeen::of(caller);
        let read = ReadLimit { records: LOOK_RECORDS_MAX, bytes: limit.bytes };
        let commits = self.0.store.feed(place.read_after(), read).await.map_err(|error| read_refusal(&error))?;
        for commit in commits {
            let given = place.given_of(commit.position);
            let (position, count) = (commit.position, commit.records.len() as u32);
            let of_channel = *commit.partition != *caller.account;
            if of_channel && !channels.may_read(self, caller, &commit).await? {
                at = Place::behind(position);
                continue;
            }
            for (record, number) in commit.records.into_iter().zip(1_u32..).skip(given) {
                if of_channel && !is_for(&caller.principal, &record) {
                    at = Place { position, records: number };
                    continue;
                }
                bytes += record.len();
                if page.events.len() == limit.records || (bytes > limit.bytes && !page.events.is_empty()) {
                    page.has_more = true;
                    page.cursor = self.seal_place(caller, at);
                    return Ok(page);
                }
                at = if number == count { Place::behind(position) } else { Place { position, records: number } };
                page.events.push(FeedEvent { cursor: self.seal_place(caller, at), json: record });
            }
            at = Place::behind(position);
        }
        page.cursor = self.seal_place(caller, at);
        page.has_more = at.position < *self.0.store.durable().borrow();
        Ok(page)
    }

    /// A cursor behind everything there is now.
    pub fn feed_end(&self, caller: &Caller) -> String {
        let position = *self.0.store.durable().borrow();
        self.seal_place(caller, Place { position, records: u32::MAX })
    }

    /// Waits until there may be something behind a cursor.
    pub async fn feed_changed(&self, caller: &Caller, cursor: &str) -> Result<(), Refusal> {
        let place = self.open_place(caller, cursor)?;
        let mut durable = self.0.store.durable();
        // The store closing is a change too: the next page says so.
        drop(durable.wait_for(|position| *position > place.position).await);
        Ok(())
    }

    fn seal_place(&self, caller: &Caller, place: Place) -> String {
        self.0.secret.seal(PURPOSE, &caller.account, &place.to_bytes())
    }

    fn open_place(&self, caller: &Caller, cursor: &str) -> Result<Place, Refusal> {
        let bytes = self.0.secret.open(PURPOSE, &caller.account, cursor)?;
        Place::from_bytes(&bytes)
            .ok_or_else(|| Refusal::invalid("the cursor is not valid here; start again without one"))
    }
}
