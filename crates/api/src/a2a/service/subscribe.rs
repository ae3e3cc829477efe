//! `SubscribeToTask`, and what every stream of a task is: the task first, then each change of it.

use std::collections::VecDeque;

use a2a::{A2AError, StreamResponse, SubscribeToTaskRequest};
use factum_a2a::invalid_field;
use factum_a2a::server::{Update, Updates};
use futures::stream;

use super::Service;
use super::watch::Watch;

/// When a stream is over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// With the task, or when nothing happens before the sender says something.
    WithTaskOrQuestion,
    /// With the task alone: somebody else may answer for it.
    WithTask,
}

impl Service {
    pub(super) async fn resubscribe(
        &self,
        request: SubscribeToTaskRequest,
        after: Option<u64>,
    ) -> Result<Updates, A2AError> {
        let row = self.find(&request.id).await?;
        // Somebody who was there before the end gets the end; for everybody else there is nothing to wait for.
        let missed = after.is_some_and(|after| after >= row.first_sequence && after < row.status_sequence);
        if row.status.is_terminal() && !missed {
            return Err(A2AError::unsupported_operation("the task is over; GetTask has its outcome"));
        }
        let mut watch = Watch::open(self, &row.session_id, row.first_sequence).await?;
        let now = watch.durable();
        if after.is_some_and(|after| after > now) {
            return Err(invalid_field("Last-Event-ID", format!("is ahead of the task, whose newest event is {now}")));
        }
        watch.until(after.map_or(now, |after| after.clamp(row.first_sequence, now))).await?;
        Ok(follow(self.clone(), watch, None, Ends::WithTask))
    }
}

/// The task as the watch has it, then everything behind it.
pub(super) fn follow(service: Service, watch: Watch, history: Option<i32>, ends: Ends) -> Updates {
    let follow = Follow { service, watch, history, ends, begun: false, ready: VecDeque::new() };
    Box::pin(stream::try_unfold(
        follow,
        |mut follow| async move { Ok(follow.next().await?.map(|update| (update, follow))) },
    ))
}

struct Follow {
    service: Service,
    watch: Watch,
    history: Option<i32>,
    ends: Ends,
    begun: bool,
    ready: VecDeque<Update>,
}

impl Follow {
    async fn next(&mut self) -> Result<Option<Update>, A2AError> {
        if !self.begun {
            self.begun = true;
            let view = self.watch.view();
            let task = view.task(self.history, true, &self.service.outputs()).await;
            let update = Update { position: Some(view.sequence), response: StreamResponse::Task(task) };
            self.watch.show_changes_only();
            return Ok(Some(update));
        }
        loop {
            if let Some(update) = self.ready.pop_front() {
                return Ok(Some(update));
            }
            if self.is_over() {
                return Ok(None);
            }
            let (sequence, shown) = self.watch.next().await?;
            for shown in shown {
                let response = self.watch.view().update(shown, &self.service.outputs()).await;
                self.ready.push_back(Update { position: Some(sequence), response });
            }
        }
    }

    fn is_over(&self) -> bool {
        let view = self.watch.view();
        view.is_over() || (self.ends == Ends::WithTaskOrQuestion && view.is_interrupted())
    }
}
