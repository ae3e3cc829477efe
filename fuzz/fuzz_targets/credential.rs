//! The `Authorization` header and who is behind it: API keys and the names of `factum dev`. Nobody comes in who is not one
//! of the few that may, and everybody else gets the same answer.
//!
//! The first byte says whether it is `factum dev` and where the peer is; the rest is the header, in which `<key>` stands for
//! a key that is good. Tokens are in `token_claims` and `key_set`.

#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use factum_api::{AuthOptions, Authenticator, IssuerKeys, IssuerOptions};
use factum_fuzz::world;
use factum_model::ErrorCode;
use factum_model::registry::Scopes;
use factum_runtime::Caller;
use libfuzzer_sys::fuzz_target;
use secrecy::SecretString;

const DEV: u8 = 1;
const LOOPBACK: u8 = 2;
const HEADER: u8 = 4;

fuzz_target!(|data: &[u8]| {
    let Some((flags, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let (dev, local) = (flags & DEV != 0, flags & LOOPBACK != 0);
    let peer = if local { Ipv4Addr::LOCALHOST } else { Ipv4Addr::new(192, 0, 2, 7) };
    let secret = IssuerKeys::Secret(SecretString::from("a secret of more than thirty-two bytes"));
    let issuers = vec![IssuerOptions::new("https://id.example", "factum", secret)];
    world::with(&AuthOptions::default(), |world| {
        let header = (flags & HEADER != 0).then(|| text.replace("<key>", &world.key));
        let found = world.tokio.block_on(async {
            let options = AuthOptions { dev, issuers, ..AuthOptions::default() };
            let authenticator = Authenticator::new(world.runtime.clone(), options).await.expect("a secret is enough");
            authenticator.authenticate(header.as_deref(), IpAddr::V4(peer)).await
        });
        let expected = expected(header.as_deref(), dev && local, &world.key);
        match found {
            Ok(caller) => assert_eq!(Some(who(&caller)), expected, "{header:?}"),
            Err(refusal) => {
                assert_eq!(expected, None, "{header:?} was refused");
                assert_eq!(refusal.code, ErrorCode::Unauthenticated);
                assert_eq!(refusal.message, "a valid credential is needed: Authorization: Bearer …");
                assert!(refusal.details.is_empty());
            }
        }
    });
});

type Who = (String, String, Scopes);

fn who(caller: &Caller) -> Who {
    (caller.principal.to_string(), caller.account.to_string(), (*caller.scopes).clone())
}

/// Who a header is by the rules, written down a second time.
fn expected(header: Option<&str>, dev: bool, key: &str) -> Option<Who> {
    let Some(header) = header else {
        return dev.then(|| ("agent://local".to_owned(), "dev".to_owned(), Scopes::admin()));
    };
    let scheme = header.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("bearer "))?;
    let token = header[scheme.len()..].trim_start_matches(' ');
    if header.len() > 8 * 1024 || token.is_empty() || !token.bytes().all(|byte| (33..127).contains(&byte)) {
        return None;
    }
    if token == key {
        return Some((world::PRINCIPAL.to_owned(), "acme".to_owned(), Scopes::admin()));
    }
    let name = token.strip_prefix("dev:agent://").filter(|_| dev)?;
    let (name, account) = match name.split('@').collect::<Vec<_>>()[..] {
        [name] => (name, "dev"),
        [name, account] => (name, account),
        _ => return None,
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let is_account = account.len() <= 64 && account.bytes().all(plain);
    let named = account.bytes().any(|byte| byte.is_ascii_alphanumeric());
    let is_name = !name.is_empty() && name.len() <= 200 - "agent://".len();
    (is_account && named && is_name).then(|| (format!("agent://{name}"), account.to_owned(), Scopes::member()))
}
