//! `list_tasks`: a page of the account's tasks, newest first.
//!
//! Lists are rows sorted by age, one list for each status; a page merges those it needs. What no list is kept for is
//! filtered, looking at a bounded number of rows: a page may then be short, or empty, and still have a cursor. So a page
//! costs the same however many tasks there are.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use bytes::Bytes;
use factum_engine::Key;
use factum_engine::digest_of;
use factum_engine::session::tasks::keys;
use factum_model::Refusal;
use factum_model::commands::{ListTasks, ListTasksResult, TaskFilters};
use factum_model::id::TaskId;
use factum_model::task::{TaskRow, TaskStatus, Visibility};
use factum_store::{Direction, Scan};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::runtime::Runtime;

const LIMIT_DEFAULT: u32 = 50;
const LIMIT_MAX: u32 = 200;
/// How many tasks a page looks at.
const LOOKED_AT_MAX: usize = 1_000;
/// How many keys of a list are read at a time.
const BATCH: usize = 64;
/// How many edges each task of a page is shown with.
const EDGES_SHOWN_MAX: usize = 20;

/// How many a caller asks for.
pub(super) fn page_limit(limit: Option<u32>) -> Result<usize, Refusal> {
    let limit = limit.unwrap_or(LIMIT_DEFAULT);
    if limit == 0 || limit > LIMIT_MAX {
        return Err(Refusal::invalid(format!("limit must be 1 to {LIMIT_MAX}")));
    }
    Ok(limit as usize)
}

impl Handle<ListTasks> for Runtime {
    async fn handle(&self, caller: &Caller, command: ListTasks) -> Result<ListTasksResult, Refusal> {
        let limit = page_limit(command.limit)?;
        let filters = &command.filters.or(command.beside);
        // A cursor is good for the filters it was made with.
        let purpose = format!("list_tasks/{}", digest_of(&serde_json::to_value(filters).unwrap_or_default()));
        let after = command.cursor.map(|cursor| self.0.secret.open(&purpose, &caller.account, &cursor)).transpose()?;
        let mut merge = Merge::new(self.lists(caller, filters).await?, after);
        let mut tasks = Vec::new();
        let mut last = None;
        let mut looked_at = 0;
        while tasks.len() < limit && looked_at < LOOKED_AT_MAX {
            let Some(position) = merge.next(self).await? else {
                return Ok(ListTasksResult { tasks, next_cursor: None });
            };
            looked_at += 1;
            let row = self.task_row(caller, &read_task_id(&position)?).await?;
            last = Some(position);
            if let Some(row) = row.filter(|row| matches(filters, row)) {
                tasks.push(self.record(caller, row, EDGES_SHOWN_MAX).await?);
            }
        }
        let more = merge.next(self).await?.is_some();
        let next_cursor = last.filter(|_| more).map(|last| self.0.secret.seal(&purpose, &caller.account, &last));
        Ok(ListTasksResult { tasks, next_cursor })
    }
}

impl Runtime {
    /// The shortest lists that hold everything the filters let through.
    async fn lists(&self, caller: &Caller, filters: &TaskFilters) -> Result<Vec<Key>, Refusal> {
        let account = &caller.account;
        if let Some(parent) = &filters.parent_task_id {
            return Ok(vec![keys::by_parent(account, parent)]);
        }
        let statuses: Vec<TaskStatus> = match filters.status.as_slice() {
            [] => TaskStatus::ALL.into_iter().filter(|status| *status != TaskStatus::Archived).collect(),
            some => {
                let mut some = some.to_vec();
                some.sort();
                some.dedup();
                some
            }
        };
        let mut session_id = filters.session_id.clone();
        if let (None, Some(root)) = (&session_id, &filters.root_task_id) {
            let Some(row) = self.task_row(caller, root).await? else { return Ok(Vec::new()) };
            session_id = Some(row.session_id);
        }
        if let Some(session_id) = session_id {
            return Ok(statuses.into_iter().map(|status| keys::by_session(account, &session_id, status)).collect());
        }
        if let Some(assignee) = &filters.assignee {
            return Ok(vec![keys::by_assignee(account, assignee)]);
        }
        Ok(statuses.into_iter().map(|status| keys::by_status(account, status)).collect())
    }
}

