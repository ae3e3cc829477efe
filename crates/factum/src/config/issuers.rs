//! `[[auth.issuers]]`: whose JSON Web Tokens are accepted. Its own small list of keys, read as strictly as the rest.

use std::path::{Path, PathBuf};

use super::value::{Value, unexpected};
use crate::nearest::did_you_mean;

/// One issuer as it is configured. Exactly one of the four ways to its keys is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Issuer {
    pub(crate) issuer: String,
    pub(crate) audience: String,
    pub(crate) keys: Keys,
    pub(crate) algorithms: Vec<String>,
    pub(crate) account_claim: Option<String>,
    pub(crate) principal_claim: Option<String>,
    pub(crate) scopes_claim: Option<String>,
    pub(crate) leeway_seconds: Option<u64>,
}

/// Where an issuer's keys are. Secrets are in files of their own, never in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    JwksUrl(String),
    JwksFile(PathBuf),
    PemFile(PathBuf),
    SecretFile(PathBuf),
}

impl Default for Keys {
    fn default() -> Self {
        Self::JwksUrl(String::new())
    }
}

impl Keys {
    /// The same, with a relative path taken from `base`.
    pub(crate) fn below(self, base: &Path) -> Self {
        match self {
            Self::JwksUrl(url) => Self::JwksUrl(url),
            Self::JwksFile(path) => Self::JwksFile(base.join(path)),
            Self::PemFile(path) => Self::PemFile(base.join(path)),
            Self::SecretFile(path) => Self::SecretFile(base.join(path)),
        }
    }
}

/// The keys of an issuer's table: name, whether it is needed, meaning. The reference is made from it.
pub(crate) const FIELDS: &[(&str, &str, &str)] = &[
    ("issuer", "required", "Compared byte for byte with `iss`."),
    ("audience", "required", "Must be, or be among, `aud`."),
    (
        "jwks_url",
        "one of four",
        "A JSON Web Key Set behind an address: `https`, or `http` on loopback. Where it is not public, `[outbound]` has to allow it.",
    ),
    ("jwks_file", "one of four", "A JSON Web Key Set on disk. Read again when it changes."),
    ("pem_file", "one of four", "One public key (SPKI or PKCS#1). Read again when it changes."),
    ("secret_file", "one of four", "A shared secret for HS256 and its longer kin, alone in a file."),
    ("algorithms", "every asymmetric one, or HS256 with a secret", "The signature algorithms accepted."),
    ("account_claim", "\"account\"", "The claim that names the account."),
    ("principal_claim", "\"sub\"", "The claim that names the principal."),
    ("scopes_claim", "\"scope\"", "The claim that lists scopes."),
    ("leeway_seconds", "30", "How far the issuer's clock may be off."),
];

impl Value for Vec<Issuer> {
    const KIND: &'static str = "a list of issuers";

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let list = value.as_array().ok_or_else(|| unexpected::<Self>(value))?;
        let read = |(index, table)| read(table).map_err(|problem| format!("issuer {}: {problem}", index + 1));
        list.iter().enumerate().map(read).collect()
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let value: toml::Value = serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"))?;
        Self::from_toml(&value)
    }

    fn show(&self) -> String {
        "[]".to_owned()
    }
}

fn read(value: &toml::Value) -> Result<Issuer, String> {
    let table = value.as_table().ok_or_else(|| format!("expected a table, got {value}"))?;
    let names = || FIELDS.iter().map(|(name, _, _)| *name);
    if let Some(name) = table.keys().find(|name| !names().any(|known| known == name.as_str())) {
        return Err(format!("there is no key {name:?}{}", did_you_mean(name, names())));
    }
    let text = |name: &str| {
        let value = table.get(name).map(|value| value.as_str().map(str::to_owned));
        value.map(|text| text.ok_or_else(|| format!("{name} is not a text"))).transpose()
    };
    let required = |name: &str| text(name)?.ok_or_else(|| format!("{name} is missing"));
    let path = |name: &str| Ok::<_, String>(text(name)?.map(PathBuf::from));
    let ways: Vec<Keys> = [
        text("jwks_url")?.map(Keys::JwksUrl),
        path("jwks_file")?.map(Keys::JwksFile),
        path("pem_file")?.map(Keys::PemFile),
        path("secret_file")?.map(Keys::SecretFile),
    ]
    .into_iter()
    .flatten()
    .collect();
    let [keys] = <[Keys; 1]>::try_from(ways)
        .map_err(|_| "give exactly one of jwks_url, jwks_file, pem_file and secret_file".to_owned())?;
    Ok(Issuer {
        issuer: required("issuer")?,
        audience: required("audience")?,
        keys,
        algorithms: algorithms(table.get("algorithms"))?,
        account_claim: text("account_claim")?,
        principal_claim: text("principal_claim")?,
        scopes_claim: text("scopes_claim")?,
        leeway_seconds: leeway(table.get("leeway_seconds"))?,
    })
}

fn algorithms(value: Option<&toml::Value>) -> Result<Vec<String>, String> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let list = value.as_array().and_then(|list| list.iter().map(|item| item.as_str().map(str::to_owned)).collect());
    list.ok_or_else(|| "algorithms is not a list of texts".to_owned())
}

fn leeway(value: Option<&toml::Value>) -> Result<Option<u64>, String> {
    let Some(value) = value else { return Ok(None) };
    let seconds = value.as_integer().and_then(|seconds| u64::try_from(seconds).ok());
    seconds.map(Some).ok_or_else(|| "leeway_seconds is not a whole number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<Issuer, &str>) {
        let read = Vec::<Issuer>::from_text(text).map(|mut issuers| issuers.remove(0));
        assert_eq!(read, expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn issuers_are_read_strictly() {
        let issuer = Issuer {
            issuer: "https://id".into(),
            audience: "factum".into(),
            keys: Keys::PemFile("id.pem".into()),
            leeway_seconds: Some(0),
            ..Issuer::default()
        };
        check(r#"[{"issuer":"https://id","audience":"factum","pem_file":"id.pem","leeway_seconds":0}]"#, Ok(issuer));
        let one = "issuer 1: give exactly one of jwks_url, jwks_file, pem_file and secret_file";
        check(r#"[{"issuer":"a","audience":"b"}]"#, Err(one));
        check(r#"[{"issuer":"a","audience":"b","pem_file":"c","jwks_url":"d"}]"#, Err(one));
        check(r#"[{"audience":"b","pem_file":"c"}]"#, Err("issuer 1: issuer is missing"));
        let close = r#"issuer 1: there is no key "audiense"; did you mean "audience"?"#;
        check(r#"[{"issuer":"a","audiense":"b","pem_file":"c"}]"#, Err(close));
    }
}
