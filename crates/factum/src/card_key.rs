//! `<data-dir>/card.key`: the private key that agent cards are signed with, made on the first start, readable by nobody else.
//!
//! Its public part is at `/.well-known/jwks.json`. Losing it costs nothing but trust: a new one is made, and clients that
//! remember the old one have to be told.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};

use crate::failure::Problem;
use crate::secret::write_private;
use crate::server::CardKey;

/// The file's name in the data directory.
const FILE: &str = "card.key";

/// The most that a key of this kind takes, and more.
const BYTES_MAX: u64 = 4_096;

/// Reads the key of an existing data directory, or makes it.
pub(crate) fn open(data_dir: &Path) -> Result<CardKey> {
    let path = data_dir.join(FILE);
    match File::open(&path) {
        Ok(file) => read(file, &path),
        Err(error) if error.kind() == ErrorKind::NotFound => make(data_dir),
        Err(error) => Err(error).with_context(|| format!("the key {} cannot be read", path.display())),
    }
}

fn read(file: File, path: &Path) -> Result<CardKey> {
    if file.metadata()?.mode() & 0o077 != 0 {
        return Err(Problem::cannot_run(format!("others on this machine may read {}", path.display()))
            .because("whoever reads it can sign agent cards as this server")
            .advice(format!("chmod 600 {}", path.display()))
            .into());
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    CardKey::from_pkcs8(&bytes).map_err(|error| {
        Problem::cannot_run(format!("{} is not the key of the agent cards", path.display()))
            .because(error)
            .advice("restore it from a backup; deleting it makes a new one, which clients then have to be told")
            .into()
    })
}

fn make(data_dir: &Path) -> Result<CardKey> {
    let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
        .context("a key for the agent cards cannot be made")?;
    let key = CardKey::from_pkcs8(pair.as_ref())?;
    write_private(data_dir, FILE, pair.as_ref())?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_kept_from_others() {
        let dir = tempfile::tempdir().unwrap();
        let first = open(dir.path()).unwrap();
        assert_eq!(first.kid(), open(dir.path()).unwrap().kid());
        let path = dir.path().join(FILE);
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(open(dir.path()).unwrap_err().to_string().contains("others on this machine may read"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let other = tempfile::tempdir().unwrap();
        assert_ne!(first.kid(), open(other.path()).unwrap().kid());
    }
}
