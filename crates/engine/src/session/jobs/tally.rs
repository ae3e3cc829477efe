//! Where a job stands in the middle of a decision: the state, and what the commit that is being written adds to it.
//!
//! A decision may end an item, take up others and hand out more. Each of these steps looks at the job through a tally, so
//! that none of them has to know which steps came before it.

use std::collections::BTreeSet;

use factum_model::events::ThreadOrigin;
use factum_model::id::ThreadId;
use factum_model::job::{JobCounts, JobItemInput, JobItemStatus};
use factum_model::value::Failure;
use factum_model::{Fact, NewEvent};

use super::apply::{less, taken_up};
use super::state::{By, Item, Job};
use crate::context::Context;

pub(super) struct Tally<'a> {
    job: &'a Job,
    pub(super) progress: JobCounts,
    /// Handed out and not ended.
    pub(super) in_hand: usize,
    /// Held by workers.
    pub(super) leased: usize,
    /// Failed, with another attempt to come.
    waiting: usize,
    /// Taken up again by this commit.
    again: Vec<Item>,
    /// Handed out by this commit, by number.
    handed: BTreeSet<u64>,
    /// Opened by this commit.
    pub(super) opened: Vec<ThreadId>,
    /// Of the attempt that failed last.
    pub(super) last_error: Option<Failure>,
    /// Threads in which this commit puts an agent to work.
    taken: Vec<ThreadId>,
}

impl<'a> Tally<'a> {
    pub(super) fn of(job: &'a Job, events: &[NewEvent], context: &Context<'_>) -> Self {
        let leased = |hand: &&super::state::Hand| matches!(hand.by, By::Worker { .. });
        let mut tally = Self {
            job,
            progress: job.record.progress.clone(),
            in_hand: job.hands.len(),
            leased: job.hands.iter().filter(leased).count(),
            waiting: job.waiting.len(),
            again: Vec::new(),
            handed: BTreeSet::new(),
            opened: Vec::new(),
            last_error: job.record.last_error.clone(),
            taken: Vec::new(),
        };
        for event in events.iter().filter(|event| event.scope.job_id.as_ref() == Some(&job.record.job_id)) {
            tally.count(event, context);
        }
        tally
    }

    fn count(&mut self, event: &NewEvent, context: &Context<'_>) {
        match &event.fact {
            Fact::ThreadStarted(fact) if fact.origin == ThreadOrigin::Job => {
                self.opened.extend(event.scope.thread_id.clone());
            }
            Fact::JobItemQueued(fact) => {
                self.handed.insert(fact.number);
                self.in_hand += 1;
            }
            Fact::JobItemStarted(fact) => {
                self.progress.pending = self.progress.pending.saturating_sub(1);
                self.progress.running += 1;
                if let Some(thread_id) = &event.scope.thread_id {
                    self.taken.push(thread_id.clone());
                    self.handed.insert(fact.number);
                    self.in_hand += 1;
                } else {
                    self.leased += 1;
                }
            }
            Fact::JobItemReported(fact) => {
                let hand = self.job.hand(fact.number);
                hand.into_iter().for_each(|hand| less(&mut self.progress, hand.status()));
                self.progress.reported += 1;
            }
            Fact::JobItemCompleted(fact) => {
                self.ended(fact.number);
                self.progress.completed += 1;
            }
            Fact::JobItemFailed(fact) => {
                self.ended(fact.number);
                self.last_error = Some(fact.error.clone());
                match fact.status {
                    _ if fact.will_retry => {
                        (self.progress.pending, self.waiting) = (self.progress.pending + 1, self.waiting + 1);
                    }
                    JobItemStatus::Reported => self.progress.reported += 1,
                    _ => self.progress.failed += 1,
                }
            }
            Fact::RunReleased(_) => self.released(event),
            Fact::JobItemRetrying(fact) => {
                let waited = self.job.waiting.get(&fact.number).map(|(_, item)| item.clone());
                self.waiting -= usize::from(waited.is_some());
                let item = waited.or_else(|| taken_up(fact, context.now));
                if let Some(item) = item {
                    less(&mut self.progress, fact.was);
                    self.progress.pending += 1;
                    self.again.push(item);
                }
            }
            _ => {}
        }
    }

    /// An item that was in hand before this commit is not any more.
    fn ended(&mut self, number: u64) {
        let Some(hand) = self.job.hand(number) else { return };
        self.in_hand -= 1;
        self.leased -= usize::from(matches!(hand.by, By::Worker { .. }));
        less(&mut self.progress, hand.status());
    }

    fn released(&mut self, event: &NewEvent) {
        let given_back = |hand: &&super::state::Hand| Some(&hand.run_id) == event.scope.run_id.as_ref();
        let Some(hand) = self.job.hands.iter().find(given_back) else { return };
        self.ended(hand.item.number);
        self.progress.pending += 1;
        let attempts = hand.item.attempts.saturating_sub(1);
        self.again.push(Item { attempts, ..hand.item.clone() });
    }

    /// How many more items may be handed out.
    pub(super) fn free(&self) -> usize {
        (self.job.record.max_concurrency as usize).saturating_sub(self.in_hand)
    }

    /// Items to hand out next, at most `limit`: those to be tried again first, then those that were never begun.
    pub(super) fn next(&self, limit: usize, context: &Context<'_>) -> Vec<Item> {
        let new = |(input, number): (&JobItemInput, u64)| Item::new(number, input.clone(), context.now);
        // What this commit handed out already stands in front, so few are passed over.
        let fresh = |number: &u64| !self.handed.contains(number);
        let kept = self.job.again.values().filter(|item| fresh(&item.number)).take(limit);
        let mut items: Vec<Item> = kept.chain(self.again.iter().filter(|item| fresh(&item.number))).cloned().collect();
        items.sort_by_key(|item| item.number);
        let pending = self.job.pending.iter().zip(self.job.record.item_cursor + 1..);
        items.into_iter().chain(pending.filter(|(_, number)| fresh(number)).map(new)).take(limit).collect()
    }

    /// Whether every item has ended, or nothing is left that would ever make one end.
    pub(super) fn is_over(&self, context: &Context<'_>) -> bool {
        self.in_hand == 0 && self.waiting == 0 && self.next(1, context).is_empty()
    }

    /// How many items have been handed out at least once.
    pub(super) fn cursor(&self) -> u64 {
        let cursor = self.job.record.item_cursor;
        cursor + self.handed.range(cursor + 1..).count() as u64
    }

    /// Whether this commit has put an agent to work in the thread.
    pub(super) fn takes(&self, thread_id: &ThreadId) -> bool {
        self.taken.contains(thread_id)
    }
}
