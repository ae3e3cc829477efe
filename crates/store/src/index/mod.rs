//! The derived index on disk: LMDB, written only by checkpoints, in one transaction each.
//!
//! It owns the five tables below and the position they reflect. It is never the truth: it can be deleted at any time and
//! is then made again from the log. So everything in it must follow from the log, except snapshots, which are disposable.
//!
//! ```text
//!   meta        "reflects"                         what this index accounts for, and the next stream number
//!   directory   stream name                     -> stream number, head
//!   locations   stream number, first sequence   -> of each commit: position, frame length, number of records
//!   index       the caller's key                -> the caller's value
//!   snapshots   stream name                     -> sequence, bytes
//! ```
//!
//! Streams get a small number so that the key of a location is 16 bytes, big endian: ordered. A row of locations is of
//! commits that follow each other, as many of them as one checkpoint has, up to a bound: a stream that many commits went
//! to has one row for all of them. In version 1 a row was of one commit, which can still be read.

mod codec;
mod env;
mod rows;

use std::ops::RangeInclusive;
use std::path::Path;

use bytes::Bytes;
use heed::types::Bytes as Raw;
use heed::{CommitOrAbort, Database, Env, EnvFlags, RoTxn, RwTxn, WithoutTls};

use self::codec::{ROW_LOCATIONS_MAX, decode_head, decode_locations, encode_head, encode_locations, location_key};
use self::env::{is_key, open_env, refuse_cut_file};
use self::rows::Rows;
use crate::contract::{Direction, Head, Sequence, Snapshot};
use crate::disk;
use crate::overlay::{Layer, Location, Reflects, StreamTail};
use crate::scan::{Entry, KeyRange};
use crate::segment::{u32_at, u64_at};

type Table = Database<'static, Raw, Raw>;
type ReadTxn<'a> = RoTxn<'a, WithoutTls>;

/// The layout above. A number that is not among those that can be read means: delete and build again.
const INDEX_VERSION: u32 = 2;
const READABLE_VERSIONS: RangeInclusive<u32> = 1..=INDEX_VERSION;
const REFLECTS_KEY: &[u8] = b"reflects";
const REFLECTS_LEN: usize = 36;

/// Why the index cannot be used. The remedy is always the same: build it again from the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IndexError {
    #[error("{0}")]
    Lmdb(#[from] heed::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Malformed(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamEntry {
    pub(crate) number: u64,
    pub(crate) head: Head,
}

pub(crate) struct Index {
    env: Env<WithoutTls>,
    meta: Table,
    directory: Table,
    locations: Table,
    index: Table,
    snapshots: Table,
}

impl Index {
    /// Opens the index, or makes an empty one where there is none.
    pub(crate) fn open(path: &Path, map_bytes: usize) -> Result<Self, IndexError> {
        Self::open_with(path, map_bytes, EnvFlags::empty())
    }

    /// An index that is thrown away before anything could crash over it: nothing is synced.
    pub(crate) fn open_scratch(path: &Path, map_bytes: usize) -> Result<Self, IndexError> {
        Self::open_with(path, map_bytes, EnvFlags::NO_SYNC)
    }

