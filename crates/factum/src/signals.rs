//! SIGTERM and SIGINT: the first one drains, the second one ends the process at once.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The exit code of a process that was told twice.
const IMPATIENT: i32 = 130;

/// Starts to listen. The token is cancelled by the first signal.
pub(crate) fn watch() -> io::Result<CancellationToken> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = CancellationToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        either(&mut terminate, &mut interrupt).await;
        told.cancel();
        tracing::info!("draining; a second signal ends it at once");
        either(&mut terminate, &mut interrupt).await;
        end_now();
    });
    Ok(stop)
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

#[allow(clippy::disallowed_methods, reason = "whoever sends a second signal does not want to wait for the drain")]
fn end_now() -> ! {
    std::process::exit(IMPATIENT)
}
