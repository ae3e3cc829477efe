//! Resume tokens: what shows that whoever comes back is who left. Only a keyed hash of one is ever recorded; that hash is
//! its name, `resume_token_ref`. Making and hashing them is the shell's.

use factum_model::{ErrorCode, Refusal};

use super::state::Peer;

/// Refuses a token that is not the newest one. Showing none is fine: the credential of the caller is enough to come back.
pub(super) fn check_token(peer: &Peer, shown: Option<&str>) -> Result<(), Refusal> {
    match shown {
        None => Ok(()),
        Some(shown) if peer.identity.resume_token_ref.as_deref() == Some(shown) => Ok(()),
        Some(_) => {
            let message = "this resume token is not good any more: somebody used it, or the channel enrolled again; \
                           come back without one";
            Err(Refusal::new(ErrorCode::PermissionDenied, message).with("cause", "resume_token"))
        }
    }
}
