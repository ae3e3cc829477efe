//! Calling commands: typed in process, by name and JSON from a transport. Both pass the same check first.

use std::future::Future;
use std::pin::Pin;

use factum_model::commands::*;
use factum_model::json::Encoded;
use factum_model::{Command, ErrorCode, Refusal};

use crate::caller::Caller;
use crate::runtime::Runtime;

/// What carries a command out. Implemented in `handlers/`, one file for each, or listed in `unavailable`.
pub trait Handle<C: Command> {
    fn handle(&self, caller: &Caller, command: C) -> impl Future<Output = Result<C::Output, Refusal>> + Send;
}

/// Why a call by name gave no result.
#[derive(Debug, PartialEq)]
pub enum CallError {
    /// No command has this name.
    UnknownMethod,
    Refused(Refusal),
}

impl From<Refusal> for CallError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Runtime {
    /// Carries a command out for a caller: the choke point, then the handler.
    pub async fn call<C: Command>(&self, caller: &Caller, command: C) -> Result<C::Output, Refusal>
    where
        Runtime: Handle<C>,
    {
        caller.require(C::SCOPE)?;
        if self.is_closing() {
            return Err(Refusal::unavailable("the server is shutting down").with("cause", "closing"));
        }
        match &caller.channel {
            None => self.handle(caller, command).await,
            // Who enrolls or comes back names the channel itself, and it may not be there yet.
            Some(_) if matches!(C::NAME, EnrollChannel::NAME | ReconnectChannel::NAME) => {
                self.handle(caller, command).await
            }
            // Boxed: the rare way must not make the future of every command as large as itself.
            Some(channel_id) => Box::pin(self.call_through(caller, channel_id, command)).await,
        }
    }

    async fn call_raw<C: Command>(&self, caller: &Caller, params: &str) -> Result<Encoded, Refusal>
    where
        Runtime: Handle<C>,
    {
        caller.require(C::SCOPE)?;
        let command: C = serde_json::from_str(params).map_err(|error| invalid_params(&error))?;
        let output = self.call(caller, command).await?;
        Encoded::of(&output).map_err(|error| Refusal::internal(error.to_string()))
    }
}

fn invalid_params(error: &serde_json::Error) -> Refusal {
    Refusal::new(ErrorCode::InvalidParams, format!("the params do not fit: {error}"))
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<Encoded, Refusal>> + Send + 'a>>;

macro_rules! dispatch {
    ($($command:ident,)*) => {
        impl Runtime {
            /// Carries a command out by name. The scope is checked before the params are even read.
            pub async fn call_by_name(&self, caller: &Caller, name: &str, params: &str) -> Result<Encoded, CallError> {
                let answer: Answer<'_> = match name {
                    $($command::NAME => Box::pin(self.call_raw::<$command>(caller, params)),)*
                    _ => return Err(CallError::UnknownMethod),
                };
                answer.await.map_err(CallError::Refused)
            }
        }
    };
}

factum_model::for_each_command!(dispatch);
