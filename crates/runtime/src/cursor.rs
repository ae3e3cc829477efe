//! Opaque cursors: what they hold is bound to the account and the purpose by a keyed MAC, so a forged, foreign or
//! misused one is one uniform error.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use factum_model::Refusal;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// How many bytes of the MAC a cursor carries.
const MAC_BYTES: usize = 16;

/// The server's own key, for cursors and for the hashes of API keys. Each purpose is separated by its name.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Secret {
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// A keyed digest of some parts under a purpose. Parts are length-prefixed: no two lists give the same input.
    pub fn mac(&self, purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return [0; 32] };
        for part in [purpose.as_bytes()].iter().chain(parts) {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// Seals `content` for one account and purpose.
    pub fn seal(&self, purpose: &str, account: &str, content: &[u8]) -> String {
        let mac = self.mac(purpose, &[account.as_bytes(), content]);
        let mut bytes = mac[..MAC_BYTES].to_vec();
        bytes.extend_from_slice(content);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Opens what `seal` made, or refuses in one way whatever is wrong.
    pub fn open(&self, purpose: &str, account: &str, cursor: &str) -> Result<Vec<u8>, Refusal> {
        let refuse = || Refusal::invalid("the cursor is not valid here; start again without one");
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| refuse())?;
        let (given, content) = bytes.split_at_checked(MAC_BYTES).ok_or_else(refuse)?;
        let expected = self.mac(purpose, &[account.as_bytes(), content]);
        if !same(given, &expected[..MAC_BYTES]) {
            return Err(refuse());
        }
        Ok(content.to_vec())
    }
}

/// Compares without telling by time where two values differ.
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (x, y)| sum | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_open_only_where_they_were_made() {
        let secret = Secret::new([7; 32]);
        let cursor = secret.seal("list", "acme", b"position");
        assert_eq!(secret.open("list", "acme", &cursor), Ok(b"position".to_vec()));
        let refused = Refusal::invalid("the cursor is not valid here; start again without one");
        let mut forged = cursor.clone().into_bytes();
        forged[0] ^= 1;
        let forged = String::from_utf8(forged).unwrap();
        for (purpose, account, cursor) in [
            ("feed", "acme", cursor.as_str()),
            ("list", "other", &cursor),
            ("list", "acme", &forged),
            ("list", "acme", ""),
            ("list", "acme", "!!!"),
        ] {
            assert_eq!(secret.open(purpose, account, cursor), Err(refused.clone()));
        }
        assert!(Secret::new([8; 32]).open("list", "acme", &cursor).is_err());
    }
}
