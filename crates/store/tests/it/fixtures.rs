//! Stores as released versions wrote them, sound and damaged: each must open, or be refused, the same way for ever.
//!
//! `UPDATE_FIXTURES=1 cargo test -p factum-store fixtures` writes those of the current format. Once a format is
//! released its folder never changes again; a new format gets a new folder beside it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use factum_store::conformance::{commit, delete, dump, put};
use factum_store::{Commit, EmbeddedStore, Options, Store};

use crate::support::{append, append_together, block_on, scratch};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn options() -> Options {
    Options { segment_bytes_max: 8192, ..Options::tiny() }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Everything a start says about a directory and everything the store in it answers, as text.
fn describe(dir: &Path) -> String {
    let (store, report) = match EmbeddedStore::open(dir, options()) {
        Err(error) => return format!("refused: {error}\n"),
        Ok(opened) => opened,
    };
    let mut text = format!("position {}, segments {}, torn: {:?}\n", report.position, report.segments, report.torn);
    let all = factum_store::ReadLimit { records: usize::MAX, bytes: usize::MAX };
    for commit in block_on(store.feed(0, all)).unwrap() {
        writeln!(text, "{commit:?}").unwrap();
    }
    writeln!(text, "{:#?}", block_on(dump(&store)).index).unwrap();
    text
}

#[test]
fn every_released_format_opens_as_it_always_did() {
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        write_fixtures(&fixtures().join("v1"));
    }
    let mut count = 0;
    for version in std::fs::read_dir(fixtures()).unwrap().map(Result::unwrap) {
        for fixture in std::fs::read_dir(version.path()).unwrap().map(Result::unwrap) {
            let dir = scratch();
            copy(&fixture.path(), dir.path());
            let expected = fixture.path().join("expected.txt");
            let found = describe(dir.path());
            if std::env::var_os("UPDATE_FIXTURES").is_some() {
                std::fs::write(&expected, &found).unwrap();
            }
            assert_eq!(found, std::fs::read_to_string(&expected).unwrap(), "{}", fixture.path().display());
            count += 1;
        }
    }
    assert!(count >= 7, "only {count} fixtures");
}

fn write_fixtures(root: &Path) {
    drop(std::fs::remove_dir_all(root));
    let sound = root.join("sound");
    write_sound(&sound);
    let (first, last) = ("log/00000000000000000000.seg", "log/00000000000000004096.seg");
    let damaged = |name: &str, file: &str, damage: &dyn Fn(&mut Vec<u8>)| {
        copy(&sound, &root.join(name));
        let path = root.join(name).join(file);
        let mut bytes = std::fs::read(&path).unwrap();
        damage(&mut bytes);
        std::fs::write(path, bytes).unwrap();
    };
    let written = std::fs::read(sound.join(last)).unwrap().iter().rposition(|byte| *byte != 0).unwrap();
    damaged("flipped-in-the-middle", first, &|bytes| bytes[300] ^= 1);
    damaged("flipped-in-the-last-commit", last, &|bytes| bytes[written] ^= 1);
    damaged("flipped-behind-the-end", last, &|bytes| bytes[written + 2000] ^= 1);
    damaged("torn", last, &|bytes| bytes[written / 512 * 512..].fill(0));
    damaged("cut", last, &|bytes| bytes.truncate(written));
    damaged("another-format", "FORMAT", &|bytes| *bytes = b"factum-store 999\n".to_vec());
    copy(&sound, &root.join("missing-segment"));
    std::fs::remove_file(root.join("missing-segment").join(first)).unwrap();
}

fn write_sound(dir: &Path) {
    let (store, _) = EmbeddedStore::open(dir, options()).unwrap();
    let long = "long ".repeat(400);
    append(&store, Commit { index: vec![put("a", "1"), put("b", "2")], ..commit("one", 0, &["first", ""]) }).unwrap();
    let together = vec![
        Commit { index: vec![delete("a"), put("c", "")], ..commit("two", 0, &["{\"n\":1}"]) },
        commit("one", 2, &[&long]),
        commit("two", 1, &["ünï", "✓"]),
    ];
    assert!(append_together(&store, together).iter().all(Result::is_ok));
    append(&store, commit("one", 3, &[&long])).unwrap();
    append(&store, Commit { index: vec![put("b", "3")], ..commit("three", 0, &[&long]) }).unwrap();
    block_on(store.close());
    drop(store);
    std::fs::remove_dir_all(dir.join("index")).unwrap();
    std::fs::remove_file(dir.join("LOCK")).unwrap();
}
