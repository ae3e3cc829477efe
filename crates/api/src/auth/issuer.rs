//! Tokens (JWTs) of configured issuers: from three base64 parts to a caller.
//!
//! The order matters. What the token says of itself only chooses whom to ask (`iss`) and by which of that issuer's keys
//! (`kid`, `alg`, within the allow-list); keys, addresses and certificates in the header are not looked at. Claims count
//! once the signature does. The library verifies signatures; the claims are judged here, by the runtime's clock.

use std::str::FromStr;
use std::sync::Arc;

use factum_model::Timestamp;
use factum_outbound::{Client, Host, Scheme};
use factum_runtime::Caller;
use jsonwebtoken::{Algorithm, AlgorithmFamily, Header, Validation, dangerous, decode, decode_header};
use secrecy::ExposeSecret;

use super::claims::Claims;
use super::keys::{ASYMMETRIC, KeySet, KeysError};
use super::names;
use super::options::{AuthSetupError, IssuerKeys, IssuerOptions};
use super::source::{KeySource, Origin};

/// The most an issuer's clock may be off.
const LEEWAY_SECONDS_MAX: u64 = 300;
/// A shorter secret can be guessed from one token (RFC 7518 §3.2 asks for the length of the hash).
const SECRET_BYTES_MIN: usize = 32;

/// Why a token gives no caller.
#[derive(Debug)]
pub(super) enum Rejected {
    /// For the log, never for the caller.
    Bad(&'static str),
    /// It cannot be checked: the issuer's keys are not there.
    NoKeys,
}

impl From<&'static str> for Rejected {
    fn from(reason: &'static str) -> Self {
        Self::Bad(reason)
    }
}

/// Somebody whose tokens are accepted.
pub(super) struct Issuer {
    options: IssuerOptions,
    keys: Arc<KeySource>,
}

/// The caller a token speaks for.
pub(super) async fn verify(issuers: &[Issuer], token: &str, now: Timestamp) -> Result<Caller, Rejected> {
    let header = decode_header(token).map_err(|_| "not a token, or an algorithm that does not exist")?;
    // Extensions that have to be understood are not (RFC 7515 §4.1.11).
    if header.crit.is_some() {
        return Err("critical header extensions".into());
    }
    let claimed: Claims = dangerous::insecure_decode_claims(token).map_err(|_| "unreadable claims")?;
    let named = |issuer: &&Issuer| claimed.text("iss") == Some(issuer.name());
    let issuer = issuers.iter().find(named).ok_or("an issuer that is not configured")?;
    let claims = issuer.check_signature(token, &header, now).await?;
    issuer.caller(&claims, now)
}

impl Issuer {
    pub(super) async fn open(
        options: IssuerOptions,
        outbound: &Client,
        now: Timestamp,
    ) -> Result<Self, AuthSetupError> {
        let allowed = check(&options, outbound).map_err(|problem| bad_option(&options, problem))?;
        let keys = open_keys(&options, allowed, outbound, now).await;
        let keys = keys.map_err(|source| AuthSetupError::Keys { issuer: options.issuer.clone(), source })?;
        Ok(Self { options, keys })
    }

    pub(super) fn name(&self) -> &str {
        &self.options.issuer
    }

    async fn check_signature(&self, token: &str, header: &Header, now: Timestamp) -> Result<Claims, Rejected> {
        let (kid, algorithm) = (header.kid.as_deref(), header.alg);
        let keys = self.keys.keys(|keys| keys.find(kid, algorithm).is_some(), now).await.ok_or(Rejected::NoKeys)?;
        let key = keys.find(kid, algorithm).ok_or("no key of the issuer fits the header")?;
        let mut signature_only = Validation::new(algorithm);
        signature_only.required_spec_claims.clear();
        signature_only.validate_exp = false;
        signature_only.validate_aud = false;
        let token = decode(token, &key.key, &signature_only).map_err(|_| "the signature does not fit")?;
        Ok(token.claims)
    }

