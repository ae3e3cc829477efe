//! Posting: one message after the other, each exactly once, however often the connection breaks.
//!
//! Every message has a key of its own. An attempt whose outcome is not known is made again with the same key, and the
//! server answers with the message that is there, if it is.

use std::time::Duration;

use anyhow::Result;
use factum_model::commands::PublishMessage;
use factum_runtime::{Ids, RandomIds};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::super::Here;
use super::super::message::MessageRef;
use super::super::publish::{message, text};
use super::super::target::Target;
use crate::client::Retry;
use crate::failure::{Exit, exit_of, retry_after};
use crate::when::now;

/// Messages that may wait for those before them.
const WAITING_MAX: usize = 64;

/// A message to be.
#[derive(Debug)]
pub(super) struct Post {
    /// The line as it was typed, to give it back.
    pub(super) line: String,
    pub(super) text: String,
    pub(super) reply_to: Option<MessageRef>,
}

/// What became of a post: its sequence, or why not.
#[derive(Debug)]
pub(super) struct Posted {
    pub(super) post: Post,
    pub(super) outcome: Result<u64>,
}

/// The task that posts, as seen from outside.
pub(super) struct Poster {
    posts: mpsc::Sender<Post>,
    posted: mpsc::Receiver<Posted>,
    under_way: usize,
}

impl Poster {
    pub(super) fn start(target: &Target, here: &Here) -> Self {
        let ((posts, mut waiting), (tell, posted)) = (mpsc::channel::<Post>(WAITING_MAX), mpsc::channel(WAITING_MAX));
        let (target, here) = (target.clone(), here.clone());
        tokio::spawn(async move {
            while let Some(post) = waiting.recv().await {
                let outcome = publish(&post, fresh_key(), &target, &here).await;
                if tell.send(Posted { post, outcome }).await.is_err() {
                    return;
                }
            }
        });
        Self { posts, posted, under_way: 0 }
    }

    /// Takes a post, unless too many are waiting.
    pub(super) fn post(&mut self, post: Post) -> Result<(), Post> {
        if self.under_way == WAITING_MAX {
            return Err(post);
        }
        self.posts.try_send(post).map_err(mpsc::error::TrySendError::into_inner)?;
        self.under_way += 1;
        Ok(())
    }

    pub(super) fn is_busy(&self) -> bool {
        self.under_way > 0
    }

    /// How many have no outcome yet.
    pub(super) fn under_way(&self) -> usize {
        self.under_way
    }

    /// The next outcome. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Posted {
        match self.posted.recv().await {
            Some(posted) => {
                self.under_way -= 1;
                posted
            }
            // The task lives as long as `posts`, which is ours.
            None => std::future::pending().await,
        }
    }
}

/// A key that nobody else uses.
fn fresh_key() -> String {
    format!("chat-{}", RandomIds.source(now()).next_uuid())
}

async fn publish(post: &Post, key: String, target: &Target, here: &Here) -> Result<u64> {
    let mut retry = Retry::reached_before();
    loop {
        let error = match attempt(post, &key, target, here).await {
            Ok(sequence) => return Ok(sequence),
            Err(error) => error,
        };
        if exit_of(&error) != Exit::Unreachable && retry_after(&error).is_none() {
            return Err(error);
        }
        let pause: Duration = retry.pause(error, None)?;
        sleep_until(Instant::now() + pause).await;
    }
}

async fn attempt(post: &Post, key: &str, target: &Target, here: &Here) -> Result<u64> {
    let reply_to_id = match &post.reply_to {
        Some(answered) => Some(answered.find(target, here).await?),
        None => None,
    };
    let command = PublishMessage {
        reply_to_id,
        idempotency_key: Some(key.to_owned()),
        ..message(target, vec![text(&post.text)])
    };
    Ok(here.run(&command).await?.event.sequence)
}
