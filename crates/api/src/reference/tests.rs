//! The pages are complete, the same every time, and their links lead somewhere.

use std::collections::{BTreeMap, BTreeSet};

use factum_model::commands::*;
use factum_model::events::EVENTS;
use factum_model::id::IDENTITIES;
use factum_model::{Command, ErrorCode};

use super::markdown::{Page, anchor};
use super::shapes::Shapes;
use super::{example, identities, pages};

#[test]
fn pages_are_the_same_every_time_and_well_formed() {
    assert_eq!(pages(), pages());
    for (name, text) in pages() {
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{name}");
        assert!(!text.contains("\n\n\n"), "{name}");
        assert!(text.lines().all(|line| line == line.trim_end()), "{name} has trailing blanks");
    }
}

#[test]
fn nothing_is_missing() {
    let pages: BTreeMap<_, _> = pages().into_iter().collect();
    let heading = |page: &str, text: &str| {
        let found = pages[page]
            .lines()
            .any(|line| line.strip_prefix('#').is_some_and(|l| l.trim_start_matches('#').trim() == text));
        assert!(found, "{page} has no entry {text}");
    };
    COMMANDS.iter().for_each(|info| heading("commands.md", info.name));
    EVENTS.iter().for_each(|info| heading("events.md", info.type_name));
    ErrorCode::ALL.iter().for_each(|code| heading("errors.md", code.as_str()));
    for (name, prefix) in IDENTITIES {
        assert!(pages["identities.md"].contains(&format!("| {name} | `{prefix}_` |")), "{name}");
        assert!(!identities::meaning(name).is_empty(), "{name} has no words");
    }
    for info in COMMANDS {
        let row = format!("| {} | [`{}`]", info.family, info.name);
        assert!(pages["access.md"].contains(&row), "{row}");
    }
}

#[test]
fn tables_have_the_same_number_of_cells_in_every_row() {
    for (name, text) in pages() {
        let mut width = None;
        for line in text.lines() {
            let cells = line.starts_with('|').then(|| line.replace("\\|", "").matches('|').count());
            if let (Some(width), Some(cells)) = (width, cells) {
                assert_eq!(width, cells, "{name}: {line}");
            }
            width = cells;
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    let pages: BTreeMap<_, _> = pages().into_iter().collect();
    let anchors: BTreeMap<&str, BTreeSet<String>> = pages
        .iter()
        .map(|(name, text)| {
            let headings = text.lines().filter(|line| line.starts_with('#'));
            (*name, headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect())
        })
        .collect();
    let mut links = 0;
    for (page, text) in &pages {
        for target in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target) {
            let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { page } else { file };
            assert!(anchors.contains_key(file), "{page}: {target}");
            assert!(fragment.is_empty() || anchors[file].contains(fragment), "{page}: {target}");
            links += 1;
        }
    }
    assert!(links > 500);
}

#[test]
fn no_two_headings_of_a_page_have_the_same_address() {
    for (name, text) in pages() {
        let mut seen = BTreeSet::new();
        for line in text.lines().filter(|line| line.starts_with('#')) {
            assert!(seen.insert(anchor(line.trim_start_matches('#').trim())), "{name}: {line}");
        }
    }
}

/// The requests shown are requests.
#[test]
fn every_command_reads_its_own_example() {
    let shapes = Shapes::new();
    macro_rules! read {
        ($($command:ident,)*) => {$(
            let example = example::example(&shapes, shapes.command($command::NAME, "params"));
            if let Err(error) = serde_json::from_value::<$command>(example.clone()) {
                panic!("{}: {error} in {example}", $command::NAME);
            }
        )*};
    }
    factum_model::for_each_command!(read);
}

#[test]
fn text_stays_within_its_cell_and_headings_have_addresses() {
    let mut page = Page::new("Title", "About.");
    page.table(["a"], [["x | y\nz".to_owned()]]);
    assert!(page.finish().ends_with("\n| a |\n| --- |\n| x \\| y z |\n"));
    assert_eq!(anchor("Two words, `peer_task.linked`"), "two-words-peer_tasklinked");
}
