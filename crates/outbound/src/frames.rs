//! A body as it comes, frame by frame and with its trailers, for protocols that know what is in it (gRPC). Time and size
//! are bounded here all the same.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep};

use crate::client::describe;
use crate::error::{Error, Phase};

/// The frames of one answer. Nothing comes behind an error.
pub struct Frames {
    body: reqwest::Body,
    host: String,
    bound: Bound,
    timer: Pin<Box<Sleep>>,
}

/// What ends an answer that does not end by itself.
enum Bound {
    /// The time for all of it, of which the timer has the rest, and its size.
    Whole { after: Duration, bytes_left: usize, bytes_max: usize },
    /// The time that somebody waits for the next frame. A reader that is slow itself is not kept waiting.
    Silence { after: Duration, waiting: bool },
}

impl Frames {
    pub(crate) fn within(
        response: reqwest::Response,
        host: String,
        deadline: Instant,
        after: Duration,
        bytes_max: usize,
    ) -> http::Response<Self> {
        let bound = Bound::Whole { after, bytes_left: bytes_max, bytes_max };
        Self::of(response, host, bound, deadline)
    }

    pub(crate) fn never_silent(response: reqwest::Response, host: String, idle: Duration) -> http::Response<Self> {
        Self::of(response, host, Bound::Silence { after: idle, waiting: false }, Instant::now() + idle)
    }

    fn of(response: reqwest::Response, host: String, bound: Bound, until: Instant) -> http::Response<Self> {
        let timer = Box::pin(tokio::time::sleep_until(until));
        http::Response::<reqwest::Body>::from(response).map(|body| Self { body, host, bound, timer })
    }

    fn late(&self) -> Error {
        let (phase, after) = match self.bound {
            Bound::Whole { after, .. } => (Phase::Answering, after),
            Bound::Silence { after, .. } => (Phase::Silent, after),
        };
        Error::TimedOut { host: self.host.clone(), phase, after }
    }

    /// Whether the time is over.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Bound::Silence { after, waiting: waiting @ false } = &mut self.bound {
            *waiting = true;
            self.timer.as_mut().reset(Instant::now() + *after);
        }
        self.timer.as_mut().poll(context)
    }

    /// Counts a frame, or takes it as a sign of life.
    fn judge(&mut self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, Error> {
        match &mut self.bound {
            Bound::Silence { waiting, .. } => *waiting = false,
            Bound::Whole { bytes_left, bytes_max, .. } => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                let max = *bytes_max;
                let too_large = || Error::TooLarge { host: self.host.clone(), what: "a body", max };
                *bytes_left = bytes_left.checked_sub(bytes).ok_or_else(too_large)?;
            }
        }
        Ok(frame)
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        // What comes without a pause ends by its size.
        let Poll::Ready(next) = Pin::new(&mut self.body).poll_frame(context) else {
            ready!(self.poll_late(context));
            return Poll::Ready(Some(Err(self.late())));
        };
        Poll::Ready(match next {
            None => None,
            Some(Ok(frame)) => Some(self.judge(frame)),
            Some(Err(error)) => Some(Err(Error::Broken { host: self.host.clone(), problem: describe(&error) })),
        })
    }
}
