//! The arrows between our crates: which may use which. Drawn in ARCHITECTURE.md, enforced here.
//!
//! Cargo forbids cycles; this forbids the rest. Dev-dependencies are free: a test may look from outside.

use super::Finding;
use super::manifest::{self, Entry};
use super::tree::File;

/// What a crate of ours may use of ours. `factum` wires everything together and may use anything.
const ARROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("engine", &["model"]),
    ("store", &[]),
    ("agent", &["model", "sandbox"]),
    ("runtime", &["model", "engine", "store", "agent"]),
    ("outbound", &[]),
    ("a2a", &["model", "outbound"]),
    ("api", &["model", "runtime", "a2a", "push", "outbound"]),
    ("conformance", &["a2a", "testkit"]),
    ("testkit", &["model", "engine", "store", "agent", "runtime", "api", "sandbox", "a2a", "push", "outbound"]),
];

pub(super) fn check(files: &[File]) -> Vec<Finding> {
    files
        .iter()
        .filter_map(|file| Some((file, crate_of(&file.path)?)))
        .flat_map(|(f, name)| check_crate(f, name))
        .collect()
}

/// The crate that a manifest describes: `crates/NAME/Cargo.toml`.
pub(super) fn crate_of(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml").filter(|name| !name.contains('/'))
}

fn check_crate(file: &File, name: &str) -> Vec<Finding> {
    if name == "factum" {
        return Vec::new();
    }
    let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
        let message = format!(
            "crate {name} has no arrows; draw it in ARCHITECTURE.md and give it a row in xtask/src/tidy/arrows.rs"
        );
        return vec![Finding::new(&file.path, 1, message)];
    };
    let forbidden = |(line, used): (usize, String)| {
        let used = ours(&used)?;
        let message = format!("{name} may not use {used}; move what you need along the arrows in ARCHITECTURE.md");
        (!allowed.contains(&used)).then(|| Finding::new(&file.path, line, message))
    };
    dependencies(&file.text).into_iter().filter_map(forbidden).collect()
}

fn ours(package: &str) -> Option<&str> {
    package.strip_prefix("factum-").or((package == "factum").then_some("factum"))
}

/// What a crate is built with, by package name, with the line that says so. Dev-dependencies are left out.
pub(super) fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    manifest::entries(manifest).iter().flat_map(named_by).collect()
}

/// The packages one line names. A renamed one is named twice: by its key and by `package = "…"`.
fn named_by(entry: &Entry<'_>) -> Vec<(usize, String)> {
    let table = entry.table.replace(['"', '\''], "");
    let renamed =
        entry.value.split_once("package = \"").and_then(|(_, rest)| rest.split_once('"')).map(|(name, _)| name);
    let key = entry.key.split('.').next().unwrap_or_default();
    let names: Vec<&str> = match kind(&table) {
        // `[dependencies]` and `serde.workspace = true`.
        Some("") => std::iter::once(key).chain(renamed).collect(),
        // `[dependencies.serde]` and `package = "…"` below it.
        Some(name) if key == "package" => std::iter::once(name).chain(entry.string()).collect(),
        Some(name) => vec![name],
        None => Vec::new(),
    };
    names.into_iter().map(|name| (entry.line, name.to_owned())).collect()
}

/// What stands behind `dependencies` in a header that declares some: nothing, or one package's name.
fn kind(table: &str) -> Option<&str> {
    for start in ["dependencies", "build-dependencies"] {
        let own = table.strip_prefix(start);
        let targeted =
            table.strip_prefix("target.").and_then(|rest| rest.split_once(&format!(".{start}"))).map(|(_, rest)| rest);
        if let Some(rest) = own.or(targeted) {
            return if rest.is_empty() { Some("") } else { rest.strip_prefix('.') };
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, manifest: &str) -> Vec<String> {
        let file = File::new(&format!("crates/{name}/Cargo.toml"), manifest);
        check(&[file]).iter().map(|finding| format!("{}: {}", finding.line, finding.message)).collect()
    }

    #[test]
    fn an_arrow_that_is_drawn_is_fine() {
        assert!(found("engine", "[dependencies]\nfactum-model.workspace = true\nserde = \"1\"\n").is_empty());
        assert!(found("factum", "[dependencies]\nfactum-testkit.workspace = true\n").is_empty());
    }

    #[test]
    fn an_arrow_that_is_not_drawn_is_found_however_it_is_written() {
        for manifest in [
            "[dependencies]\nfactum-store.workspace = true\n",
            "[dependencies]\nfactum-store = { path = \"../store\" }\n",
            "[dependencies]\nlog = { package = \"factum-store\", path = \"../store\" }\n",
            "[dependencies.factum-store]\nworkspace = true\n",
            "[dependencies.log]\npackage = \"factum-store\"\n",
            "[build-dependencies]\nfactum-store.workspace = true\n",
            "[target.'cfg(unix)'.dependencies]\nfactum-store.workspace = true\n",
        ] {
            let expected = "2: engine may not use store; move what you need along the arrows in ARCHITECTURE.md";
            assert_eq!(found("engine", manifest), [expected], "{manifest}");
        }
    }

    #[test]
    fn dev_dependencies_are_free() {
        assert!(found("model", "[dev-dependencies]\nfactum-testkit.workspace = true\n").is_empty());
    }

    #[test]
    fn nothing_uses_the_binary_and_a_new_crate_needs_a_row() {
        assert_eq!(found("testkit", "[dependencies]\nfactum = { path = \"../factum\" }\n").len(), 1);
        assert!(found("surprise", "")[0].contains("has no arrows"));
    }
}
