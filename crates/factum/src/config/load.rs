//! Where settings come from: flag, then environment, then file, then default. The only place that knows this order.
//!
//! Everything arrives as values: this file reads neither the environment nor the command line, so that the order can be
//! tested. Each error says which source the value came from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};

use super::settings::{Input, Settings, Unknown};
use crate::nearest::did_you_mean;

/// Variables of ours that are not settings.
const OTHER_VARIABLES: [&str; 3] = ["FACTUM_CONFIG", "FACTUM_URL", "FACTUM_TOKEN"];

/// Settings, and what the start has to know about where they came from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    /// The file that was read, if there was one.
    pub(crate) file: Option<PathBuf>,
    /// `section.name` of everything that somebody set.
    given: Vec<String>,
    /// Things to tell that do not stop a start.
    pub(crate) warnings: Vec<String>,
}

/// What a command line gives, as `section.name` and text. Only a subcommand knows which flags it has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags(Vec<(&'static str, &'static str, String)>);

impl Flags {
    /// The same flags and this one, where it was given.
    pub(crate) fn with(mut self, section: &'static str, name: &'static str, value: Option<String>) -> Self {
        self.0.extend(value.map(|value| (section, name, value)));
        self
    }
}

impl Loaded {
    /// Whether somebody set `section.name`, rather than leaving the default.
    pub(crate) fn is_given(&self, section: &str, name: &str) -> bool {
        let wanted = format!("{section}.{name}");
        self.given.contains(&wanted)
    }

    /// Puts the sources on top of each other, the weakest first.
    pub(crate) fn from_sources(
        file: Option<(&Path, &str)>,
        env: &BTreeMap<String, String>,
        flags: &Flags,
    ) -> Result<Self> {
        let mut loaded = Self::default();
        if let Some((path, text)) = file {
            loaded.read_file(path, text)?;
            loaded.file = Some(path.to_owned());
        }
        loaded.read_env(env)?;
        for (section, name, value) in &flags.0 {
            let origin = format!("--{}", name.replace('_', "-"));
            loaded.set(section, name, Input::Text(value), &origin)?;
        }
        Ok(loaded)
    }

    fn read_file(&mut self, path: &Path, text: &str) -> Result<()> {
        let origin = path.display().to_string();
        let table: toml::Table = toml::from_str(text).map_err(|error| {
            anyhow!("{}", error.to_string().trim_end().to_owned()).context(format!("{origin} is not TOML"))
        })?;
        for (section, value) in &table {
            let Some(names) = value.as_table() else {
                bail!("{origin}: {section} stands outside of any section{}", section_hint(section));
            };
            if section == "peers" {
                self.settings.peers =
                    super::peers::read_all(names).map_err(|problem| anyhow!("{origin}: {problem}"))?;
                continue;
            }
            for (name, value) in names {
                self.set(section, name, Input::Toml(value), &origin)?;
            }
        }
        self.resolve_paths(path);
        Ok(())
    }

    /// Paths in a file are relative to it, so that a start does not depend on the working directory.
    fn resolve_paths(&mut self, file: &Path) {
        let base = file.parent().unwrap_or(Path::new(""));
        if self.is_given("store", "data_dir") {
            self.settings.store.data_dir = base.join(&self.settings.store.data_dir);
        }
        for script in &mut self.settings.agents.scripts {
            *script = base.join(&script);
        }
        for issuer in &mut self.settings.auth.issuers {
            issuer.keys = issuer.keys.clone().below(base);
        }
        for peer in self.settings.peers.values_mut() {
            *peer = std::mem::take(peer).below(base);
        }
    }

    fn read_env(&mut self, env: &BTreeMap<String, String>) -> Result<()> {
        let settings: Vec<_> = Settings::sections().into_iter().flat_map(|section| section.settings).collect();
        for setting in &settings {
            if let Some(text) = env.get(&setting.env) {
                self.set(setting.section, setting.name, Input::Text(text), &setting.env)?;
            }
        }
        // Not an error: orchestrators put variables such as FACTUM_SERVICE_HOST beside a service of this name.
        let known = || settings.iter().map(|setting| setting.env.as_str());
        let ours = |name: &String| name.starts_with("FACTUM_") && !OTHER_VARIABLES.contains(&name.as_str());
        for name in env.keys().filter(|name| ours(name) && !known().any(|known| known == *name)) {
            let hint = did_you_mean(name, known());
            if !hint.is_empty() {
                self.warnings.push(format!("the variable {name} is not a setting and is ignored{hint}"));
            }
        }
        Ok(())
    }

    fn set(&mut self, section: &str, name: &str, input: Input<'_>, origin: &str) -> Result<()> {
        match self.settings.set(section, name, input) {
            Ok(Ok(())) => {
                self.given.push(format!("{section}.{name}"));
                Ok(())
            }
            Ok(Err(problem)) => bail!("{origin}: {section}.{name}: {problem}"),
            Err(Unknown) => bail!("{origin}: there is no setting {section}.{name}{}", setting_hint(section, name)),
        }
    }
}

fn setting_hint(section: &str, name: &str) -> String {
    let sections = Settings::sections();
    let Some(known) = sections.iter().find(|known| known.name == section) else {
        return did_you_mean(section, sections.iter().map(|section| section.name));
    };
    let hint = did_you_mean(name, known.settings.iter().map(|setting| setting.name));
    let elsewhere = || {
        let mut all = sections.iter().flat_map(|section| &section.settings);
        let found = all.find(|setting| setting.name == name);
        found.map_or_else(String::new, |setting| format!("; it belongs to [{}]", setting.section))
    };
    if hint.is_empty() { elsewhere() } else { hint }
}

/// Where a key at the top of the file probably belongs.
fn section_hint(name: &str) -> String {
    let sections = Settings::sections();
    let found = sections.iter().flat_map(|section| &section.settings).find(|setting| setting.name == name);
    found.map_or_else(String::new, |setting| format!("; put it below [{}]", setting.section))
}

#[cfg(test)]
mod tests;
