//! Waiting: for something with a bound, and for what announces itself to nobody by looking again.

use std::future::Future;
use std::time::Duration;

/// How long anything may take before a test gives up on it. Far more than any of it needs on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often something is looked at that announces itself to nobody.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Waits for a future, within the bound. Panics with `what` where it takes longer.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} took longer than {PATIENCE:?}"),
    }
}

/// Looks again and again until there is something.
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let mut interval = tokio::time::interval(LOOK_INTERVAL);
    within(what, async {
        loop {
            interval.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    })
    .await
}
