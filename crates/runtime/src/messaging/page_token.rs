//! Page tokens: where a page goes on, for this caller, this channel and these filters only, and not for ever.
//!
//! One that is forged, somebody else's, for something else or too old is one uniform refusal.

use factum_model::Refusal;

use crate::caller::Caller;
use crate::runtime::Runtime;

/// How long a token is good for.
const LIFETIME_MS: i64 = 24 * 60 * 60 * 1_000;

/// What a token belongs to: a method, and everything that a later page must have in common with the first.
pub(super) struct Purpose(String);

impl Purpose {
    /// `filters` is any text in which two different sets of filters differ.
    pub(super) fn new(method: &str, caller: &Caller, filters: &str) -> Self {
        // Principals hold no control characters, so the parts cannot run into each other.
        Self(format!("{method}\n{}\n{filters}", caller.principal))
    }
}

impl Runtime {
    pub(super) fn page_token(&self, caller: &Caller, purpose: &Purpose, place: &[u8]) -> String {
        let mut content = self.now().as_millisecond().to_be_bytes().to_vec();
        content.extend_from_slice(place);
        self.0.secret.seal(&purpose.0, &caller.account, &content)
    }

    pub(super) fn open_page_token(&self, caller: &Caller, purpose: &Purpose, token: &str) -> Result<Vec<u8>, Refusal> {
        let refuse = || Refusal::invalid("the page token is not valid here; start again without one");
        let content = self.0.secret.open(&purpose.0, &caller.account, token).map_err(|_| refuse())?;
        let (made_at, place) = content.split_first_chunk::<8>().ok_or_else(refuse)?;
        let age = self.now().as_millisecond() - i64::from_be_bytes(*made_at);
        if age > LIFETIME_MS { Err(refuse()) } else { Ok(place.to_vec()) }
    }

    /// The place as a number, which is what most of them are.
    pub(super) fn open_page_number(&self, caller: &Caller, purpose: &Purpose, token: &str) -> Result<u64, Refusal> {
        let place = self.open_page_token(caller, purpose, token)?;
        let refuse = || Refusal::invalid("the page token is not valid here; start again without one");
        Ok(u64::from_be_bytes(place.as_slice().try_into().map_err(|_| refuse())?))
    }
}

/// Seed 002 §8: 50 where nothing is said, brought into 1 to 200.
pub(super) fn page_size(asked: Option<i64>) -> usize {
    usize::try_from(asked.unwrap_or(50).clamp(1, 200)).unwrap_or(1)
}

/// The token there is. An empty one is what clients send who have no way to leave a field out: the first page.
pub(super) fn given(token: Option<&str>) -> Option<&str> {
    token.filter(|token| !token.is_empty())
}