    /// What verified claims amount to.
    fn caller(&self, claims: &Claims, now: Timestamp) -> Result<Caller, Rejected> {
        let options = &self.options;
        claims.good_at(now, options.leeway_seconds)?;
        if !claims.is_for(&options.audience) {
            return Err("another audience".into());
        }
        let account = claims.text(&options.account_claim).and_then(names::account);
        let account = account.ok_or("the account claim is missing or no account name")?;
        let principal = claims.text(&options.principal_claim).and_then(names::principal);
        let principal = principal.ok_or("the principal claim is missing or no principal name")?;
        Ok(Caller::new(&principal, account, names::scopes(claims.get(&options.scopes_claim))))
    }
}

/// The algorithms an issuer's options allow, or what is wrong with the options.
fn check(options: &IssuerOptions, outbound: &Client) -> Result<Vec<Algorithm>, String> {
    if options.issuer.is_empty() || options.audience.is_empty() {
        return Err("issuer and audience must not be empty: a token has to be somebody's and for us".to_owned());
    }
    if options.leeway_seconds > LEEWAY_SECONDS_MAX {
        return Err(format!("leeway_seconds is {}, the limit is {LEEWAY_SECONDS_MAX}", options.leeway_seconds));
    }
    if let IssuerKeys::JwksUrl(url) = &options.keys {
        check_url(url, outbound)?;
    }
    let secret = match &options.keys {
        IssuerKeys::Secret(secret) if secret.expose_secret().len() < SECRET_BYTES_MIN => {
            return Err(format!("the secret is shorter than {SECRET_BYTES_MIN} bytes"));
        }
        keys => matches!(keys, IssuerKeys::Secret(_)),
    };
    if options.algorithms.is_empty() {
        return Ok(if secret { vec![Algorithm::HS256] } else { ASYMMETRIC.to_vec() });
    }
    let parse = |name: &String| match Algorithm::from_str(name) {
        Ok(algorithm) if (algorithm.family() == AlgorithmFamily::Hmac) == secret => Ok(algorithm),
        Ok(_) => Err(format!("algorithm {name} does not go with this kind of key")),
        Err(_) => Err(format!("algorithm {name} is not known")),
    };
    options.algorithms.iter().map(parse).collect()
}

/// Keys that arrive in the clear are whoever's is on the way.
fn check_url(url: &str, outbound: &Client) -> Result<(), String> {
    let target = outbound.target(url).map_err(|error| error.to_string())?;
    let loopback = match target.host() {
        Host::Name(name) => name == "localhost",
        Host::Address(address) => address.to_canonical().is_loopback(),
    };
    match target.scheme() {
        Scheme::Https => Ok(()),
        Scheme::Http if loopback => Ok(()),
        Scheme::Http => Err(format!("the address {url} must be https, or http on loopback")),
    }
}

fn bad_option(options: &IssuerOptions, problem: String) -> AuthSetupError {
    AuthSetupError::Option { issuer: options.issuer.clone(), problem }
}

async fn open_keys(
    options: &IssuerOptions,
    allowed: Vec<Algorithm>,
    outbound: &Client,
    now: Timestamp,
) -> Result<Arc<KeySource>, KeysError> {
    let origin = match &options.keys {
        IssuerKeys::Secret(secret) => {
            return Ok(KeySource::fixed(KeySet::secret(secret.expose_secret().as_bytes(), &allowed)));
        }
        IssuerKeys::JwksFile(path) => Origin::Jwks(path.clone()),
        IssuerKeys::PemFile(path) => Origin::Pem(path.clone()),
        IssuerKeys::JwksUrl(url) => Origin::Url(url.clone(), outbound.clone()),
    };
    let may_wait = matches!(origin, Origin::Url(..));
    match KeySource::open(origin, allowed, now).await {
        (keys, Ok(())) => Ok(keys),
        (keys, Err(error)) if may_wait => {
            tracing::warn!(issuer = options.issuer, %error, "the keys are not there yet; they are asked for again");
            Ok(keys)
        }
        (_, Err(error)) => Err(error),
    }
}
