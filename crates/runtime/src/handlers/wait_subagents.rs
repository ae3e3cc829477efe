//! `wait_subagents`: waits until child agents have come to rest. Woken by what is written, never by looking again and again.

use std::time::Duration;

use factum_engine::session::SessionState;
use factum_engine::session::subagents::{is_at_rest, subagent_record};
use factum_model::Refusal;
use factum_model::commands::{WaitSubagents, WaitSubagentsResult, WaitUntil};
use factum_model::id::{SessionId, SubagentId};
use factum_model::subagent::SubagentRecord;
use futures::FutureExt;
use futures::future::{select_all, try_join_all};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

/// How long to wait where nothing is said: less than transports give a request.
const WAIT_DEFAULT: Duration = Duration::from_secs(20);
/// How many child agents one call waits for.
const WAITED_MAX: usize = 100;

/// The child agents of one session that are waited for.
struct Group {
    session_id: SessionId,
    ids: Vec<SubagentId>,
}

impl Handle<WaitSubagents> for Runtime {
    async fn handle(&self, caller: &Caller, command: WaitSubagents) -> Result<WaitSubagentsResult, Refusal> {
        let timeout = self.check_wait(&command)?;
        let groups = self.groups(caller, &command.subagent_ids).await?;
        let rest = self.rest(caller, &groups, command.until);
        tokio::select! {
            () = self.0.stop.cancelled() => {
                return Err(Refusal::unavailable("the server is shutting down").with("cause", "closing"));
            }
            waited = tokio::time::timeout(timeout, rest) => waited.unwrap_or(Ok(()))?,
        }
        let subagents = self.records_of(caller, &command.subagent_ids, &groups).await?;
        let resting = subagents.iter().filter(|record| is_at_rest(record.status)).count();
        let timed_out = !enough(command.until, resting, subagents.len());
        Ok(WaitSubagentsResult { subagents, timed_out })
    }
}

fn enough(until: WaitUntil, resting: usize, all: usize) -> bool {
    match until {
        WaitUntil::All => resting == all,
        WaitUntil::Any => resting > 0,
    }
}

impl Runtime {
    fn check_wait(&self, command: &WaitSubagents) -> Result<Duration, Refusal> {
        let count = command.subagent_ids.len();
        if count == 0 {
            return Err(Refusal::invalid("subagent_ids needs at least one id"));
        }
        if count > WAITED_MAX {
            return Err(Refusal::limit("subagent_ids", count as u64, WAITED_MAX as u64));
        }
        let timeout = command.timeout_ms.map_or(WAIT_DEFAULT, Duration::from_millis);
        let max = self.0.shell.subagent_wait_max;
        if command.timeout_ms.is_some() && timeout > max {
            let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            return Err(Refusal::limit("subagent_wait_ms", millis(timeout), millis(max)));
        }
        Ok(timeout.min(max))
    }

    async fn groups(&self, caller: &Caller, ids: &[SubagentId]) -> Result<Vec<Group>, Refusal> {
        let mut groups: Vec<Group> = Vec::new();
        for id in ids {
            let session_id = self.subagent_row(caller, id).await?.session_id;
            match groups.iter_mut().find(|group| group.session_id == session_id) {
                Some(group) => group.ids.push(id.clone()),
                None => groups.push(Group { session_id, ids: vec![id.clone()] }),
            }
        }
        Ok(groups)
    }

    async fn rest(&self, caller: &Caller, groups: &[Group], until: WaitUntil) -> Result<(), Refusal> {
        let waits = groups.iter().map(|group| self.group_rests(caller, group, until).boxed());
        match until {
            WaitUntil::All => try_join_all(waits).await.map(|_| ()),
            WaitUntil::Any => select_all(waits).await.0,
        }
    }

    async fn group_rests(&self, caller: &Caller, group: &Group, until: WaitUntil) -> Result<(), Refusal> {
        // Following keeps the session where its commits are heard of.
        let follow = self.follow::<SessionState>(&caller.account, &group.session_id, 0).await?;
        loop {
            let look = |state: &SessionState| {
                // One that is not open is closed.
                let rests = |id: &&SubagentId| subagent_record(state, id).is_none_or(|one| is_at_rest(one.status));
                Ok((group.ids.iter().filter(rests).count(), state.sequence))
            };
            let ((resting, sequence), _) = self.look(&caller.account, &group.session_id, look).await?;
            if enough(until, resting, group.ids.len()) {
                return Ok(());
            }
            follow.cell.hub.wait_durable(sequence + 1).await;
        }
    }

    /// The records in the order they were asked for.
    async fn records_of(
        &self,
        caller: &Caller,
        ids: &[SubagentId],
        groups: &[Group],
    ) -> Result<Vec<SubagentRecord>, Refusal> {
        let mut found = Vec::with_capacity(ids.len());
        for group in groups {
            found.extend(self.subagent_records(caller, &group.session_id, &group.ids).await?.0);
        }
        let record = |id: &SubagentId| found.iter().find(|record| record.subagent_id == *id).cloned();
        Ok(ids.iter().filter_map(record).collect())
    }
}
