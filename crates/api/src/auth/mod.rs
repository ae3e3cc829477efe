//! Who is calling: from an `Authorization` header and a peer's address to a [`Caller`], or to one uniform refusal.
//!
//! Every transport and every stream asks here and nowhere else. Three kinds of credential are known: API keys, which the
//! runtime looks up; tokens of configured issuers, which `issuer` verifies; and the names of `factum dev`, on loopback only.
//! What a caller may do is not decided here: the scopes travel in the [`Caller`], and the runtime asks for them.
//!
//! Whatever is wrong with a credential, the answer is the same bytes. Why it was refused is in the log (`told`).

mod bearer;
mod claims;
mod dev;
mod issuer;
mod keys;
mod names;
mod options;
mod source;
mod told;

use std::net::IpAddr;
use std::sync::Arc;

use factum_model::{ErrorCode, Refusal};
use factum_runtime::{Caller, KEY_PREFIX, Runtime};

use issuer::{Issuer, Rejected};
pub use keys::KeysError;
pub use options::{AuthOptions, AuthSetupError, IssuerKeys, IssuerOptions};
use told::Told;

/// Checks credentials. A handle; clones share the issuers' keys.
#[derive(Clone)]
pub struct Authenticator {
    runtime: Runtime,
    dev: bool,
    issuers: Arc<[Issuer]>,
    told: Arc<Told>,
}

impl Authenticator {
    /// Reads the issuers' keys. An issuer behind an address that does not answer is asked again later: a server must be
    /// able to start while its identity provider is down. A file that cannot be read is a mistake and stops the start.
    pub async fn new(runtime: Runtime, options: AuthOptions) -> Result<Self, AuthSetupError> {
        let now = runtime.now();
        let outbound = factum_outbound::Client::new(options.outbound).map_err(AuthSetupError::Outbound)?;
        let mut issuers: Vec<Issuer> = Vec::with_capacity(options.issuers.len());
        for options in options.issuers {
            if issuers.iter().any(|known| known.name() == options.issuer) {
                let problem = "is configured twice; one issuer has one set of keys".to_owned();
                return Err(AuthSetupError::Option { issuer: options.issuer, problem });
            }
            issuers.push(Issuer::open(options, &outbound, now).await?);
        }
        if options.dev {
            runtime.meet(&dev::local());
        }
        Ok(Self { runtime, dev: options.dev, issuers: issuers.into(), told: Arc::default() })
    }

    /// The caller behind an `Authorization` header value, or behind none. `peer` is the address of the other end of the
    /// connection, never one that a header claims. Refuses with `unauthenticated` whatever is wrong with the credential,
    /// and with `unavailable` where it could not be checked.
    pub async fn authenticate(&self, authorization: Option<&str>, peer: IpAddr) -> Result<Caller, Refusal> {
        // `::ffff:127.0.0.1` is loopback too.
        let dev = self.dev && peer.to_canonical().is_loopback();
        let Some(header) = authorization else {
            return if dev { Ok(dev::local()) } else { Err(self.refuse("there is none", peer)) };
        };
        let token = bearer::token(header).ok_or_else(|| self.refuse("the header is not a bearer token", peer))?;
        if let Some(caller) = self.runtime.authenticate_key(token).await? {
            return Ok(caller);
        }
        if token.starts_with(KEY_PREFIX) {
            return Err(self.refuse("the API key is not known, has ended or was revoked", peer));
        }
        let caller = match dev.then(|| dev::named(token)).flatten() {
            Some(caller) => caller,
            None => self.verify(token, peer).await?,
        };
        // Whoever has a key is known by it; of these nothing is known but that they call.
        self.runtime.meet(&caller);
        Ok(caller)
    }

    async fn verify(&self, token: &str, peer: IpAddr) -> Result<Caller, Refusal> {
        issuer::verify(&self.issuers, token, self.runtime.now()).await.map_err(|rejected| match rejected {
            Rejected::Bad(reason) => self.refuse(reason, peer),
            Rejected::NoKeys => Refusal::unavailable("the keys of this token's issuer cannot be read now"),
        })
    }
}

impl Authenticator {
    /// The same answer whatever the reason is, which the log has.
    fn refuse(&self, reason: &str, peer: IpAddr) -> Refusal {
        self.told.tell(reason, peer, self.runtime.now());
        unauthenticated()
    }
}

/// Whether an `Authorization` header value holds an API key, good or not.
pub(crate) fn is_key(authorization: &str) -> bool {
    bearer::token(authorization).is_some_and(|token| token.starts_with(KEY_PREFIX))
}

/// The one answer to a missing and to a bad credential.
pub(crate) fn unauthenticated() -> Refusal {
    Refusal::new(ErrorCode::Unauthenticated, "a valid credential is needed: Authorization: Bearer …")
}

#[cfg(test)]
mod tests;
