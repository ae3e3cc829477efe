//! The reference page of the settings, made from their declarations.

use std::fmt::Write;

use super::settings::Settings;
use super::{issuers, peers};

/// `config.md`.
pub(crate) fn page() -> String {
    let mut page = String::from(INTRODUCTION);
    for section in Settings::sections() {
        let _ = write!(page, "\n## [{}]\n\n{}\n\n{HEAD}", section.name, section.meaning);
        for setting in &section.settings {
            let _ = writeln!(
                page,
                "| `{}` | {} | `{}` | `{}` | {} |",
                setting.name, setting.kind, setting.default, setting.env, setting.meaning
            );
        }
    }
    for (introduction, fields) in [(ISSUERS, issuers::FIELDS), (PEERS, peers::FIELDS)] {
        page.push_str(introduction);
        for (name, default, meaning) in fields {
            let default = if default.contains('"') { format!("`{default}`") } else { (*default).to_owned() };
            let _ = writeln!(page, "| `{name}` | {default} | {meaning} |");
        }
    }
    page
}

const INTRODUCTION: &str = "\
# Configuration

Written by `factum reference`; do not edit.

A setting is taken from the first of these that has it: a flag, its `FACTUM_*` variable, the file `factum.toml` (or
`--config FILE`, `FACTUM_CONFIG`), the default. A name in the file that does not exist is an error; a
`FACTUM_*` variable that is none of these is warned about and ignored. Relative paths in the file start at the file's own
directory. Names end with their unit: `_ms` milliseconds, `_bytes` bytes, `_max` the most there may be.
";

const HEAD: &str = "| setting | type | default | variable | meaning |\n|---|---|---|---|---|\n";

const ISSUERS: &str = "
### [[auth.issuers]]

| key | default | meaning |
|---|---|---|
";

const PEERS: &str = "
## [peers.NAME]

Agents elsewhere that tasks may be given to, by `peer` of `create_task`, by `peer:NAME` as assignee or worker, and by the
`delegate` step of a script. Only in the file.

| key | default | meaning |
|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_row_for_each_setting() {
        let page = page();
        let row = "| `listen` | an address such as 127.0.0.1:7420 | `\"127.0.0.1:7420\"` | `FACTUM_LISTEN` | Where to listen. Port 0 picks a free one. |\n";
        assert!(page.contains(row), "{page}");
        for setting in Settings::sections().into_iter().flat_map(|section| section.settings) {
            assert!(page.contains(&format!("| `{}` | {} |", setting.name, setting.kind)), "{}", setting.name);
            assert!(setting.meaning.ends_with('.') || setting.meaning.ends_with(')'), "{}", setting.name);
        }
    }
}
