//! Secrets of callers that have to be kept: encrypted under the server's own key, for one purpose and one place.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use factum_model::Refusal;

use crate::cursor::Secret;

/// Random nonces of this size never meet.
const NONCE_BYTES: usize = 24;

impl Secret {
    /// Encrypts for one purpose and place: what is moved elsewhere does not open.
    pub fn encrypt(&self, purpose: &str, place: &str, plain: &[u8]) -> Result<String, Refusal> {
        #[allow(clippy::disallowed_methods, reason = "a nonce must not repeat, whatever a test seeds")]
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let payload = Payload { msg: plain, aad: place.as_bytes() };
        let sealed = self.cipher(purpose).encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| Refusal::internal("a secret could not be sealed"))?;
        Ok(URL_SAFE_NO_PAD.encode([nonce.as_slice(), &sealed].concat()))
    }

    /// Opens what [`Secret::encrypt`] made for the same purpose and place.
    pub fn decrypt(&self, purpose: &str, place: &str, sealed: &str) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg: sealed, aad: place.as_bytes() };
        self.cipher(purpose).decrypt(&XNonce::from(*nonce), payload).ok()
    }

    fn cipher(&self, purpose: &str) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.mac("encrypt", &[purpose.as_bytes()]).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_in_its_place_alone() {
        let secret = Secret::new([7; 32]);
        let sealed = secret.encrypt("push", "here", b"token").expect("sealed");
        assert!(!sealed.contains("token"));
        assert_eq!(secret.decrypt("push", "here", &sealed).as_deref(), Some(&b"token"[..]));
        assert_eq!(secret.decrypt("push", "there", &sealed), None);
        assert_eq!(secret.decrypt("pull", "here", &sealed), None);
        assert_eq!(Secret::new([8; 32]).decrypt("push", "here", &sealed), None);
        assert_ne!(secret.encrypt("push", "here", b"token").expect("sealed"), sealed, "never the same twice");
        let mut flipped = sealed.into_bytes();
        let last = flipped.len() - 1;
        flipped[last] = if flipped[last] == b'A' { b'B' } else { b'A' };
        assert_eq!(secret.decrypt("push", "here", &String::from_utf8(flipped).expect("text")), None);
    }
}
