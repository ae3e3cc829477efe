//! Resume tokens: random, shown once. What is kept is a hash under the server's own secret, which is also the token's name.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use factum_model::id::ChannelId;
use rand::Rng;

use crate::caller::Caller;
use crate::runtime::Runtime;

/// What every token starts with, so that a leaked one is recognised by scanners.
const PREFIX: &str = "fcr_";

const PURPOSE: &str = "resume_token";

impl Runtime {
    /// The name of a token: good for this channel of this account only.
    pub(super) fn token_ref(&self, caller: &Caller, channel_id: &ChannelId, token: &str) -> String {
        let parts = [caller.account.as_bytes(), channel_id.as_str().as_bytes(), token.as_bytes()];
        let mut name = String::from("rt_");
        for byte in self.0.secret.mac(PURPOSE, &parts) {
            let _ = write!(name, "{byte:02x}");
        }
        name
    }
}

/// 256 random bits behind the prefix.
#[allow(clippy::disallowed_methods, reason = "a secret must not come out of a seeded generator")]
pub(super) fn new_token() -> String {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
}
