//! A GET that asks for events: who asks, with which query, and what it was let in with. Its body is not looked at.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path, Query};
use factum_model::Refusal;
use factum_model::peer::Transport::HttpJson;
use factum_runtime::Caller;
use http::HeaderMap;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::http::peer;
use crate::problem::Problem;
use crate::state::{Credential, State};

/// The one name in a path. What is no text names nothing, and is refused like everything else is.
pub(crate) struct Named(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let named = Path::from_request_parts(parts, state).await;
        let Path(name) = named.map_err(|error: PathRejection| Refusal::invalid(error.body_text()))?;
        Ok(Self(name))
    }
}

/// A request that was let in. Whoever is not hears nothing about the query.
pub(crate) struct Asked<Q> {
    pub(crate) caller: Caller,
    pub(crate) query: Q,
    pub(crate) headers: HeaderMap,
    pub(crate) from: IpAddr,
}

impl<Q: DeserializeOwned> FromRequestParts<Arc<State>> for Asked<Q> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<State>) -> Result<Self, Problem> {
        let from = peer(parts);
        let caller = state.admit(&parts.headers, from).await?.over(HttpJson);
        let query = Query::try_from_uri(&parts.uri);
        let Query(query) = query.map_err(|error| Refusal::invalid(error.body_text()))?;
        Ok(Self { caller, query, headers: parts.headers.clone(), from })
    }
}

impl<Q> Asked<Q> {
    /// To look at again while a stream runs.
    pub(crate) fn credential(&self) -> Credential {
        Credential::of(&self.headers, self.from)
    }
}
