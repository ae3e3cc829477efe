//! Reading a body up to a size, and not one byte further.

use bytes::{Bytes, BytesMut};

use crate::client::describe;
use crate::error::Error;

/// The whole body. A length that is announced and too large is refused before anything is read.
pub(crate) async fn read(mut response: reqwest::Response, host: &str, max: usize) -> Result<Bytes, Error> {
    let too_large = || Error::TooLarge { host: host.to_owned(), what: "a body", max };
    if response.content_length().is_some_and(|length| usize::try_from(length).map_or(true, |length| length > max)) {
        return Err(too_large());
    }
    let mut body = BytesMut::new();
    let broke = |error| Error::Broken { host: host.to_owned(), problem: describe(&error) };
    while let Some(chunk) = response.chunk().await.map_err(broke)? {
        if body.len() + chunk.len() > max {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}
