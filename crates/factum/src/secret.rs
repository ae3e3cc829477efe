//! `<data-dir>/secret.key`: 32 random bytes, made on the first start, readable by nobody else.
//!
//! Cursors and the hashes of API keys depend on it. Losing it makes every key worthless; whoever reads it can forge cursors.

#![allow(clippy::disallowed_methods, reason = "the one room in which the server's secret is made and written")]

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result};
use factum_runtime::Secret;
use rand::Rng;

use crate::failure::Problem;

/// The file's name in the data directory.
pub(crate) const FILE: &str = "secret.key";

const BYTES: usize = 32;

/// The secret, and whether others may read its file.
pub(crate) struct Kept {
    pub(crate) secret: Secret,
    pub(crate) exposed: bool,
}

/// Reads the secret of an existing data directory, or makes it.
pub(crate) fn open(data_dir: &Path) -> Result<Kept> {
    let path = data_dir.join(FILE);
    match File::open(&path) {
        Ok(file) => read(file, &path),
        Err(error) if error.kind() == ErrorKind::NotFound => make(data_dir),
        Err(error) => Err(error).with_context(|| format!("the secret {} cannot be read", path.display())),
    }
}

/// What to do about a secret that others may read.
pub(crate) fn exposed_advice(data_dir: &Path) -> String {
    format!("chmod 600 {}", data_dir.join(FILE).display())
}

fn read(mut file: File, path: &Path) -> Result<Kept> {
    let mut bytes = Vec::with_capacity(BYTES + 1);
    let mode = file.metadata().map(|metadata| metadata.mode())?;
    Read::by_ref(&mut file).take(BYTES as u64 + 1).read_to_end(&mut bytes)?;
    let bytes: [u8; BYTES] = bytes.try_into().map_err(|_| {
        Problem::cannot_run(format!("{} is not a secret of {BYTES} bytes", path.display())).advice(
            "restore it from a backup; deleting it makes a new one, and every API key and cursor made with the old one is refused",
        )
    })?;
    Ok(Kept { secret: Secret::new(bytes), exposed: mode & 0o077 != 0 })
}

fn make(data_dir: &Path) -> Result<Kept> {
    let mut bytes = [0; BYTES];
    rand::rng().fill_bytes(&mut bytes);
    write_private(data_dir, FILE, &bytes)?;
    Ok(Kept { secret: Secret::new(bytes), exposed: false })
}

/// Writes a file of the data directory for its owner alone: beside its name, and moved there whole, so that a crash leaves
/// all of it or none.
pub(crate) fn write_private(data_dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let (path, fresh) = (data_dir.join(name), data_dir.join(format!("{name}.new")));
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&fresh, &path)?;
        File::open(data_dir)?.sync_all()
    };
    write().with_context(|| format!("the secret {} cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_made_once_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let first = open(dir.path()).unwrap();
        let again = open(dir.path()).unwrap();
        assert_eq!(first.secret.mac("test", &[]), again.secret.mac("test", &[]));
        assert!(!first.exposed && !again.exposed);
        let path = dir.path().join(FILE);
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(open(dir.path()).unwrap().exposed);
        std::fs::write(&path, "short").unwrap();
        assert!(open(dir.path()).is_err());
    }
}
