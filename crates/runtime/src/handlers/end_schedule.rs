//! `end_schedule`: finds the session of the schedule. Ending what has ended is answered, not refused.

use factum_engine::session::SessionState;
use factum_engine::session::jobs::end_schedule;
use factum_model::Refusal;
use factum_model::commands::{EndSchedule, EndScheduleResult};

use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::runtime::Runtime;

impl Handle<EndSchedule> for Runtime {
    async fn handle(&self, caller: &Caller, command: EndSchedule) -> Result<EndScheduleResult, Refusal> {
        let record = self.schedule_row(caller, &command.schedule_id).await?;
        // Those that go on are in the state. One that has a row and is not there has ended.
        let ended = async |_| {
            let sequence = |state: &SessionState| Ok(state.sequence);
            let (sequence, _) = self.look(&caller.account, &record.session_id, sequence).await?;
            Ok(EndScheduleResult { schedule_id: command.schedule_id.clone(), sequence })
        };
        self.mutate_unless_ended(caller, &record.session_id, &command, end_schedule, ended).await
    }
}
