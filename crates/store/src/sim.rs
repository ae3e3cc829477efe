//! A disk in memory that loses power, lies, fills up and rots on demand, the same way for the same seed.
//!
//! It owns the model of what a crash may do to files; tests own what must survive it. It is as unkind as real disks are:
//!
//! - every 512-byte sector written since the last sync keeps, for itself, any of the contents it had since then;
//! - names created, changed or removed since the last directory sync are kept up to some point and lost behind it;
//! - a failed sync leaves part of the data on disk, and the rest looks clean and is never written again;
//! - a full disk takes part of a write before it says so.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::disk::{Disk, DiskFile};

const SECTOR: usize = 512;

/// See the module's essay. Clones share one disk.
#[derive(Clone, Default)]
pub struct SimDisk {
    world: Arc<Mutex<World>>,
}

#[derive(Clone, Default)]
struct World {
    files: Vec<SimFile>,
    /// What a running process sees.
    names: BTreeMap<String, usize>,
    /// What a crash is sure to keep.
    durable_names: BTreeMap<String, usize>,
    name_changes: Vec<NameChange>,
    random: u64,
    calls: u64,
    syncs: u64,
    crash_at: Option<u64>,
    fail_sync_at: Option<u64>,
    space_bytes: Option<u64>,
    crashed: bool,
}

#[derive(Clone, Default)]
struct SimFile {
    current: Vec<u8>,
    durable: Vec<u8>,
    /// What each sector held after each write since the last sync.
    unsynced: BTreeMap<usize, Vec<Vec<u8>>>,
}

#[derive(Clone)]
enum NameChange {
    Set(String, usize),
    Rename(String, String),
    Remove(String),
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Set(name, file) => drop(names.insert(name.clone(), *file)),
            Self::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            Self::Remove(name) => drop(names.remove(name)),
        }
    }

    fn dir(&self) -> &str {
        let (Self::Set(name, _) | Self::Rename(name, _) | Self::Remove(name)) = self;
        name.rsplit_once('/').map_or("", |(dir, _)| dir)
    }
}

impl SimDisk {
    pub fn new(seed: u64) -> Self {
        let disk = Self::default();
        disk.world.lock().random = seed;
        disk
    }

    /// A disk of its own with the same contents, so that many fates can be tried from one moment.
    pub fn fork(&self, seed: u64) -> Self {
        let mut world = self.world.lock().clone();
        world.random = seed;
        Self { world: Arc::new(Mutex::new(world)) }
    }

    /// The machine stops during the n-th changing call from now, counted from 1; every call after it fails.
    pub fn crash_at_call(&self, n: u64) {
        let mut world = self.world.lock();
        world.crash_at = Some(world.calls + n);
    }

    /// The n-th file sync from now fails, counted from 1.
    pub fn fail_sync(&self, n: u64) {
        let mut world = self.world.lock();
        world.fail_sync_at = Some(world.syncs + n);
    }

    /// How much all files together may hold.
    pub fn set_space(&self, bytes: Option<u64>) {
        self.world.lock().space_bytes = bytes;
    }

    pub fn used(&self) -> u64 {
        self.world.lock().used()
    }

    /// Changing calls so far.
    pub fn calls(&self) -> u64 {
        self.world.lock().calls
    }

    /// File syncs so far.
    pub fn syncs(&self) -> u64 {
        self.world.lock().syncs
    }

    pub fn crashed(&self) -> bool {
        self.world.lock().crashed
    }

    /// The process is gone, the machine is not: everything written is still there, synced or not.
    pub fn restart_process(&self) {
        self.world.lock().rearm();
    }

    /// The power went and came back: what was not synced has met its fate.
    pub fn restart_machine(&self) {
        self.world.lock().lose_power();
    }

    pub fn names(&self) -> Vec<String> {
        self.world.lock().names.keys().cloned().collect()
    }

    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let world = self.world.lock();
        Some(world.files[*world.names.get(name)?].current.clone())
    }

    /// Replaces a file's contents behind everyone's back, durably.
    pub fn set_contents(&self, name: &str, bytes: Vec<u8>) {
        let mut world = self.world.lock();
        let file = SimFile { durable: bytes.clone(), current: bytes, unsynced: BTreeMap::new() };
        match world.names.get(name).copied() {
            Some(at) => world.files[at] = file,
            None => {
                world.files.push(file);
                let at = world.files.len() - 1;
                world.names.insert(name.into(), at);
                world.durable_names.insert(name.into(), at);
            }
        }
    }

    /// Removes a file behind everyone's back, durably.
    pub fn delete(&self, name: &str) {
        let mut world = self.world.lock();
        world.names.remove(name);
        world.durable_names.remove(name);
    }

    /// Flips one bit, durably.
    pub fn flip(&self, name: &str, bit: usize) {
        if let Some(mut bytes) = self.contents(name) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            self.set_contents(name, bytes);
        }
    }
}

impl World {
    /// A small generator of its own, so that a fate depends on the seed and on nothing else.
    fn random_below(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }

    fn used(&self) -> u64 {
        self.names.values().map(|file| self.files[*file].current.len() as u64).sum()
    }

    fn rearm(&mut self) {
        self.crashed = false;
        self.crash_at = None;
        self.fail_sync_at = None;
    }

    fn lose_power(&mut self) {
        let kept = self.random_below(self.name_changes.len() + 1);
        let mut names = std::mem::take(&mut self.durable_names);
        for change in self.name_changes.drain(..).take(kept) {
            change.apply(&mut names);
        }
        self.names = names.clone();
        self.durable_names = names;
        for at in 0..self.files.len() {
            self.settle(at);
        }
        self.rearm();
    }

