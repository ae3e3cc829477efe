//! Finding an agent: its card, whether to believe it, and which of its interfaces to use.

use std::sync::Arc;

use factum_outbound::{Client, Scheme};
use serde_json::Value;

use super::card::{Binding, Interface, PeerCard, Signature};
use super::credential::Credential;
use super::failure::Failure;
use super::peer::Peer;
use crate::version::Version;

/// Where the cards of 1.0 and 0.3 are, and where those of April 2025 were.
const CARD_PATHS: [&str; 2] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];
const CARD_BYTES_MAX: usize = 256 * 1024;
const KEYS_BYTES_MAX: usize = 256 * 1024;

/// Checks a card against a JSON Web Key Set; says what is wrong with it.
pub type VerifyCard = Arc<dyn Fn(&Value, &Value) -> Result<(), String> + Send + Sync>;

/// Whose word a card is taken on.
#[derive(Clone, Default)]
pub enum Trust {
    /// The connection's: whoever answers at the address is the peer.
    #[default]
    Connection,
    /// A signature by one of these keys, or the card is not used.
    Keys { jwks: Value, verify: VerifyCard },
    /// A signature by a key that the card names (`jku`), as long as the peer itself serves it.
    OwnKeys { verify: VerifyCard },
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connection => "Connection",
            Self::Keys { .. } => "Keys",
            Self::OwnKeys { .. } => "OwnKeys",
        })
    }
}

/// An agent elsewhere, as configuration describes it.
#[derive(Clone, Debug, Default)]
pub struct PeerOptions {
    /// Where it is: its origin, with a path where it has one, or the address of its card (`….json`).
    pub url: String,
    pub credential: Credential,
    pub trust: Trust,
    /// The peer keeps idempotency keys, although its card does not say so.
    pub idempotent: bool,
}

/// Reads a peer's card and chooses how to speak to it.
pub async fn discover(client: &Client, options: PeerOptions) -> Result<Peer, Failure> {
    let (json, url) = fetch_card(client, &options).await?;
    let signature = check_signature(client, &options, &json).await?;
    let mut card = PeerCard::read(json, &url, signature)?;
    card.idempotent |= options.idempotent;
    check_extensions(&card)?;
    let interface = choose(client, &options, &card)?;
    Ok(Peer::new(client.clone(), options.credential, card, interface))
}

/// Whoever requires an extension wants to be asked by its rules, or not at all.
fn check_extensions(card: &PeerCard) -> Result<(), Failure> {
    if card.unknown_extensions.is_empty() {
        return Ok(());
    }
    let required = card.unknown_extensions.join(", ");
    let message = format!("its agent card requires an extension that is not known here: {required}");
    Err(Failure::Refused { code: a2a::error_code::EXTENSION_SUPPORT_REQUIRED, message })
}

/// The card, and where it was.
async fn fetch_card(client: &Client, options: &PeerOptions) -> Result<(Value, String), Failure> {
    let base = options.url.trim_end_matches('/');
    let urls: Vec<String> = if base.ends_with(".json") {
        vec![base.to_owned()]
    } else {
        CARD_PATHS.iter().map(|path| format!("{base}{path}")).collect()
    };
    let mut last = Failure::malformed("there is no agent card");
    for url in urls {
        let request = client.get(&url)?.header("Accept", "application/json").body_bytes_max(CARD_BYTES_MAX);
        let request = request.header(Version::HEADER, Version::V1_0.as_str());
        let answer = options.credential.on(request).send().await?;
        if answer.status.is_success() {
            let read = serde_json::from_slice(&answer.body)
                .map_err(|error| Failure::malformed(format!("the agent card at {url} is not JSON: {error}")));
            return read.map(|card| (card, url));
        }
        // Only where there is none, an older one may be elsewhere: a peer that is in trouble still is what its newest card says.
        if !matches!(answer.status.as_u16(), 404 | 405 | 410) {
            let problem = format!("the agent card at {url} was answered with {}", answer.status);
            let trouble = Failure::Network { problem, may_have_arrived: false };
            let failure = Failure::by_status(answer.status, &answer.body).unwrap_or(trouble);
            return Err(failure.until(answer.status, &answer.headers));
        }
        last = Failure::malformed(format!("there is no agent card at {url}: {}", answer.status));
    }
    Err(last)
}

