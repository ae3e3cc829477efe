//! The command line.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::binding::Binding;

pub(crate) const USAGE: &str = "\
usage: factum-conformance --suite DIR --folder DIR (--binary FILE | --url URL)
                          [--binding jsonrpc|rest|grpc] [--only ID] [--verbose]

  --suite    the folder with the suites
  --folder   the folder with factum.toml, the agent's script and exceptions.toml
  --binary   the server to start
  --url      a server that runs already, without credentials; exceptions do not apply to it
  --binding  one binding instead of all
  --only     tests whose id begins so; may be given several times
  --verbose  a line for each test";

/// What to run, and against what.
#[derive(Debug)]
pub(crate) struct Args {
    pub suite: PathBuf,
    pub folder: PathBuf,
    pub server: Server,
    pub bindings: Vec<Binding>,
    pub only: Vec<String>,
    pub verbose: bool,
}

#[derive(Debug)]
pub(crate) enum Server {
    Start { binary: PathBuf },
    Running { url: String },
}

impl Args {
    /// Whether all of it runs: only then an exception that nothing needs is one too many.
    pub(crate) fn is_everything(&self) -> bool {
        self.only.is_empty() && self.bindings.len() == Binding::ALL.len()
    }

    pub(crate) fn takes(&self, id: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| id.starts_with(only.as_str()))
    }
}

pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Args> {
    let (mut suite, mut folder, mut binary, mut url) = (None, None, None, None);
    let (mut bindings, mut only, mut verbose) = (Vec::new(), Vec::new(), false);
    let mut args = args;
    while let Some(name) = args.next() {
        if name == "--verbose" {
            verbose = true;
            continue;
        }
        let value = args.next().with_context(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--suite" => suite = Some(PathBuf::from(value)),
            "--folder" => folder = Some(PathBuf::from(value)),
            "--binary" => binary = Some(PathBuf::from(value)),
            "--url" => url = Some(value.trim_end_matches('/').to_owned()),
            "--binding" => bindings.push(Binding::parse(&value)?),
            "--only" => only.push(value),
            _ => bail!("unknown: {name}"),
        }
    }
    if bindings.is_empty() {
        bindings = Binding::ALL.to_vec();
    }
    let server = match (binary, url) {
        (Some(binary), None) => Server::Start { binary },
        (None, Some(url)) => Server::Running { url },
        _ => bail!("which server? Say --binary or --url"),
    };
    Ok(Args {
        suite: suite.context("--suite is missing")?,
        folder: folder.context("--folder is missing")?,
        server,
        bindings,
        only,
        verbose,
    })
}
