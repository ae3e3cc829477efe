//! Where an issuer's keys come from, and when they are read again.
//!
//! A request whose key is known never waits for a refresh of keys behind an address: an old set is refreshed beside it. A
//! request with an unknown key waits for one, since keys are rotated by signing with a new one; however many such requests
//! there are, the source is asked once per interval, by one of them. A refresh that fails leaves the keys as they were,
//! until they are so old that a withdrawn key might still be among them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use factum_model::Timestamp;
use factum_outbound::Client;
use jsonwebtoken::Algorithm;
use parking_lot::RwLock;

use super::keys::{KeySet, KeysError};

/// The most bytes of a key set or a key file.
const KEYS_BYTES_MAX: u64 = 256 * 1024;
/// How often a file is looked at, at most.
const FILE_INTERVAL: Duration = Duration::from_secs(2);
/// How often an address is asked, at most.
const URL_INTERVAL: Duration = Duration::from_secs(30);
/// The same while nothing has been read from it yet.
const URL_INTERVAL_EMPTY: Duration = Duration::from_secs(3);
/// From when on keys behind an address are refreshed without a reason.
const URL_AGE_REFRESH: Duration = Duration::from_secs(300);
/// From when on they are not trusted any more.
const URL_AGE_MAX: Duration = Duration::from_secs(24 * 3600);
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Where the bytes are.
pub(super) enum Origin {
    /// Nowhere else: the keys never change.
    Fixed,
    Jwks(PathBuf),
    Pem(PathBuf),
    Url(String, Client),
}

/// An issuer's keys as they were last read.
pub(super) struct KeySource {
    origin: Origin,
    allowed: Vec<Algorithm>,
    current: RwLock<Loaded>,
    /// When somebody last tried, in milliseconds. Written only under `refreshing`.
    tried_at: AtomicI64,
    refreshing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone, Default)]
struct Loaded {
    keys: Arc<KeySet>,
    loaded_at: Option<Timestamp>,
    stamp: Option<Stamp>,
}

/// What tells one version of a file from the next.
type Stamp = (SystemTime, u64);

impl KeySource {
    pub(super) fn fixed(keys: KeySet) -> Arc<Self> {
        let source = Self::new(Origin::Fixed, Vec::new());
        source.current.write().keys = Arc::new(keys);
        Arc::new(source)
    }

    /// Reads the keys for the first time. Says what went wrong; the source works later all the same.
    pub(super) async fn open(
        origin: Origin,
        allowed: Vec<Algorithm>,
        now: Timestamp,
    ) -> (Arc<Self>, Result<(), KeysError>) {
        let source = Arc::new(Self::new(origin, allowed));
        let loaded = source.load(now).await;
        let empty = source.current.read().keys.is_empty();
        (source, loaded.and(if empty { Err(KeysError::NoneUsable) } else { Ok(()) }))
    }

    fn new(origin: Origin, allowed: Vec<Algorithm>) -> Self {
        Self {
            origin,
            allowed,
            current: RwLock::default(),
            tried_at: AtomicI64::new(i64::MIN),
            refreshing: Arc::default(),
        }
    }

    /// The keys, refreshed first where `wanted` does not find what it looks for in them. `None` where there are none.
    pub(super) async fn keys(
        self: &Arc<Self>,
        wanted: impl Fn(&KeySet) -> bool,
        now: Timestamp,
    ) -> Option<Arc<KeySet>> {
        self.keep_fresh(now).await;
        let known = self.trusted(now);
        if known.as_ref().is_some_and(|keys| wanted(keys)) || matches!(self.origin, Origin::Fixed) {
            return known;
        }
        let source = self.clone();
        in_its_own_task(async move {
            let _guard = source.refreshing.lock().await;
            if source.is_due(now, source.interval()) {
                source.refresh(now).await;
            }
        })
        .await;
        self.trusted(now)
    }

    /// Files are cheap to look at, so a withdrawn key is gone within seconds. An address is asked in the background.
    async fn keep_fresh(self: &Arc<Self>, now: Timestamp) {
        let background = matches!(self.origin, Origin::Url(..));
        let age = if background { URL_AGE_REFRESH } else { FILE_INTERVAL };
        let loaded_at = self.current.read().loaded_at;
        let old = loaded_at.is_some_and(|at| elapsed(at, now) >= age);
        if matches!(self.origin, Origin::Fixed) || !old || !self.is_due(now, self.interval()) {
            return;
        }
        let Ok(guard) = self.refreshing.clone().try_lock_owned() else { return };
        let source = self.clone();
        let refreshed = in_its_own_task(async move {
            source.refresh(now).await;
            drop(guard);
        });
        if !background {
            refreshed.await;
        }
    }