async fn check_signature(client: &Client, options: &PeerOptions, card: &Value) -> Result<Signature, Failure> {
    let signed = card.get("signatures").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let untrusted =
        |problem: String| Failure::Refused { code: 0, message: format!("its agent card is not trusted: {problem}") };
    let unsigned = |or: &str| format!("it is not signed; ask the peer to sign it, or {or}");
    match &options.trust {
        Trust::Connection if signed => Ok(Signature::Unchecked),
        Trust::Connection => Ok(Signature::Absent),
        Trust::Keys { .. } if !signed => {
            Err(untrusted(unsigned("take card_keys_file out of the peer's configuration")))
        }
        Trust::OwnKeys { .. } if !signed => Err(untrusted(unsigned("set card_signed = false for the peer"))),
        Trust::Keys { jwks, verify } => verify(card, jwks).map(|()| Signature::Verified).map_err(untrusted),
        Trust::OwnKeys { verify } => {
            let jwks = fetch_keys(client, options, card).await?;
            verify(card, &jwks).map(|()| Signature::Verified).map_err(untrusted)
        }
    }
}

/// The keys that a card's signature names. Only the peer's own: any other address would let a stranger sign.
async fn fetch_keys(client: &Client, options: &PeerOptions, card: &Value) -> Result<Value, Failure> {
    let untrusted =
        |problem: &str| Failure::Refused { code: 0, message: format!("its agent card is not trusted: {problem}") };
    let jku = card["signatures"].as_array().into_iter().flatten().find_map(jku_of);
    let jku = jku.ok_or_else(|| untrusted("its signature names no keys (jku); configure them"))?;
    if origin(client, &jku)? != origin(client, &options.url)? {
        return Err(untrusted("its signature names keys that are not at the peer's own address; configure them"));
    }
    let answer = client.get(&jku)?.body_bytes_max(KEYS_BYTES_MAX).send().await?;
    if !answer.status.is_success() {
        return Err(Failure::malformed(format!("the keys at {jku} were answered with {}", answer.status)));
    }
    serde_json::from_slice(&answer.body).map_err(|error| Failure::malformed(format!("the keys at {jku}: {error}")))
}

/// `jku` of a signature's protected header, or of the header beside it.
fn jku_of(signature: &Value) -> Option<String> {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let protected = signature.get("protected").and_then(Value::as_str)?;
    let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(protected).ok()?).ok()?;
    let named = header.get("jku").or_else(|| signature.get("header")?.get("jku"));
    named.and_then(Value::as_str).map(str::to_owned)
}

/// The first interface that may be used. A credential goes where configuration said, or where a signature vouches for it.
fn choose(client: &Client, options: &PeerOptions, card: &PeerCard) -> Result<Interface, Failure> {
    let mut why_not = Vec::new();
    for interface in card.interfaces.iter().map(|interface| addressed(client, options, interface)) {
        match usable(client, options, card, &interface) {
            Ok(()) => return Ok(interface),
            Err(problem) => why_not.push(format!("{}: {problem}", interface.url)),
        }
    }
    let offered = if card.others.is_empty() { "nothing else".to_owned() } else { card.others.join(", ") };
    why_not.push(format!("it also offers {offered}"));
    let message = format!(
        "none of its interfaces can be used (JSONRPC and HTTP+JSON in 1.0 and 0.3 can, GRPC in 1.0, and JSONRPC of April 2025): {}",
        why_not.join("; ")
    );
    Err(Failure::Refused { code: a2a::error_code::VERSION_NOT_SUPPORTED, message })
}

/// gRPC's own clients are told a host and a port. Whether that is with TLS is then what it is for the card.
fn addressed(client: &Client, options: &PeerOptions, interface: &Interface) -> Interface {
    if interface.binding != Binding::Grpc || interface.url.contains("://") {
        return interface.clone();
    }
    let plain = client.target(&options.url).is_ok_and(|target| target.scheme() == Scheme::Http);
    let scheme = if plain { "http" } else { "https" };
    Interface { url: format!("{scheme}://{}", interface.url), ..interface.clone() }
}

fn usable(client: &Client, options: &PeerOptions, card: &PeerCard, interface: &Interface) -> Result<(), String> {
    let there = origin(client, &interface.url).map_err(|failure| failure.to_string())?;
    let here = origin(client, &options.url).map_err(|failure| failure.to_string())?;
    if there != here && options.credential.is_some() && card.signature != Signature::Verified {
        return Err("its credential is not sent to another origin on the word of an unsigned card".to_owned());
    }
    Ok(())
}

fn origin(client: &Client, url: &str) -> Result<(bool, String, u16), Failure> {
    let target = client.target(url)?;
    Ok((target.scheme() == Scheme::Https, target.host_name(), target.port()))
}
