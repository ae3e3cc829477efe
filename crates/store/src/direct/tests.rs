//! What readers get of a file that is appended to past the page cache, beside the same file on its own.

use proptest::prelude::*;

use super::*;

const FILE_BYTES: u64 = 64 * PAGE as u64;

fn zeroed(dir: &tempfile::TempDir, len: u64) -> LogFile {
    let path = dir.path().join("log");
    std::fs::write(&path, vec![0; len as usize]).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    LogFile::new(file, &path, &SpareMemory::default())
}

/// A batch as the writer writes it: up to the end of its last page.
fn batch(byte: u8, len: usize, offset: u64) -> Vec<u8> {
    let mut bytes = vec![byte; len];
    bytes.resize((ceil(offset + len as u64) - offset) as usize, 0);
    bytes
}

fn read(file: &LogFile, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0xee; len];
    file.read_at(&mut bytes, offset).unwrap();
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever was appended is read back, from the ring and from the disk, at any place, with zeros behind it.
    #[test]
    fn what_was_appended_is_read(
        batches in proptest::collection::vec((1..=255_u8, 1..9_000_usize, any::<bool>()), 1..24),
        reads in proptest::collection::vec((0..FILE_BYTES, 1..20_000_usize), 1..16),
        ring_pages in 4..20_usize,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let file = zeroed(&dir, FILE_BYTES);
        file.spare.lock().replace(Memory::new(ring_pages * PAGE));
        file.recent.write().ring_bytes = (ring_pages * PAGE) as u64;
        let (mut expected, mut at) = (vec![0; FILE_BYTES as usize], 100);
        for (byte, len, again) in batches {
            let bytes = batch(byte, len, at);
            if at + bytes.len() as u64 > FILE_BYTES {
                break;
            }
            file.append_at(&bytes, at).unwrap();
            if again {
                // As a start does with the batch it finds last.
                file.write_at(&bytes[..len], at).unwrap();
            }
            expected[at as usize..at as usize + bytes.len()].copy_from_slice(&bytes);
            at += len as u64;
            for (offset, len) in &reads {
                let end = (*offset as usize + len).min(expected.len());
                prop_assert_eq!(read(&file, *offset, end - *offset as usize), &expected[*offset as usize..end]);
            }
        }
        file.sync_data().unwrap();
        prop_assert_eq!(std::fs::read(dir.path().join("log")).unwrap(), expected);
    }
}

#[test]
fn a_file_that_is_full_keeps_its_end_readable_when_it_is_sealed() {
    let dir = tempfile::tempdir().unwrap();
    let file = zeroed(&dir, 4 * PAGE as u64);
    file.append_at(&[7; 4 * PAGE], 0).unwrap();
    file.seal();
    assert!(file.recent.read().memory.len() == 0 && file.spare.lock().is_some());
    assert_eq!(read(&file, PAGE as u64, 3 * PAGE), vec![7; 3 * PAGE]);
    assert!(file.read_at(&mut [0; 1], 4 * PAGE as u64).is_err(), "there is nothing behind the end");
}

#[test]
fn reading_beyond_the_end_of_the_file_is_an_error_from_the_ring_too() {
    let dir = tempfile::tempdir().unwrap();
    let file = zeroed(&dir, 2 * PAGE as u64);
    file.append_at(&[7; PAGE], 0).unwrap();
    assert_eq!(read(&file, 0, 2 * PAGE), batch(7, PAGE, 0).into_iter().chain([0; PAGE]).collect::<Vec<_>>());
    let error = file.read_at(&mut [0; PAGE + 1], PAGE as u64).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn where_the_page_cache_cannot_be_passed_it_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let file = zeroed(&dir, 4 * PAGE as u64);
    file.give_up();
    file.append_at(&[7; PAGE], 10).unwrap();
    assert_eq!(file.recent.read().memory.len(), 0);
    assert_eq!(read(&file, 10, PAGE), [7; PAGE]);
}
