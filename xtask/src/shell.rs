//! Starting other programs, always from the root of the repository and always shown before they run.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The root of the repository.
///
/// Cargo says at run time where this package is. The place it was compiled at is only a fallback: a target folder may
/// outlive the checkout that filled it.
pub(crate) fn root() -> PathBuf {
    let here =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), Path::to_path_buf)
}

/// Where Cargo puts what it builds, so that scratch files go where nobody commits them.
pub(crate) fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// A cargo invocation from the root.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = program(&env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()), args);
    // `cargo run` describes this package to us in the environment. Passed on, it would make build scripts that watch
    // those variables rebuild, back and forth between `cargo xtask test` and a plain `cargo build`.
    for (name, _) in env::vars_os() {
        let of_this_package =
            name.to_str().is_some_and(|n| n.starts_with("CARGO_PKG_") || n.starts_with("CARGO_MANIFEST_"));
        if of_this_package {
            command.env_remove(name);
        }
    }
    command
}

/// Any program from the root.
pub(crate) fn program(name: &str, args: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(args).current_dir(root());
    command
}

/// Shows the command, runs it with our own output, and fails when it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    println!("$ {shown}");
    let status = command.status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// Runs the command in silence and gives what it printed. Fails with what it complained about.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command.output().with_context(|| format!("cannot start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` printed what is not UTF-8"))
}

/// Whether the command can be started and succeeds. Prints nothing.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program()).to_string_lossy().into_owned();
    let words = command.get_args().map(|arg| arg.to_string_lossy().into_owned());
    std::iter::once(name).chain(words).collect::<Vec<_>>().join(" ")
}
