//! The tests that are known not to pass, and why: `exceptions.toml`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::binding::Binding;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exception {
    pub id: String,
    #[serde(default = "everywhere")]
    pub bindings: Vec<Binding>,
    pub reason: String,
}

fn everywhere() -> Vec<Binding> {
    Binding::ALL.to_vec()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    exception: Vec<Exception>,
}

pub(crate) fn read(folder: &Path) -> Result<Vec<Exception>> {
    let file = folder.join("exceptions.toml");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let File { exception } = toml::from_str(&text).with_context(|| format!("{}", file.display()))?;
    if let Some(bare) = exception.iter().find(|exception| exception.reason.trim().is_empty()) {
        bail!("{}: {} has no reason", file.display(), bare.id);
    }
    Ok(exception)
}
