//! What a peer is shown to be let in. From configuration, never from a card, and never in a log.

use factum_outbound::Request;
use secrecy::SecretString;

#[derive(Clone, Debug, Default)]
pub enum Credential {
    #[default]
    None,
    /// `Authorization: Bearer …`.
    Bearer(SecretString),
    /// An API key in a header of the peer's choice.
    Header { name: String, value: SecretString },
}

impl Credential {
    pub(super) fn on(&self, request: Request) -> Request {
        match self {
            Self::None => request,
            Self::Bearer(token) => request.bearer(token),
            Self::Header { name, value } => request.secret_header(name, value),
        }
    }

    pub(super) fn is_some(&self) -> bool {
        !matches!(self, Self::None)
    }
}