    /// Decides, sector by sector, what of a file's unsynced writes is on disk.
    fn settle(&mut self, at: usize) {
        let grown = self.files[at].current.len();
        if self.files[at].durable.len() < grown && self.random_below(2) == 1 {
            self.files[at].durable.resize(grown, 0);
        }
        let unsynced = std::mem::take(&mut self.files[at].unsynced);
        for (sector, mut versions) in unsynced {
            let choice = self.random_below(versions.len() + 1);
            let file = &mut self.files[at];
            let from = sector * SECTOR;
            if choice == 0 || from >= file.durable.len() {
                continue;
            }
            let version = versions.swap_remove(choice - 1);
            let to = (from + version.len()).min(file.durable.len());
            file.durable[from..to].copy_from_slice(&version[..to - from]);
        }
        self.files[at].current = self.files[at].durable.clone();
    }

    /// Counts a changing call. `Err` once the machine is down; the call at which it goes down still takes effect, unsynced.
    fn call(&mut self) -> io::Result<Fate> {
        if self.crashed {
            return Err(down());
        }
        self.calls += 1;
        if self.crash_at == Some(self.calls) {
            self.crashed = true;
            return Ok(Fate::LastCall);
        }
        Ok(Fate::Normal)
    }

    fn up(&self) -> io::Result<()> {
        if self.crashed { Err(down()) } else { Ok(()) }
    }

    fn change_name(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.name_changes.push(change);
    }

    fn write(&mut self, at: usize, bytes: &[u8], offset: usize) -> io::Result<()> {
        let end = offset + bytes.len();
        let growth = end.saturating_sub(self.files[at].current.len()) as u64;
        let room = self.space_bytes.map_or(u64::MAX, |space| space.saturating_sub(self.used()));
        let fitting =
            if growth > room { bytes.len() - (growth - room).min(bytes.len() as u64) as usize } else { bytes.len() };
        let file = &mut self.files[at];
        let taken = &bytes[..fitting];
        if file.current.len() < offset + taken.len() {
            file.current.resize(offset + taken.len(), 0);
        }
        file.current[offset..offset + taken.len()].copy_from_slice(taken);
        for sector in offset / SECTOR..(offset + taken.len()).div_ceil(SECTOR) {
            let to = file.current.len().min((sector + 1) * SECTOR);
            file.unsynced.entry(sector).or_default().push(file.current[sector * SECTOR..to].to_vec());
        }
        if fitting < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync(&mut self, at: usize) -> io::Result<()> {
        self.syncs += 1;
        if self.fail_sync_at == Some(self.syncs) {
            let current = self.files[at].current.clone();
            self.settle(at);
            self.files[at].current = current;
            return Err(io::Error::other("the disk reported a failed sync"));
        }
        let file = &mut self.files[at];
        file.unsynced.clear();
        file.durable = file.current.clone();
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Normal,
    LastCall,
}

impl Fate {
    /// What the caller learns: nothing good, where the machine stopped before the call could return.
    fn answer(self) -> io::Result<()> {
        if self == Self::LastCall { Err(down()) } else { Ok(()) }
    }
}

fn down() -> io::Error {
    io::Error::other("the simulated machine is down")
}

impl Disk for SimDisk {
    fn make_dir(&self, _dir: &str) -> io::Result<()> {
        self.world.lock().up()
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let world = self.world.lock();
        world.up()?;
        let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        let inside = world.names.keys().filter_map(|name| name.strip_prefix(&prefix));
        Ok(inside.filter(|rest| !rest.contains('/')).map(str::to_owned).collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut world = self.world.lock();
        let fate = world.call()?;
        world.files.push(SimFile::default());
        let at = world.files.len() - 1;
        world.change_name(NameChange::Set(name.into(), at));
        fate.answer()?;
        Ok(Box::new(OpenFile { disk: self.clone(), at }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let world = self.world.lock();
        world.up()?;
        let at = *world.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(OpenFile { disk: self.clone(), at }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut world = self.world.lock();
        let fate = world.call()?;
        if !world.names.contains_key(from) {
            return Err(io::ErrorKind::NotFound.into());
        }
        world.change_name(NameChange::Rename(from.into(), to.into()));
        fate.answer()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut world = self.world.lock();
        let fate = world.call()?;
        if !world.names.contains_key(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        world.change_name(NameChange::Remove(name.into()));
        fate.answer()
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        let mut world = self.world.lock();
        world.call()?.answer()?;
        let changes = std::mem::take(&mut world.name_changes).into_iter();
        let (settled, open): (Vec<_>, Vec<_>) = changes.partition(|change| change.dir() == dir);
        world.name_changes = open;
        for change in settled {
            change.apply(&mut world.durable_names);
        }
        Ok(())
    }
}

struct OpenFile {
    disk: SimDisk,
    at: usize,
}

impl DiskFile for OpenFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut world = self.disk.world.lock();
        let fate = world.call()?;
        world.write(self.at, bytes, offset as usize)?;
        fate.answer()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let world = self.disk.world.lock();
        world.up()?;
        let (offset, len) = (offset as usize, bytes.len());
        let found = world.files[self.at].current.get(offset..offset + len).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut world = self.disk.world.lock();
        world.call()?.answer()?;
        world.sync(self.at)
    }

    fn len(&self) -> io::Result<u64> {
        let world = self.disk.world.lock();
        world.up()?;
        Ok(world.files[self.at].current.len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut world = self.disk.world.lock();
        let fate = world.call()?;
        world.files[self.at].current.resize(len as usize, 0);
        fate.answer()
    }
}
