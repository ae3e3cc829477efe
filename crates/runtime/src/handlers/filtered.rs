//! A page of a list of which only some lines are wanted. A call looks at a bounded number of lines, so its cost does not
//! depend on how many there are; where it found too few, the cursor goes on from there.

use bytes::Bytes;
use factum_model::Refusal;
use factum_store::{Direction, Scan};
use serde::de::DeserializeOwned;

use crate::caller::Caller;
use crate::error::read_refusal;
use crate::runtime::Runtime;

pub(super) const LIMIT_DEFAULT: u32 = 50;
pub(super) const LIMIT_MAX: u32 = 200;
/// Lines one call looks at.
pub(super) const LOOKED_AT_MAX: usize = 1_000;

/// What a caller asks of a list.
pub(super) struct FilteredPage<'a> {
    /// The list and its filters: a cursor is good for no other.
    pub(super) purpose: &'a str,
    pub(super) limit: Option<u32>,
    pub(super) cursor: Option<&'a str>,
}

/// The limit of a page.
pub(super) fn limit_of(limit: Option<u32>) -> Result<usize, Refusal> {
    let limit = limit.unwrap_or(LIMIT_DEFAULT);
    if limit == 0 || limit > LIMIT_MAX {
        return Err(Refusal::invalid(format!("limit must be 1 to {LIMIT_MAX}")));
    }
    Ok(limit as usize)
}

impl Runtime {
    /// The rows that the lines below `prefix` name by `row_of`, as far as they fit.
    pub(super) async fn filtered_page<L: DeserializeOwned, R: DeserializeOwned>(
        &self,
        caller: &Caller,
        prefix: Vec<u8>,
        page: FilteredPage<'_>,
        row_of: impl Fn(&L) -> Vec<u8>,
        fits: impl Fn(&R) -> bool,
    ) -> Result<(Vec<R>, Option<String>), Refusal> {
        let limit = limit_of(page.limit)?;
        let after = page.cursor.map(|cursor| self.0.secret.open(page.purpose, &caller.account, cursor)).transpose()?;
        let mut after = after.map(Bytes::from);
        let (mut found, mut looked_at) = (Vec::with_capacity(limit), 0);
        while looked_at < LOOKED_AT_MAX {
            let scan = Scan {
                prefix: prefix.clone().into(),
                after: after.clone(),
                until: None,
                direction: Direction::Forward,
                limit: limit + 1,
            };
            let lines = self.0.store.scan(scan).await.map_err(|error| read_refusal(&error))?;
            let more = lines.len() > limit;
            for (key, value) in lines.into_iter().take(limit) {
                if found.len() == limit {
                    return Ok((found, after.map(|key| self.0.secret.seal(page.purpose, &caller.account, &key))));
                }
                let line = serde_json::from_slice(&value);
                let line = line.map_err(|error| Refusal::internal(format!("index row: {error}")))?;
                found.extend(self.row(&row_of(&line)).await?.filter(&fits));
                after = Some(key);
                looked_at += 1;
            }
            if !more {
                return Ok((found, None));
            }
        }
        Ok((found, after.map(|key| self.0.secret.seal(page.purpose, &caller.account, &key))))
    }
}
