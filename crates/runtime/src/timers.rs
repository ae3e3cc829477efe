//! Durable timers: rows of the index, soonest first. A restart finds them where they were; a late one fires at once.

use std::sync::Arc;
use std::time::Duration;

use factum_engine::session::{Timer, fire_timer, keys};
use factum_model::Trace;
use factum_store::{Direction, Scan};

use crate::commit::{Accept, Actor};
use crate::runtime::Runtime;

/// Who acts when a time has come.
const TIMER: &str = "runtime://timer";
/// How many timers one look at the index lists.
const PAGE: usize = 128;
/// The longest sleep, so that a clock that was set does not make a timer wait for ever.
const SLEEP_MAX: Duration = Duration::from_secs(30);
/// The pause after a timer that could not be fired.
const PAUSE: Duration = Duration::from_millis(500);

/// Fires timers until the runtime closes.
pub(crate) async fn run(runtime: Runtime) {
    loop {
        let changed = runtime.0.timers_changed.notified();
        let delay = match due(&runtime).await {
            Some(timers) => fire(&runtime, timers).await,
            None => PAUSE,
        };
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = changed => {}
        }
    }
}

async fn due(runtime: &Runtime) -> Option<Vec<Timer>> {
    let scan =
        Scan { prefix: keys::timers().into(), after: None, until: None, direction: Direction::Forward, limit: PAGE };
    match runtime.0.store.scan(scan).await {
        Ok(rows) => Some(rows.iter().filter_map(|(key, _)| keys::read_timer(key)).collect()),
        Err(error) => {
            tracing::error!(%error, "timers could not be listed");
            None
        }
    }
}

/// Fires what is due and says how long to sleep.
async fn fire(runtime: &Runtime, timers: Vec<Timer>) -> Duration {
    let more = timers.len() == PAGE;
    for timer in timers {
        let now = runtime.now();
        if timer.due > now {
            let wait = timer.due.as_millisecond() - now.as_millisecond();
            return Duration::from_millis(u64::try_from(wait).unwrap_or(0)).min(SLEEP_MAX);
        }
        let account: Arc<str> = timer.account.as_str().into();
        let actor = Actor { principal: TIMER, trace: &Trace::default(), through: None };
        let outcome = runtime
            .execute(&account, &timer.session_id, &actor, &Accept::default(), |state, context| {
                fire_timer(state, &timer, context)
            })
            .await;
        if let Err(error) = outcome {
            tracing::warn!(session_id = %timer.session_id, kind = timer.kind.as_str(), id = timer.id, %error, "a timer could not fire");
            return PAUSE;
        }
    }
    // A full page may have more behind it; otherwise a new timer wakes us.
    if more { Duration::ZERO } else { SLEEP_MAX }
}
