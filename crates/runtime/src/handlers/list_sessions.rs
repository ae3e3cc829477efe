//! `list_sessions`: a page of the account's sessions, newest first.

use bytes::Bytes;
use factum_engine::session::{SessionRow, keys};
use factum_model::Refusal;
use factum_model::commands::{ListSessions, ListSessionsResult, SessionSummary};
use factum_store::{Direction, Scan};
use serde::de::DeserializeOwned;

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::runtime::Runtime;

const LIMIT_DEFAULT: u32 = 50;
const LIMIT_MAX: u32 = 200;

impl Handle<ListSessions> for Runtime {
    async fn handle(&self, caller: &Caller, command: ListSessions) -> Result<ListSessionsResult, Refusal> {
        let page = Page { purpose: "list_sessions", limit: command.limit, cursor: command.cursor.as_deref() };
        let (rows, next_cursor) = self.page::<SessionRow>(caller, keys::sessions_of(&caller.account), page).await?;
        let summary = |row: SessionRow| SessionSummary {
            session_id: row.session_id,
            title: row.title,
            agent: row.agent,
            created_by: row.created_by,
            created_at: row.created_at,
        };
        Ok(ListSessionsResult { sessions: rows.into_iter().map(summary).collect(), next_cursor })
    }
}

/// What a caller asks of a list.
pub(crate) struct Page<'a> {
    pub(crate) purpose: &'static str,
    pub(crate) limit: Option<u32>,
    pub(crate) cursor: Option<&'a str>,
}

impl Runtime {
    /// A page of index rows. The cursor holds the key behind which to go on, sealed for this account and this list.
    pub(crate) async fn page<R: DeserializeOwned>(
        &self,
        caller: &Caller,
        prefix: Vec<u8>,
        page: Page<'_>,
    ) -> Result<(Vec<R>, Option<String>), Refusal> {
        let limit = page.limit.unwrap_or(LIMIT_DEFAULT);
        if limit == 0 || limit > LIMIT_MAX {
            return Err(Refusal::invalid(format!("limit must be 1 to {LIMIT_MAX}")));
        }
        let after = page.cursor.map(|cursor| self.0.secret.open(page.purpose, &caller.account, cursor)).transpose()?;
        let scan = Scan {
            prefix: prefix.into(),
            after: after.map(Bytes::from),
            until: None,
            direction: Direction::Forward,
            limit: limit as usize + 1,
        };
        let mut rows = self.0.store.scan(scan).await.map_err(|error| read_refusal(&error))?;
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let last = rows.last().filter(|_| more);
        let next = last.map(|(key, _)| self.0.secret.seal(page.purpose, &caller.account, key));
        let parse = |(_, value): (Bytes, Bytes)| serde_json::from_slice(&value);
        let rows: Result<Vec<R>, _> = rows.into_iter().map(parse).collect();
        Ok((rows.map_err(|error| Refusal::internal(format!("index row: {error}")))?, next))
    }
}
