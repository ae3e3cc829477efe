//! `factum job schedule list`.

use anyhow::Result;
use clap::Args;
use factum_model::commands::ListSchedules;
use factum_model::id::SessionId;
use factum_model::job::ScheduleRecord;
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::Here;
use crate::render::shorten;
use crate::table::{Table, count};
use crate::when::{local, took};

/// As many schedules as the server puts on a page.
const PAGE_SCHEDULES: u32 = 200;

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only of this session.
    #[arg(long, value_name = "SESSION")]
    session: Option<SessionId>,
    /// Ended ones too.
    #[arg(long)]
    ended: bool,
}

pub(super) async fn run(list: &List, here: &Here) -> Result<()> {
    let mut command = ListSchedules {
        session_id: list.session.clone(),
        include_ended: list.ended,
        limit: Some(PAGE_SCHEDULES),
        cursor: None,
    };
    let mut schedules = Vec::new();
    loop {
        let page = here.run(&command).await?;
        schedules.extend(page.schedules);
        command.cursor = page.next_cursor;
        if command.cursor.is_none() {
            break;
        }
    }
    if here.output.is_json() {
        return Ok(here.output.rows(&schedules)?);
    }
    lines(&schedules, &TimeZone::system()).iter().try_for_each(|line| here.output.line(line))?;
    if schedules.is_empty() {
        here.output.note("no schedules; `factum job schedule create` makes one");
    }
    Ok(())
}

fn lines(schedules: &[ScheduleRecord], zone: &TimeZone) -> Vec<String> {
    let mut table = Table::default();
    for record in schedules {
        let next = match (record.ended_at, record.next_at) {
            (Some(at), _) => format!("ended {}", local(at, zone)),
            (None, Some(at)) => format!("next {}", local(at, zone)),
            (None, None) => "over".to_owned(),
        };
        let missed = if record.missed_total > 0 { format!("{} missed", record.missed_total) } else { String::new() };
        let title = record.schedule.title.as_deref().unwrap_or(&record.schedule.job.instruction);
        let (id, jobs) = (record.schedule_id.to_string(), count(record.jobs_made, "job"));
        table.row([id, times(record), next, jobs, missed, shorten(title)]);
    }
    table.lines()
}

/// `0 6 * * 1-5 Europe/Vienna`, `every 10m 0s`.
fn times(record: &ScheduleRecord) -> String {
    let every = record.schedule.every_ms.and_then(|ms| i64::try_from(ms).ok()).map(SignedDuration::from_millis);
    let every = every.map(|span| format!("every {}", took(span)));
    let zone = record.schedule.time_zone.iter().map(|zone| format!(" {zone}")).collect::<String>();
    let cron = record.schedule.cron.iter().map(|cron| format!("{cron}{zone}"));
    every.into_iter().chain(cron).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schedule_says_when_it_comes_next() {
        let record = |id: &str, more: serde_json::Value| -> ScheduleRecord {
            let mut record = json!({
                "schedule_id": id, "session_id": "sess_1", "requested_by": "agent://a", "job": { "instruction": "Read" },
                "jobs_made": 1, "missed_total": 0, "created_at": "2026-11-15T10:00:00Z",
            });
            record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            serde_json::from_value(record).unwrap()
        };
        let cron = json!({ "cron": "0 6 * * *", "time_zone": "Europe/Vienna", "next_at": "2026-11-16T05:00:00Z" });
        let every =
            json!({ "every_ms": 600_000, "title": "Often", "missed_total": 2, "ended_at": "2026-11-16T05:00:00Z" });
        let lines = lines(&[record("sched_1", cron), record("sched_2", every)], &TimeZone::UTC);
        let expected = [
            "sched_1  0 6 * * * Europe/Vienna  next 2026-11-16 05:00:00   1 job            Read",
            "sched_2  every 10m 0s             ended 2026-11-16 05:00:00  1 job  2 missed  Often",
        ];
        assert_eq!(lines, expected);
    }
}