fn matches(filters: &TaskFilters, row: &TaskRow) -> bool {
    fn is<T: PartialEq>(wanted: &Option<T>, found: Option<&T>) -> bool {
        wanted.as_ref().is_none_or(|wanted| found == Some(wanted))
    }
    let status = match filters.status.as_slice() {
        [] => row.status != TaskStatus::Archived,
        some => some.contains(&row.status),
    };
    let visible = filters.visibility.map_or(row.visibility != Visibility::Hidden, |wanted| wanted == row.visibility);
    status
        && visible
        && is(&filters.session_id, Some(&row.session_id))
        && is(&filters.thread_id, row.thread_id.as_ref())
        && is(&filters.parent_task_id, row.parent_task_id.as_ref())
        && is(&filters.root_task_id, Some(&row.root_task_id))
        && is(&filters.task_kind, row.task_kind.as_ref())
        && is(&filters.owner, row.owner.as_ref())
        && is(&filters.assignee, row.assignee.as_ref())
}

/// Several lists read as one. A position is the end of a key: the age and the id, which are the same in every list.
struct Merge {
    lists: Vec<List>,
    heads: BinaryHeap<Reverse<(Bytes, usize)>>,
    started: bool,
    after: Option<Vec<u8>>,
}

struct List {
    prefix: Vec<u8>,
    read: VecDeque<Bytes>,
    after: Option<Bytes>,
    end: bool,
}

impl Merge {
    fn new(lists: Vec<Key>, after: Option<Vec<u8>>) -> Self {
        let list = |key: Key| List { prefix: key.into_bytes(), read: VecDeque::new(), after: None, end: false };
        Self { lists: lists.into_iter().map(list).collect(), heads: BinaryHeap::new(), started: false, after }
    }

    async fn next(&mut self, runtime: &Runtime) -> Result<Option<Bytes>, Refusal> {
        if !self.started {
            self.started = true;
            for at in 0..self.lists.len() {
                let list = &mut self.lists[at];
                list.after = self.after.as_ref().map(|after| [list.prefix.as_slice(), after].concat().into());
                self.push_head(runtime, at).await?;
            }
        }
        loop {
            let Some(Reverse((position, at))) = self.heads.pop() else { return Ok(None) };
            self.push_head(runtime, at).await?;
            // A task that changed its status while the lists were read may stand in two of them.
            let again = self.after.as_ref().is_some_and(|after| position.as_ref() <= after.as_slice());
            if !again {
                self.after = Some(position.to_vec());
                return Ok(Some(position));
            }
        }
    }

    async fn push_head(&mut self, runtime: &Runtime, at: usize) -> Result<(), Refusal> {
        let list = &mut self.lists[at];
        if list.read.is_empty() && !list.end {
            let scan = Scan {
                prefix: list.prefix.clone().into(),
                after: list.after.clone(),
                until: None,
                direction: Direction::Forward,
                limit: BATCH,
            };
            let rows = runtime.0.store.scan(scan).await.map_err(|error| read_refusal(&error))?;
            list.end = rows.len() < BATCH;
            list.after = rows.last().map(|(key, _)| key.clone()).or(list.after.take());
            let start = list.prefix.len();
            list.read.extend(rows.into_iter().map(|(key, _)| key.slice(start..)));
        }
        self.heads.extend(list.read.pop_front().map(|position| Reverse((position, at))));
        Ok(())
    }
}

fn read_task_id(position: &[u8]) -> Result<TaskId, Refusal> {
    let mut reader = factum_engine::KeyReader::new(position);
    let task_id =
        reader.number().and_then(|_| reader.number()).and_then(|_| reader.text()).and_then(|text| text.parse().ok());
    task_id.ok_or_else(|| Refusal::internal("a list of tasks has a key that does not parse"))
}
