//! Durable timers: rows of the index, soonest first. A restart finds them where they were; a late one fires at once.
//!
//! A timer that cannot fire keeps no other from it: it is passed over, and tried again after a pause that grows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use factum_engine::session::{Timer, fire_timer, keys};
use factum_model::{Refusal, Trace};
use factum_store::{Direction, Scan};
use tokio::time::Instant;

use crate::commit::{Accept, Actor};
use crate::pauses;
use crate::runtime::Runtime;

/// Who acts when a time has come.
const TIMER: &str = "runtime://timer";
/// How many timers one look at the index lists.
const PAGE: usize = 128;
/// The longest sleep, so that a clock that was set does not make a timer wait for ever.
const SLEEP_MAX: Duration = Duration::from_secs(30);
/// How many timers that could not fire are remembered. Those beyond are tried again after the shortest pause.
const STUCK_MAX: usize = 10_000;

/// Fires timers until the runtime closes.
pub(crate) async fn run(runtime: Runtime) {
    let mut stuck = BTreeMap::new();
    loop {
        let changed = runtime.0.timers_changed.notified();
        let mut pass = Pass { before: std::mem::take(&mut stuck), stuck, wake: Instant::now() + SLEEP_MAX };
        pass.fire_due(&runtime).await;
        stuck = pass.stuck;
        tokio::select! {
            () = tokio::time::sleep_until(pass.wake) => {}
            () = changed => {}
        }
    }
}

/// Timers that could not fire, by their keys.
type Stuck = BTreeMap<Bytes, Trouble>;

struct Trouble {
    /// How often it was tried.
    tries: u32,
    again_at: Instant,
}

/// One walk over the timers that are due.
struct Pass {
    /// What the walk before left, as far as this one has not come by it yet. What it never comes by is gone.
    before: Stuck,
    stuck: Stuck,
    /// When the next walk begins.
    wake: Instant,
}

impl Pass {
    async fn fire_due(&mut self, runtime: &Runtime) {
        let mut after = None;
        loop {
            let Some(rows) = page(runtime, after).await else {
                self.stuck.append(&mut self.before);
                return self.wake_after(pauses::FIRST);
            };
            let more = rows.len() == PAGE;
            after = rows.last().map(|(key, _)| key.clone());
            for (key, _) in rows {
                let Some(timer) = keys::read_timer(&key) else { continue };
                let now = runtime.now();
                if timer.due > now {
                    let wait = timer.due.as_millisecond() - now.as_millisecond();
                    return self.wake_after(Duration::from_millis(u64::try_from(wait).unwrap_or(0)));
                }
                self.visit(runtime, key, &timer).await;
            }
            if !more {
                return;
            }
        }
    }

    /// Fires a timer, unless it could not fire a short while ago.
    async fn visit(&mut self, runtime: &Runtime, key: Bytes, timer: &Timer) {
        let known = self.before.remove(&key);
        if let Some(trouble) = &known
            && trouble.again_at > Instant::now()
        {
            self.wake = self.wake.min(trouble.again_at);
            self.stuck.extend(known.map(|trouble| (key, trouble)));
            return;
        }
        let tries = known.map_or(0, |trouble| trouble.tries);
        match fire(runtime, timer).await {
            Ok(()) if tries > 0 => {
                tracing::info!(session_id = %timer.session_id, kind = timer.kind.as_str(), id = timer.id, tries, "a timer fired at last");
            }
            Ok(()) => {}
            Err(error) => self.could_not(key, timer, tries, &error),
        }
    }

    fn could_not(&mut self, key: Bytes, timer: &Timer, tries: u32, error: &Refusal) {
        // Said once: it is tried again for as long as it is there.
        if tries == 0 {
            tracing::error!(session_id = %timer.session_id, kind = timer.kind.as_str(), id = timer.id, %error, "a timer could not fire; others go on, and it is tried again");
        }
        let room = self.stuck.len() < STUCK_MAX;
        let pause = if room { pauses::growing(tries) } else { pauses::FIRST };
        self.wake_after(pause);
        if room {
            self.stuck.insert(key, Trouble { tries: tries.saturating_add(1), again_at: Instant::now() + pause });
        }
    }

    fn wake_after(&mut self, pause: Duration) {
        self.wake = self.wake.min(Instant::now() + pause.min(SLEEP_MAX));
    }
}

async fn page(runtime: &Runtime, after: Option<Bytes>) -> Option<Vec<(Bytes, Bytes)>> {
    let scan = Scan { prefix: keys::timers().into(), after, until: None, direction: Direction::Forward, limit: PAGE };
    let rows = runtime.0.store.scan(scan).await;
    rows.inspect_err(|error| tracing::error!(%error, "timers could not be listed")).ok()
}

async fn fire(runtime: &Runtime, timer: &Timer) -> Result<(), Refusal> {
    let account: Arc<str> = timer.account.as_str().into();
    let actor = Actor { principal: TIMER, trace: &Trace::default(), through: None };
    let accept = Accept::default();
    let outcome = runtime
        .execute(&account, &timer.session_id, &actor, &accept, |state, context| fire_timer(state, timer, context));
    outcome.await.map(drop)
}
