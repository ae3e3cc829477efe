//! A request's body: read within its bounds, or passed over.
//!
//! A server that answers and closes while its client still sends makes the client's system throw the answer away: the client
//! sees a broken connection instead of the reason. So what is not wanted is read and forgotten first, within [`DISCARD_BYTES`]
//! and [`DISCARD_TIME`]; whoever sends more than that is cut off.

use std::pin::{Pin, pin};
use std::time::Duration;

use axum::body::Bytes;
use factum_model::{ErrorCode, Refusal};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::state::{State, timed_out};

/// Bytes of a body that are passed over before its request is refused.
const DISCARD_BYTES: u64 = 64 << 20;
/// How long that may take.
const DISCARD_TIME: Duration = Duration::from_secs(5);

/// A request's body, from the router or right from the connection.
pub(crate) trait AnyBody: hyper::body::Body<Data = Bytes, Error: Into<axum::BoxError>> + Send {}

impl<B: hyper::body::Body<Data = Bytes, Error: Into<axum::BoxError>> + Send> AnyBody for B {}

/// A body that was not read to its end.
pub(crate) struct Unread {
    pub(crate) refusal: Refusal,
    /// Its first bytes, where it was known beforehand to be too large: enough to tell what it would have been.
    pub(crate) beginning: Bytes,
}

impl From<Refusal> for Unread {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, beginning: Bytes::new() }
    }
}

/// The whole body, within its bounds of size and time. The rest of one that is too large is passed over.
pub(crate) async fn read_body(state: &State, body: impl AnyBody) -> Result<Bytes, Refusal> {
    read_or_begin(state, body).await.map_err(|unread| unread.refusal)
}

/// The same, with the beginning of a body that is too large.
pub(crate) async fn read_or_begin(state: &State, body: impl AnyBody) -> Result<Bytes, Unread> {
    let max = state.limits.body_bytes_max;
    let mut body = pin!(body);
    if body.size_hint().lower() > max as u64 {
        let beginning = begin(body.as_mut()).await;
        discard(body).await;
        return Err(Unread { refusal: too_large(max), beginning });
    }
    let collect = Limited::new(body.as_mut(), max).collect();
    match tokio::time::timeout(state.limits.request_timeout, collect).await {
        Err(_) => Err(timed_out(state.limits.request_timeout).into()),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            discard(body).await;
            Err(too_large(max).into())
        }
        Ok(Err(_)) => Err(Refusal::invalid("the body ended before it was complete").into()),
    }
}

/// The first piece of a body that will be passed over.
async fn begin(mut body: Pin<&mut impl AnyBody>) -> Bytes {
    if body.size_hint().lower() > DISCARD_BYTES {
        return Bytes::new();
    }
    match tokio::time::timeout(DISCARD_TIME, body.frame()).await {
        Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
        _ => Bytes::new(),
    }
}

fn too_large(max: usize) -> Refusal {
    let message = format!("the body is larger than body_bytes_max, {max} bytes");
    Refusal::new(ErrorCode::LimitExceeded, message)
        .with("limit", serde_json::json!({ "name": "body_bytes", "max": max }))
}

/// Passes over what is left of a body that nobody will read. One that says beforehand that it is more than is passed over is
/// not begun with.
pub(crate) async fn discard(body: impl AnyBody) {
    if body.size_hint().lower() > DISCARD_BYTES {
        return;
    }
    let mut body = pin!(body);
    let pass = async {
        let mut left = DISCARD_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            let passed = frame.data_ref().map_or(0, |data| data.len() as u64);
            match left.checked_sub(passed) {
                Some(less) => left = less,
                None => return,
            }
        }
    };
    // Too slow is answered now, as too much is.
    drop(tokio::time::timeout(DISCARD_TIME, pass).await);
}
