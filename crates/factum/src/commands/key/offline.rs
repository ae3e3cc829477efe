//! Keys on a data directory that no server runs on.
//!
//! A runtime that starts carries unfinished sessions on. That is right for a server and wrong here, so it is given a store
//! that, from the moment the start is recorded, shows no unfinished work and no timers. On a single thread nothing can
//! run between the end of the start and that moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use async_trait::async_trait;
use bytes::Bytes;
use factum_agent::Agents;
use factum_engine::access::{KeyRow, all_keys, keys_of};
use factum_engine::session::keys;
use factum_model::commands::{CreateApiKey, CreateApiKeyResult, RevokeApiKey, RevokeApiKeyResult};
use factum_model::registry::{Command, Scopes};
use factum_runtime::{Caller, Handle, Runtime, valid_account};
use factum_store::*;
use tokio::sync::watch;

use super::{Listed, Place};
use crate::cli::{App, Usual};
use crate::config::{Flags, Settings};
use crate::failure::Problem;
use crate::host::{self, Opened};

/// Who writes the facts.
const PRINCIPAL: &str = "runtime://cli";

/// A page of keys.
const PAGE: usize = 500;

pub(crate) struct Offline {
    opened: Opened,
    settings: Settings,
}

impl Offline {
    pub(crate) fn open(place: &Place, app: &App) -> Result<Self> {
        if let Some(account) = place.account.as_deref().filter(|account| !valid_account(account)) {
            let what = format!("{account:?} cannot be an account's name");
            return Err(Problem::cannot_run(what).advice("take letters, digits, _ - and .").into());
        }
        let data_dir = place.data_dir.as_ref().map(|dir| dir.display().to_string());
        let settings = app.load(&Flags::default().with("store", "data_dir", data_dir), Usual::Quiet)?.settings;
        let opened = host::open(&settings).map_err(|error| in_use(error, &settings))?;
        host::warn_if_exposed(&opened, &settings, &app.output);
        Ok(Self { opened, settings })
    }

    pub(crate) async fn create(self, account: &str, command: CreateApiKey) -> Result<CreateApiKeyResult> {
        self.call(account, command).await
    }

    pub(crate) async fn revoke(self, account: &str, command: RevokeApiKey) -> Result<RevokeApiKeyResult> {
        self.call(account, command).await
    }

    /// The keys of one account, or of all. Reads the rows; nothing is written for that.
    pub(super) async fn list(self, account: Option<&str>) -> Result<Vec<Listed>> {
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let prefix = account.map_or_else(all_keys, keys_of).into();
            let scan = Scan { prefix, after, until: None, direction: Direction::Forward, limit: PAGE };
            let page = self.opened.store.scan(scan).await.context("the keys cannot be listed")?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (_, row) in &page {
                rows.push(listed(serde_json::from_slice(row).context("a row of the index is not a key")?));
            }
        }
        self.opened.store.close().await;
        Ok(rows)
    }

    async fn call<C: Command>(self, account: &str, command: C) -> Result<C::Output>
    where
        Runtime: Handle<C>,
    {
        let quiet = Arc::new(Quiet { store: self.opened.store.clone(), started: AtomicBool::new(false) });
        let options = host::options(&self.settings, Agents::demo(), self.opened.secret.secret.clone());
        let store: Arc<dyn Store> = quiet.clone();
        let runtime = Runtime::start(store, self.opened.blobs, options).await.context("the runtime cannot start")?;
        quiet.started.store(true, Ordering::Release);
        let result = runtime.call(&Caller::new(PRINCIPAL, account, Scopes::admin()), command).await;
        host::close(&runtime).await;
        Ok(result.map_err(|refusal| Problem::refusal(C::NAME, &refusal))?)
    }
}

/// A server that holds the directory can do it too.
fn in_use(error: anyhow::Error, settings: &Settings) -> anyhow::Error {
    let locked = |cause: &OpenError| matches!(cause, OpenError::Locked { .. });
    if !error.chain().any(|cause| cause.downcast_ref().is_some_and(locked)) {
        return error;
    }
    Problem::cannot_run(format!("{} is in use by a server", settings.store.data_dir.display()))
        .because("only one process may write to a store")
        .advice("ask that server: give --url with its address and --token with a key that has the scope admin")
        .into()
}

fn listed(row: KeyRow) -> Listed {
    Listed { account: Some(row.account.clone()), key: row.info() }
}

/// A store in which nothing waits to be carried on.
struct Quiet {
    store: Arc<EmbeddedStore>,
    started: AtomicBool,
}

#[async_trait]
impl Store for Quiet {
    fn append(&self, commit: Commit, done: Done) {
        self.store.append(commit, done);
    }

    async fn head(&self, stream: &str) -> Result<Option<Head>, ReadError> {
        self.store.head(stream).await
    }

    async fn read(&self, stream: &str, from: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError> {
        self.store.read(stream, from, limit).await
    }

    async fn read_back(&self, stream: &str, before: Sequence, limit: ReadLimit) -> Result<Vec<Record>, ReadError> {
        self.store.read_back(stream, before, limit).await
    }

    async fn feed(&self, after: Position, limit: ReadLimit) -> Result<Vec<StoredCommit>, ReadError> {
        self.store.feed(after, limit).await
    }

    fn durable(&self) -> watch::Receiver<Position> {
        self.store.durable()
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.store.get(key).await
    }

    async fn scan(&self, scan: Scan) -> Result<Vec<(Bytes, Bytes)>, ReadError> {
        let work = [keys::all_unfinished(), keys::timers()];
        if self.started.load(Ordering::Acquire) && work.iter().any(|prefix| scan.prefix.starts_with(prefix)) {
            return Ok(Vec::new());
        }
        self.store.scan(scan).await
    }

    fn put_snapshot(&self, stream: Arc<str>, snapshot: Snapshot) {
        self.store.put_snapshot(stream, snapshot);
    }

    async fn snapshot(&self, stream: &str) -> Result<Option<Snapshot>, ReadError> {
        self.store.snapshot(stream).await
    }

    fn poisoned(&self) -> Option<Arc<str>> {
        self.store.poisoned()
    }

    async fn close(&self) {
        self.store.close().await;
    }
}
