//! Who is calling. Made by a transport from a credential it has checked; everything behind trusts it.

use std::sync::Arc;

use factum_model::id::ChannelId;
use factum_model::peer::Transport;
use factum_model::registry::{Scope, Scopes};
use factum_model::{ErrorCode, Refusal, Trace};

use crate::commit::Actor;
use crate::peers::Joining;

/// A principal of an account, with what its credential is good for.
#[derive(Clone, Debug)]
pub struct Caller {
    pub principal: Arc<str>,
    pub account: Arc<str>,
    pub scopes: Arc<Scopes>,
    /// W3C trace context of this request.
    pub trace: Trace,
    /// How the request came.
    pub transport: Transport,
    /// The remote channel that the request says it comes through. Whether it is the caller's own is looked at first.
    pub channel: Option<ChannelId>,
    /// The same once that was looked at.
    pub(crate) through: Option<Arc<Joining>>,
}

/// The longest account name, in bytes.
pub const ACCOUNT_BYTES_MAX: usize = 64;

impl Caller {
    pub fn new(principal: &str, account: &str, scopes: Scopes) -> Self {
        Self {
            principal: principal.into(),
            account: account.into(),
            scopes: Arc::new(scopes),
            trace: Trace::default(),
            transport: Transport::InProcess,
            channel: None,
            through: None,
        }
    }

    /// The same caller, over the transport that it came by.
    #[must_use]
    pub fn over(self, transport: Transport) -> Self {
        Self { transport, ..self }
    }

    /// The same caller, coming through a remote channel.
    pub fn coming_through(&self, channel_id: ChannelId) -> Self {
        Self { channel: Some(channel_id), through: None, ..self.clone() }
    }

    /// The caller as the one on whose behalf something is decided.
    pub(crate) fn actor(&self) -> Actor<'_> {
        Actor { principal: &self.principal, trace: &self.trace, through: self.through.as_deref() }
    }

    /// The choke point every command and every stream passes before anything is looked up. The answer depends on the
    /// credential alone, so it tells nothing about what exists.
    pub fn require(&self, scope: Scope) -> Result<(), Refusal> {
        if self.scopes.allows(scope) {
            return Ok(());
        }
        let message = format!("this credential does not have the scope {scope}");
        Err(Refusal::new(ErrorCode::PermissionDenied, message).with("required_scope", scope.as_str()))
    }
}

/// Whether a text can be an account's name. Names become parts of stream names and index keys. One letter or digit is
/// needed, so that `.` and `..` stay out of whatever somebody makes of account names later.
pub fn valid_account(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let named = name.bytes().any(|b| b.is_ascii_alphanumeric());
    named && name.len() <= ACCOUNT_BYTES_MAX && name.bytes().all(allowed)
}