    fn open_with(path: &Path, map_bytes: usize, flags: EnvFlags) -> Result<Self, IndexError> {
        disk::make_folder(path)?;
        let env = open_env(path, map_bytes, flags)?;
        refuse_cut_file(&env, path)?;
        let txn = env.write_txn()?;
        let tables = env.create_databases_and_commit(txn, |opener, txn| {
            let mut table = |name| opener.create_database::<Raw, Raw>(txn, Some(name));
            let tables =
                (table("meta")?, table("directory")?, table("locations")?, table("index")?, table("snapshots")?);
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(tables))
        })?;
        let (meta, directory, locations, index, snapshots) =
            tables.commit().ok_or(IndexError::Malformed("the tables were not created"))?;
        Ok(Self { env, meta, directory, locations, index, snapshots })
    }

    /// Opens an existing index without the right to change it. Nobody may be writing it.
    pub(crate) fn open_read_only(path: &Path, map_bytes: usize) -> Result<Self, IndexError> {
        let env = open_env(path, map_bytes, EnvFlags::READ_ONLY | EnvFlags::NO_LOCK)?;
        refuse_cut_file(&env, path)?;
        let txn = env.read_txn()?;
        let tables = env.open_databases_and_commit(txn, |opener, txn| {
            let table = |name| {
                let options = opener.database_options().types::<Raw, Raw>().name(name).open(txn)?;
                options.ok_or(IndexError::Malformed("a table is missing"))
            };
            let tables =
                (table("meta")?, table("directory")?, table("locations")?, table("index")?, table("snapshots")?);
            Ok::<_, IndexError>(CommitOrAbort::<_, ()>::Commit(tables))
        })?;
        let (meta, directory, locations, index, snapshots) =
            tables.commit().ok_or(IndexError::Malformed("the tables were not opened"))?;
        Ok(Self { env, meta, directory, locations, index, snapshots })
    }

    pub(crate) fn read(&self) -> Result<ReadTxn<'_>, IndexError> {
        Ok(self.env.read_txn()?)
    }

    /// Waits until no read holds the environment any more, so that it can be opened again.
    pub(crate) fn into_closing(self) -> heed::EnvClosingEvent {
        self.env.prepare_for_closing()
    }

    /// What this index accounts for; the default where it is empty.
    pub(crate) fn reflects(&self, txn: &ReadTxn<'_>) -> Result<Reflects, IndexError> {
        Ok(self.state(txn)?.0)
    }

    fn state(&self, txn: &RoTxn<'_>) -> Result<(Reflects, u64), IndexError> {
        let Some(bytes) = self.meta.get(txn, REFLECTS_KEY)? else { return Ok((Reflects::default(), 1)) };
        if bytes.len() != REFLECTS_LEN || crc32c::crc32c(&bytes[..32]) != u32_at(bytes, 32) {
            return Err(IndexError::Malformed("what it reflects is not readable"));
        }
        if !READABLE_VERSIONS.contains(&u32_at(bytes, 0)) {
            return Err(IndexError::Malformed("it was written by another version"));
        }
        let reflects = Reflects { position: u64_at(bytes, 8), end: u64_at(bytes, 16), crc: u32_at(bytes, 4) };
        Ok((reflects, u64_at(bytes, 24)))
    }

    fn put_state(&self, txn: &mut RwTxn<'_>, reflects: Reflects, next_number: u64) -> Result<(), IndexError> {
        let mut bytes = [0; REFLECTS_LEN];
        bytes[0..4].copy_from_slice(&INDEX_VERSION.to_le_bytes());
        bytes[4..8].copy_from_slice(&reflects.crc.to_le_bytes());
        bytes[8..16].copy_from_slice(&reflects.position.to_le_bytes());
        bytes[16..24].copy_from_slice(&reflects.end.to_le_bytes());
        bytes[24..32].copy_from_slice(&next_number.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..32]);
        bytes[32..].copy_from_slice(&crc.to_le_bytes());
        Ok(self.meta.put(txn, REFLECTS_KEY, &bytes)?)
    }

    pub(crate) fn stream(&self, txn: &RoTxn<'_>, name: &str) -> Result<Option<StreamEntry>, IndexError> {
        if !is_key(name.as_bytes()) {
            return Ok(None);
        }
        self.directory.get(txn, name.as_bytes())?.map(decode_head).transpose()
    }

    pub(crate) fn get(&self, txn: &ReadTxn<'_>, key: &[u8]) -> Result<Option<Bytes>, IndexError> {
        if !is_key(key) {
            return Ok(None);
        }
        Ok(self.index.get(txn, key)?.map(Bytes::copy_from_slice))
    }

    pub(crate) fn snapshot(&self, txn: &ReadTxn<'_>, name: &str) -> Result<Option<Snapshot>, IndexError> {
        if !is_key(name.as_bytes()) {
            return Ok(None);
        }
        let Some(bytes) = self.snapshots.get(txn, name.as_bytes())? else { return Ok(None) };
        if bytes.len() < 8 {
            return Err(IndexError::Malformed("a snapshot is too short"));
        }
        Ok(Some(Snapshot { sequence: u64_at(bytes, 0), bytes: Bytes::copy_from_slice(&bytes[8..]) }))
    }

    /// Entries of the caller's index in scan order.
    pub(crate) fn range<'t>(
        &self,
        txn: &'t ReadTxn<'_>,
        range: &KeyRange,
        direction: Direction,
    ) -> Result<Box<dyn Iterator<Item = Result<Entry, IndexError>> + 't>, IndexError> {
        fn owned(entry: heed::Result<(&[u8], &[u8])>) -> Result<Entry, IndexError> {
            let (key, value) = entry?;
            Ok((Bytes::copy_from_slice(key), Some(Bytes::copy_from_slice(value))))
        }
        let bounds = range.as_slices();
        Ok(match direction {
            Direction::Forward => Box::new(self.index.range(txn, &bounds)?.map(owned)),
            Direction::Backward => Box::new(self.index.rev_range(txn, &bounds)?.map(owned)),
        })
    }

    /// Locations from the commit that holds `from` on, up to `max`.
    pub(crate) fn locations(
        &self,
        txn: &ReadTxn<'_>,
        number: u64,
        from: Sequence,
        max: usize,
    ) -> Result<Vec<Location>, IndexError> {
        let key = location_key(number, from);
        let holder = self.locations.get_lower_than_or_equal_to(txn, &key)?;
        // The commit that holds `from` begins at or before it; where that is another stream's, nothing does.
        let start = holder.filter(|(key, _)| key[..8] == number.to_be_bytes()).map_or(key, |(found, _)| {
            let mut start = key;
            start.copy_from_slice(found);
            start
        });
        let end = location_key(number, Sequence::MAX);
        let range = (std::ops::Bound::Included(&start[..]), std::ops::Bound::Included(&end[..]));
        let mut found = Vec::new();
        for row in self.locations.range(txn, &range)? {
            found.extend(decode_locations(row?)?.filter(|location| location.last() >= from).take(max - found.len()));
            if found.len() == max {
                break;
            }
        }
        Ok(found)
    }

    /// Locations of commits that begin before `before`, newest first, up to `max`.
    pub(crate) fn locations_back(
        &self,
        txn: &ReadTxn<'_>,
        number: u64,
        before: Sequence,
        max: usize,
    ) -> Result<Vec<Location>, IndexError> {
        let (start, end) = (location_key(number, 0), location_key(number, before));
        let range = (std::ops::Bound::Included(&start[..]), std::ops::Bound::Excluded(&end[..]));
        let mut found = Vec::new();
        for row in self.locations.rev_range(txn, &range)? {
            let behind = decode_locations(row?)?.rev().filter(|location| location.first < before);
            found.extend(behind.take(max - found.len()));
            if found.len() == max {
                break;
            }
        }
        Ok(found)
    }

    /// Every stream in name order, for comparing two indexes.
    pub(crate) fn streams<'t>(
        &self,
        txn: &'t ReadTxn<'_>,
    ) -> Result<impl Iterator<Item = Result<(&'t [u8], StreamEntry), IndexError>> + use<'t>, IndexError> {
        let decode = |entry: heed::Result<(&'t [u8], &'t [u8])>| {
            let (name, head) = entry?;
            Ok((name, decode_head(head)?))
        };
        Ok(self.directory.iter(txn)?.map(decode))
    }

    /// Writes a whole layer down. Afterwards the layer may be dropped: all of it is here, durably, or an error is returned
    /// and nothing of it is.
    pub(crate) fn write(&self, layer: &Layer) -> Result<(), IndexError> {
        let mut txn = self.env.write_txn()?;
        let (before, mut next_number) = self.state(&txn)?;
        let streams = self.numbered(&txn, layer, &mut next_number)?;
        self.write_streams(&mut txn, streams)?;
        self.write_entries(&mut txn, layer)?;
        for (name, snapshot) in &layer.snapshots {
            let bytes = [&snapshot.sequence.to_le_bytes()[..], &snapshot.bytes].concat();
            self.snapshots.put(&mut txn, name.as_bytes(), &bytes)?;
        }
        let reflects = if layer.commits > 0 { layer.reflects } else { before };
        self.put_state(&mut txn, reflects, next_number)?;
        Ok(txn.commit()?)
    }

    /// The layer's streams in the order of their names, each with its number: the one it has, or the next.
    fn numbered<'l>(
        &self,
        txn: &RoTxn<'_>,
        layer: &'l Layer,
        next_number: &mut u64,
    ) -> Result<Vec<Numbered<'l>>, IndexError> {
        let mut streams: Vec<_> = layer.streams.iter().collect();
        // LMDB likes keys in order: neighbours share pages, and a page is copied once however many entries it gets.
        streams.sort_unstable_by(|a, b| a.0.cmp(b.0));
        let mut numbered = Vec::with_capacity(streams.len());
        for (name, tail) in streams {
            let Some(head) = tail.head else { continue };
            // One that begins in this layer is not here yet: no need to look.
            let known = if tail.is_whole() { None } else { self.stream(txn, name)?.map(|entry| entry.number) };
            let number = known.unwrap_or(*next_number);
            *next_number = (*next_number).max(number + 1);
            numbered.push(Numbered { name, entry: StreamEntry { number, head }, tail });
        }
        Ok(numbered)
    }

    fn write_streams(&self, txn: &mut RwTxn<'_>, mut streams: Vec<Numbered<'_>>) -> Result<(), IndexError> {
        let mut rows = Rows::of(&self.directory, txn)?;
        for Numbered { name, entry, .. } in &streams {
            rows.put(name.as_bytes(), &encode_head(*entry))?;
        }
        drop(rows);
        streams.sort_unstable_by_key(|stream| stream.entry.number);
        let mut rows = Rows::of(&self.locations, txn)?;
        for Numbered { entry, tail, .. } in streams {
            for commits in tail.commits.chunks(ROW_LOCATIONS_MAX) {
                rows.put(&location_key(entry.number, commits[0].first), &encode_locations(commits))?;
            }
        }
        Ok(())
    }

    /// The caller's keys. What goes away does so first, so that one cursor can put all the rest.
    fn write_entries(&self, txn: &mut RwTxn<'_>, layer: &Layer) -> Result<(), IndexError> {
        for (key, _) in layer.index.iter().filter(|(_, value)| value.is_none()) {
            self.index.delete(txn, key)?;
        }
        let mut rows = Rows::of(&self.index, txn)?;
        for (key, value) in layer.index.iter() {
            if let Some(value) = value {
                rows.put(key, value)?;
            }
        }
        Ok(())
    }
}

/// A stream of a layer as it is written down.
struct Numbered<'l> {
    name: &'l str,
    entry: StreamEntry,
    tail: &'l StreamTail,
}

#[cfg(test)]
mod tests;