    fn trusted(&self, now: Timestamp) -> Option<Arc<KeySet>> {
        let current = self.current.read();
        let trusted = match self.origin {
            Origin::Url(..) => current.loaded_at.is_some_and(|at| elapsed(at, now) < URL_AGE_MAX),
            _ => true,
        };
        trusted.then(|| current.keys.clone())
    }

    fn interval(&self) -> Duration {
        match self.origin {
            Origin::Url(..) if self.current.read().loaded_at.is_some() => URL_INTERVAL,
            Origin::Url(..) => URL_INTERVAL_EMPTY,
            _ => FILE_INTERVAL,
        }
    }

    /// Whether the last try is long enough ago. A clock that was set back counts as time passing, too.
    fn is_due(&self, now: Timestamp, interval: Duration) -> bool {
        let tried_at = self.tried_at.load(Ordering::Acquire);
        u128::from(now.as_millisecond().abs_diff(tried_at)) >= interval.as_millis()
    }

    /// Only under `refreshing`.
    async fn refresh(&self, now: Timestamp) {
        if let Err(error) = self.load(now).await {
            tracing::warn!(%error, "an issuer's keys could not be read again; the old ones stay");
        }
    }

    async fn load(&self, now: Timestamp) -> Result<(), KeysError> {
        self.tried_at.store(now.as_millisecond(), Ordering::Release);
        let (keys, stamp) = match &self.origin {
            Origin::Fixed => return Ok(()),
            Origin::Url(url, client) => (KeySet::jwks(&fetch(client, url).await?, &self.allowed)?, None),
            Origin::Jwks(path) | Origin::Pem(path) => match self.read_changed(path).await? {
                None => return Ok(()),
                Some((keys, stamp)) => (keys, Some(stamp)),
            },
        };
        *self.current.write() = Loaded { keys: Arc::new(keys), loaded_at: Some(now), stamp };
        Ok(())
    }

    /// The keys of a file, unless it is the one that was read last.
    async fn read_changed(&self, path: &PathBuf) -> Result<Option<(KeySet, Stamp)>, KeysError> {
        let file = |source| KeysError::File { path: path.display().to_string(), source };
        let metadata = tokio::fs::metadata(path).await.map_err(file)?;
        let stamp = (metadata.modified().map_err(file)?, metadata.len());
        if metadata.len() > KEYS_BYTES_MAX {
            return Err(KeysError::TooLarge(KEYS_BYTES_MAX));
        }
        if self.current.read().stamp == Some(stamp) {
            return Ok(None);
        }
        let bytes = tokio::fs::read(path).await.map_err(file)?;
        let keys = match self.origin {
            Origin::Pem(_) => KeySet::pem(&bytes, &self.allowed)?,
            _ => KeySet::jwks(&bytes, &self.allowed)?,
        };
        Ok(Some((keys, stamp)))
    }
}

/// Begins something that goes on whoever waits for it: a stream asks for keys too, and is not polled while its client does not
/// read. The keys must not stay locked for everybody else until it does.
fn in_its_own_task(work: impl Future<Output = ()> + Send + 'static) -> impl Future<Output = ()> {
    let task = tokio::spawn(work);
    // Whatever became of it, what is known now is what counts.
    async move { drop(task.await) }
}

/// How far apart two instants are. A clock that was set back must not keep old keys alive.
fn elapsed(from: Timestamp, to: Timestamp) -> Duration {
    to.duration_since(from).unsigned_abs()
}

/// The bytes behind an address. Redirects are not followed: an open redirect at the issuer must not choose our keys.
async fn fetch(client: &Client, url: &str) -> Result<Bytes, KeysError> {
    let request = client.get(url)?.timeout(FETCH_TIMEOUT).body_bytes_max(KEYS_BYTES_MAX as usize);
    let answer = request.send().await?;
    if answer.status != http::StatusCode::OK {
        return Err(KeysError::Status(answer.status.as_u16()));
    }
    Ok(answer.body)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[test]
    fn one_who_does_not_wait_on_keeps_nobody_from_the_keys() {
        // With one thread that reads files, it can be kept from reading.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
        runtime.expect("a runtime").block_on(one_who_does_not_wait_on());
    }

    async fn one_who_does_not_wait_on() {
        let opened_at = Timestamp::UNIX_EPOCH;
        let (source, _) = KeySource::open(Origin::Jwks("nowhere".into()), Vec::new(), opened_at).await;
        let now = opened_at + FILE_INTERVAL;
        let (busy, done) = std::sync::mpsc::channel::<()>();
        drop(tokio::task::spawn_blocking(move || done.recv()));
        let mut first = pin!(source.keys(|_| false, now));
        assert!(futures::poll!(&mut first).is_pending(), "the file is read again");
        drop(busy);
        let second = source.keys(|_| false, now);
        tokio::time::timeout(Duration::from_secs(20), second).await.expect("nobody holds it up");
    }
}
