//! `[peers.NAME]`: agents elsewhere that tasks may be given to. Read as strictly as the rest; secrets are in files of their
//! own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::nearest::did_you_mean;

/// One peer as it is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) url: String,
    pub(crate) credential: Credential,
    /// Keys that the agent card has to be signed by.
    pub(crate) card_keys: CardKeys,
    pub(crate) idempotent: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Credential {
    #[default]
    None,
    TokenFile(PathBuf),
    ApiKeyFile {
        header: String,
        path: PathBuf,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum CardKeys {
    /// Whoever answers at the address is believed.
    #[default]
    None,
    /// Those that the peer serves itself.
    Own,
    File(PathBuf),
}

/// The header of an API key where none is named.
const API_KEY_HEADER: &str = "X-API-Key";

/// The keys of a peer's table: name, whether it is needed, meaning. The reference is made from it.
pub(crate) const FIELDS: &[(&str, &str, &str)] = &[
    (
        "url",
        "required",
        "Where the agent is: its origin, with a path where it has one, or the address of its card. `[outbound]` has to allow what is not public.",
    ),
    (
        "token_file",
        "none",
        "A file with a bearer token, alone in it. Sent over `https`, or to an address (not a name, but `localhost`) within a network that `[outbound]` allows.",
    ),
    ("api_key_file", "none", "A file with an API key, alone in it; instead of `token_file`."),
    ("api_key_header", "\"X-API-Key\"", "The header that carries the API key."),
    ("card_signed", "false", "Whether the agent card has to be signed by a key that the peer serves itself (`jku`)."),
    ("card_keys_file", "none", "A JSON Web Key Set: the agent card has to be signed by one of its keys."),
    (
        "idempotent",
        "by its card",
        "The peer honours `Idempotency-Key`: a message whose answer was lost may be sent again. Factum does, and its card says so.",
    ),
];

impl Peer {
    /// The same, with relative paths taken from `base`.
    pub(crate) fn below(mut self, base: &Path) -> Self {
        self.credential = match self.credential {
            Credential::None => Credential::None,
            Credential::TokenFile(path) => Credential::TokenFile(base.join(path)),
            Credential::ApiKeyFile { header, path } => Credential::ApiKeyFile { header, path: base.join(path) },
        };
        if let CardKeys::File(path) = &mut self.card_keys {
            *path = base.join(&path);
        }
        self
    }
}

/// Reads all peers of the file.
pub(crate) fn read_all(table: &toml::Table) -> Result<BTreeMap<String, Peer>, String> {
    table
        .iter()
        .map(|(name, value)| {
            check_name(name)?;
            let peer = read(value).map_err(|problem| format!("peers.{name}: {problem}"))?;
            Ok((name.clone(), peer))
        })
        .collect()
}

/// A peer's name stands in tasks and in events.
fn check_name(name: &str) -> Result<(), String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(allowed) {
        return Err(format!("{name:?} is no name of a peer: 1 to 64 characters out of A-Z a-z 0-9 _ - ."));
    }
    Ok(())
}

fn read(value: &toml::Value) -> Result<Peer, String> {
    let table = value.as_table().ok_or_else(|| format!("expected a table, got {value}"))?;
    let names = || FIELDS.iter().map(|(name, _, _)| *name);
    if let Some(name) = table.keys().find(|name| !names().any(|known| known == name.as_str())) {
        return Err(format!("there is no key {name:?}{}", did_you_mean(name, names())));
    }
    let text = |name: &str| {
        let value = table.get(name).map(|value| value.as_str().map(str::to_owned));
        value.map(|text| text.ok_or_else(|| format!("{name} is not a text"))).transpose()
    };
    let flag = |name: &str| {
        let value = table.get(name).map(toml::Value::as_bool);
        value.map(|flag| flag.ok_or_else(|| format!("{name} is not true or false"))).transpose()
    };
    let credential = match (text("token_file")?, text("api_key_file")?, text("api_key_header")?) {
        (None, None, None) => Credential::None,
        (Some(path), None, None) => Credential::TokenFile(path.into()),
        (None, Some(path), header) => {
            let header = header.unwrap_or_else(|| API_KEY_HEADER.to_owned());
            Credential::ApiKeyFile { header, path: path.into() }
        }
        (None, None, Some(_)) => return Err("api_key_header without api_key_file".to_owned()),
        (Some(_), _, _) => return Err("give token_file or api_key_file, not both".to_owned()),
    };
    let card_keys = match (flag("card_signed")?.unwrap_or(false), text("card_keys_file")?) {
        (_, Some(path)) => CardKeys::File(path.into()),
        (true, None) => CardKeys::Own,
        (false, None) => CardKeys::None,
    };
    let url = text("url")?.ok_or("url is missing")?;
    Ok(Peer { url, credential, card_keys, idempotent: flag("idempotent")?.unwrap_or(false) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<Peer, &str>) {
        let table: toml::Table = toml::from_str(text).unwrap();
        let read = read_all(table["peers"].as_table().unwrap()).map(|mut peers| peers.remove("north").unwrap());
        assert_eq!(read, expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn peers_are_read_strictly() {
        let plain = Peer { url: "https://north.example".into(), ..Peer::default() };
        check("[peers.north]\nurl = 'https://north.example'", Ok(plain.clone()));
        let keyed = Peer {
            credential: Credential::ApiKeyFile { header: "X-API-Key".into(), path: "key".into() },
            card_keys: CardKeys::File("jwks.json".into()),
            idempotent: true,
            ..plain.clone()
        };
        check(
            "[peers.north]\nurl = 'https://north.example'\napi_key_file = 'key'\ncard_keys_file = 'jwks.json'\nidempotent = true",
            Ok(keyed.clone()),
        );
        assert_eq!(keyed.below(Path::new("/etc")).card_keys, CardKeys::File("/etc/jwks.json".into()));
        check("[peers.north]\ntoken_file = 'x'", Err("peers.north: url is missing"));
        check(
            "[peers.north]\nurl = 'x'\ntokn_file = 'x'",
            Err("peers.north: there is no key \"tokn_file\"; did you mean \"token_file\"?"),
        );
        check(
            "[peers.north]\nurl = 'x'\ntoken_file = 'x'\napi_key_file = 'y'",
            Err("peers.north: give token_file or api_key_file, not both"),
        );
        check("[peers.north]\nurl = 'x'\nidempotent = 'yes'", Err("peers.north: idempotent is not true or false"));
        let odd = "\"no spaces\" is no name of a peer: 1 to 64 characters out of A-Z a-z 0-9 _ - .";
        check("[peers.'no spaces']\nurl = 'x'", Err(odd));
    }
}
