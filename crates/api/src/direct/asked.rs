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
        if let Some((head, body)) = begin(state, &mut line, response, closing).await.ok()? {
            line.forward(head, body, state.runtime.closing()).await.ok()?;
        }
        (!closing).then_some(line)
    }
}

/// Sends the answer, unless it is a stream, whose head and body are given back, and keeps nothing of what that takes.
async fn begin(
    state: &State,
    line: &mut Line,
    response: Response,
    closing: bool,
) -> Result<Option<(Vec<u8>, Body)>, Ended> {
    let mut answer = Box::<Answer>::default();
    let rest = line.unless_gone(Box::pin(answer.response(response)).as_mut()).await.ok_or(Ended)?;
    let text = answer.finish(state.runtime.now(), closing);
    if let Some(body) = rest {
        return Ok(Some((text.to_vec(), body)));
    }
    line.send(text, state.limits.request_timeout).await?;
    Ok(None)
}
