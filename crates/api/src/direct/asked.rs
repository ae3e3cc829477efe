//! What the router is asked for over a connection that is read here, and its answer: whole, or in chunks as long as it lasts.

use axum::body::Body;
use axum::response::Response;
use http::Request;

use super::answer::{Answer, Ended};
use super::line::Line;
use crate::state::State;

pub(crate) struct Asked {
    request: Request<Body>,
    line: Line,
}

impl Asked {
    pub(super) fn new(request: Request<Body>, line: Line) -> Self {
        Self { request, line }
    }

    /// Answers with what `ask` makes of it; gives the connection back where it goes on behind that.
    pub(crate) async fn answer<F: Future<Output = Response>>(
        self,
        state: &State,
        ask: impl FnOnce(Request<Body>) -> F,
    ) -> Option<Line> {
        let Self { request, mut line } = self;
        let response = line.unless_gone(Box::pin(ask(request)).as_mut()).await?;
        let closing = state.runtime.closing().is_cancelled();
        let rest = begin(state, &mut line, response, closing).await.ok()?;
        if let Some(body) = rest {
            line.forward(body, state.runtime.closing()).await.ok()?;
        }
        (!closing).then_some(line)
    }
}

/// Sends all of the answer but for what of it is a stream, and keeps nothing of what that takes.
async fn begin(state: &State, line: &mut Line, response: Response, closing: bool) -> Result<Option<Body>, Ended> {
    let mut answer = Box::<Answer>::default();
    let rest = line.unless_gone(Box::pin(answer.response(response)).as_mut()).await.ok_or(Ended)?;
    line.send(answer.finish(state.runtime.now(), closing), state.limits.request_timeout).await?;
    Ok(rest)
}
