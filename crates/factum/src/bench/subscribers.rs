//! Many subscribers of one stream, each remembering when it got what.

use anyhow::{Result, bail};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::sse::Events;
use super::wire::Target;

/// The number of an event, and when it came.
pub(super) type Received = (u64, Instant);

pub(super) struct Subscribers {
    newest: Vec<watch::Receiver<u64>>,
    tasks: JoinSet<Result<Vec<Received>>>,
    stop: CancellationToken,
}

impl Subscribers {
    pub(super) async fn open(target: &Target, path: &str, after: u64, count: usize) -> Result<Self> {
        let (mut newest, mut tasks, stop) = (Vec::with_capacity(count), JoinSet::new(), CancellationToken::new());
        for _ in 0..count {
            let events = Events::open(target, path, after).await?;
            let (sender, receiver) = watch::channel(after);
            newest.push(receiver);
            tasks.spawn(follow(events, sender, stop.clone()));
        }
        Ok(Self { newest, tasks, stop })
    }

    /// Waits until every one of them has this event.
    pub(super) async fn all_have(&mut self, id: u64) -> Result<()> {
        for newest in &mut self.newest {
            if newest.wait_for(|newest| *newest >= id).await.is_err() {
                bail!("a subscriber lost its stream");
            }
        }
        Ok(())
    }

    /// Ends them; what each received.
    pub(super) async fn finish(mut self) -> Result<Vec<Vec<Received>>> {
        self.stop.cancel();
        let mut received = Vec::with_capacity(self.newest.len());
        while let Some(done) = self.tasks.join_next().await {
            received.push(done??);
        }
        Ok(received)
    }
}

async fn follow(mut events: Events, newest: watch::Sender<u64>, stop: CancellationToken) -> Result<Vec<Received>> {
    let (mut received, mut ids) = (Vec::new(), Vec::new());
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(received),
            came = events.next(&mut ids) => came?,
        }
        let now = Instant::now();
        received.extend(ids.iter().map(|id| (*id, now)));
        if let Some(last) = ids.last() {
            newest.send_replace(*last);
        }
    }
}
