//! Configuration: flag > `FACTUM_*` > `factum.toml` > default, all from one list of settings.
//!
//! `settings` declares them, `value` reads them, `load` puts the sources in order, `apply` hands them on, `reference`
//! writes the page. This file is the room in which the environment and the file are read; nothing else reads either.

mod apply;
mod issuers;
mod load;
mod peers;
mod reference;
mod settings;
mod value;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

pub(crate) use load::{Flags, Loaded};
pub(crate) use peers::{CardKeys, Credential as PeerCredential, Peer};
pub(crate) use reference::page as reference_page;
pub(crate) use settings::Settings;
pub(crate) use words::{LogFormat, LogLevel};

use crate::failure::Problem;

/// The file that is read where none is named, if it is there.
pub(crate) const DEFAULT_FILE: &str = "factum.toml";

/// Reads all sources. A file that was named has to exist.
pub(crate) fn load(named: Option<&Path>, flags: &Flags) -> Result<Loaded> {
    let path = named.map_or_else(|| PathBuf::from(DEFAULT_FILE), Path::to_owned);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            let what = format!("the configuration {} cannot be read", path.display());
            return Err(Problem::cannot_run(what)
                .because(error)
                .advice("give the path of a TOML file with --config")
                .into());
        }
    };
    Loaded::from_sources(text.as_deref().map(|text| (path.as_path(), text)), &environment(), flags)
}

#[allow(clippy::disallowed_methods, reason = "the one room in which the environment is read")]
fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("FACTUM_"))
        .collect()
}
