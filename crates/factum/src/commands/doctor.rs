//! `factum doctor`: whether this machine suits a store. Each line says how it is and, where it is not well, what to do.
//!
//! It writes a few small files into the data directory and removes them again; it never touches the store there.

mod disk;
mod system;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::cli::{App, Usual};
use crate::config::Flags;
use crate::failure::Exit;
use crate::output::{DIM, GREEN, RED, YELLOW};

#[derive(Debug, Args)]
#[command(after_help = "Exits with 1 where a check fails; warnings do not count.")]
pub(crate) struct Doctor {
    /// The directory to check [default: ./.factum]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The address to check.
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
}

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Grade {
    Ok,
    Warn,
    Fail,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) grade: Grade,
    pub(super) what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &'static str, what: impl Into<String>) -> Self {
        Self { name, grade: Grade::Ok, what: what.into(), advice: None }
    }

    pub(super) fn warn(name: &'static str, what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, grade: Grade::Warn, what: what.into(), advice: Some(advice.into()) }
    }

    pub(super) fn fail(name: &'static str, what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, grade: Grade::Fail, what: what.into(), advice: Some(advice.into()) }
    }
}

pub(crate) fn run(doctor: &Doctor, app: &App) -> Result<Exit> {
    let data_dir = doctor.data_dir.as_ref().map(|dir| dir.display().to_string());
    let flags = Flags::default().with("store", "data_dir", data_dir).with("server", "listen", doctor.listen.clone());
    let settings = app.load(&flags, Usual::Quiet)?.settings;
    let checks = checks(&settings.store.data_dir, settings.server.listen, &settings.store_options());
    if app.output.is_json() {
        app.output.rows(&checks)?;
    } else {
        checks.iter().try_for_each(|check| app.output.line(line(check)))?;
    }
    let failed = checks.iter().any(|check| check.grade == Grade::Fail);
    Ok(if failed { Exit::Findings } else { Exit::Ok })
}

fn checks(dir: &Path, listen: std::net::SocketAddr, options: &factum_store::Options) -> Vec<Check> {
    let mut checks = vec![disk::writable(dir)];
    // Nothing about a disk can be measured where nothing can be written.
    if checks.iter().all(|check| check.grade == Grade::Ok) {
        checks.extend([
            disk::file_system(dir),
            disk::free_space(dir),
            disk::sync_latency(dir),
            disk::scratch_store(dir, options),
            disk::secret(dir),
            system::clock(dir),
        ]);
    }
    checks.extend([system::open_files(), system::memory(options), system::port(listen), system::kernel()]);
    checks
}

fn line(check: &Check) -> String {
    let (style, word) = match check.grade {
        Grade::Ok => (GREEN, "ok  "),
        Grade::Warn => (YELLOW, "warn"),
        Grade::Fail => (RED, "fail"),
    };
    let advice = check.advice.as_ref().map_or_else(String::new, |advice| format!("\n      {DIM}{advice}{DIM:#}"));
    format!("{style}{word}{style:#}  {:<15} {}{advice}", check.name, check.what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_grade_the_name_and_the_advice() {
        let check = Check::warn("open files", "256", "raise it");
        let text = anstream::adapter::strip_str(&line(&check)).to_string();
        assert_eq!(text, "warn  open files      256\n      raise it");
    }

    #[test]
    fn a_directory_that_cannot_be_made_fails_and_is_not_measured() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let dir = file.path().join("below-a-file");
        let checks = checks(&dir, "127.0.0.1:0".parse().unwrap(), &factum_store::Options::default());
        assert_eq!((checks[0].name, checks[0].grade), ("data directory", Grade::Fail));
        assert!(checks.iter().all(|check| check.name != "sync latency"));
    }
}
