//! Repeating a command safely: the same key gives the same answer, the same key with other content is a conflict.
//!
//! What was answered is in the index, derived from a fact in the command's own commit. Between looking there and being
//! durable, a lock per key keeps a second caller with the same key waiting, so that two at once cannot both write. The lock
//! goes with the commit: a caller that goes away while the disk is at work takes nothing back, and so frees no key.

use std::sync::Arc;

use factum_engine::session::{IdempotencyRow, keys};
use factum_engine::{access, messaging, params_digest};
use factum_model::commands::{CreateJob, CreateSchedule, SpawnSubagent, SubmitTurn};
use factum_model::id::MessagingChannelId;
use factum_model::{Command, Event, Refusal, Scope};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::caller::Caller;
use crate::commit::Accept;
use crate::error::read_refusal;
use crate::runtime::Runtime;

/// A caller-given id works like a key of its own. Keys of callers must not look like one.
const OWN_ID_PREFIX: char = '@';

type Lock = Arc<tokio::sync::Mutex<()>>;

/// One lock for each key in use.
#[derive(Default)]
pub(crate) struct KeyedLocks(Mutex<FxHashMap<Vec<u8>, Lock>>);

/// Holds the locks of a command's keys: the command does, and each of its commits until it is settled.
pub(crate) struct Held {
    locks: Arc<KeyedLocks>,
    held: Vec<(Vec<u8>, Option<tokio::sync::OwnedMutexGuard<()>>)>,
    /// What the command held before, freed behind this.
    before: Option<Arc<Held>>,
}

impl KeyedLocks {
    /// Takes the locks in key order, so that two commands with the same keys cannot wait for each other.
    pub(crate) async fn lock(self: &Arc<Self>, mut keys: Vec<Vec<u8>>) -> Held {
        keys.sort_unstable();
        let mut held = Held { locks: self.clone(), held: Vec::with_capacity(keys.len()), before: None };
        for key in keys {
            let lock = self.0.lock().entry(key.clone()).or_default().clone();
            held.held.push((key, None));
            let guard = lock.lock_owned().await;
            if let Some((_, slot)) = held.held.last_mut() {
                *slot = Some(guard);
            }
        }
        held
    }
}

impl Accept {
    /// A command without keys that nobody else may be in the middle of.
    pub(crate) fn holding(held: Held) -> Self {
        let mut accept = Self::default();
        accept.hold(held);
        accept
    }

    /// Keeps more locks until this command is over and what it wrote is settled.
    pub(crate) fn hold(&mut self, mut held: Held) {
        if !held.held.is_empty() {
            held.before = self.held.take();
            self.held = Some(Arc::new(held));
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for (key, guard) in self.held.drain(..) {
            drop(guard);
            let mut locks = self.locks.0.lock();
            // Two strong counts would mean that somebody else waits or has just come.
            if locks.get(&key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
                locks.remove(&key);
            }
        }
    }
}

/// Whether a keyed command is new or has been answered before.
pub(crate) enum Repeat<T> {
    /// To be decided with this, which holds the locks of its keys.
    New(Accept),
    Known(T),
}

impl Runtime {
    /// Looks a command's keys up. What it gives for a new one is to be kept until that is durable.
    pub(crate) async fn repeat<C: Command>(
        &self,
        caller: &Caller,
        command: &C,
        extra: Option<String>,
    ) -> Result<Repeat<C::Output>, Refusal>
    where
        C::Output: DeserializeOwned,
    {
        let given = command.idempotency_key().map(|key| self.check_key(key)).transpose()?;
        let all: Vec<String> = given.into_iter().chain(extra).collect();
        if all.is_empty() {
            return Ok(Repeat::New(Accept::default()));
        }
        let params_digest = params_digest(command)?;
        let index_key = |key: &String| keys::idempotency(&caller.account, &caller.principal, key);
        let held = self.0.keyed.lock(all.iter().map(index_key).collect()).await;
        let (mut known, mut keys) = (None, Vec::with_capacity(all.len()));
        for key in all {
            match self.known::<C>(&index_key(&key), &params_digest).await? {
                Some(output) => known = Some(output),
                None => keys.push(key),
            }
        }
        let accept = Accept { command: C::NAME, keys, params_digest, held: Some(Arc::new(held)) };
        if let Some(output) = known {
            caller.through.iter().for_each(|joining| joining.repeats());
            self.answered_also(caller, &accept, &output).await?;
            return Ok(Repeat::Known(output));
        }
        Ok(Repeat::New(accept))
    }

    /// The same for what is no command of the registry, recognised by `name` and the digest of what it says.
    pub(crate) async fn repeat_of<T: DeserializeOwned>(
        &self,
        caller: &Caller,
        name: &'static str,
        key: Option<&str>,
        params_digest: String,
    ) -> Result<Repeat<T>, Refusal> {
        let Some(key) = key.map(|key| self.check_key(key)).transpose()? else {
            return Ok(Repeat::New(Accept::default()));
        };
        let index_key = keys::idempotency(&caller.account, &caller.principal, &key);
        self.repeat_at(index_key, name, key, params_digest).await
    }

    /// The same for a command about a messaging channel: its keys belong to the channel, too. `meaning` is what it means.
    pub(crate) async fn repeat_in<C: Command>(
        &self,
        caller: &Caller,
        channel_id: &MessagingChannelId,
        meaning: &C,
    ) -> Result<Repeat<C::Output>, Refusal>
    where
        C::Output: DeserializeOwned,
    {
        // Nothing of our own is among the keys of a channel, so theirs may look like anything.
        let Some(key) = meaning.idempotency_key().map(|key| self.check_printable(key)).transpose()? else {
            return Ok(Repeat::New(Accept::default()));
        };
        let index_key = messaging::keys::command_key(&caller.account, channel_id, &caller.principal, &key);
        self.repeat_at(index_key, C::NAME, key, params_digest(meaning)?).await
    }

    async fn repeat_at<T: DeserializeOwned>(
        &self,
        index_key: Vec<u8>,
        name: &'static str,
        key: String,
        params_digest: String,
    ) -> Result<Repeat<T>, Refusal> {
        let held = self.0.keyed.lock(vec![index_key.clone()]).await;
        if let Some(output) = self.answered(&index_key, name, &params_digest).await? {
            return Ok(Repeat::Known(output));
        }
        Ok(Repeat::New(Accept { command: name, keys: vec![key], params_digest, held: Some(Arc::new(held)) }))
    }

    /// Remembers what a command was answered with under keys it had not had: its id was enough to know it, or what it asks for
    /// was so already, and from now on they stand for that answer. Nothing happened, so it is no fact of what the command is about.
    pub(crate) async fn answered_also(
        &self,
        caller: &Caller,
        accept: &Accept,
        output: &impl Serialize,
    ) -> Result<(), Refusal> {
        let result = serde_json::to_value(output).map_err(|error| Refusal::internal(error.to_string()))?;
        let facts = accept.facts(&Scope::default(), &caller.principal, &result);
        let index = |events: &[Event]| {
            events.iter().filter_map(|event| access::idempotency(&caller.account, event)).collect::<Vec<_>>()
        };
        self.append_own(&caller.trace, accept, |_| Ok(facts), index).await.map(drop)
    }

    /// What was answered under a key of our own making that belongs to this command.
    pub(crate) async fn known_under<C: Command>(
        &self,
        caller: &Caller,
        key: &str,
        command: &C,
    ) -> Result<Option<C::Output>, Refusal> {
        let key = keys::idempotency(&caller.account, &caller.principal, key);
        self.known::<C>(&key, &params_digest(command)?).await
    }

    async fn known<C: Command>(&self, key: &[u8], digest: &str) -> Result<Option<C::Output>, Refusal> {
        self.answered(key, C::NAME, digest).await
    }

    async fn answered<T: DeserializeOwned>(&self, key: &[u8], name: &str, digest: &str) -> Result<Option<T>, Refusal> {
        let row = self.0.store.get(key).await.map_err(|error| read_refusal(&error))?;
        let Some(row) = row else { return Ok(None) };
        let row: IdempotencyRow =
            serde_json::from_slice(&row).map_err(|error| Refusal::internal(format!("idempotency row: {error}")))?;
        if row.command != name || row.params_digest != digest {
            return Err(Refusal::conflict("this idempotency key or id was used before, for something else")
                .with("command", row.command));
        }
        let output = serde_json::from_value(row.result);
        output.map(Some).map_err(|error| Refusal::internal(format!("idempotency row: {error}")))
    }

    /// A key beside those that caller-given ids stand for.
    fn check_key(&self, key: &str) -> Result<String, Refusal> {
        if key.starts_with(OWN_ID_PREFIX) {
            return Err(Refusal::invalid(
                "an idempotency key has 1 to 128 printable characters and does not start with @",
            ));
        }
        self.check_printable(key)
    }

    fn check_printable(&self, key: &str) -> Result<String, Refusal> {
        let max = self.0.limits.idempotency_key_chars_max;
        let chars = key.chars().count();
        if chars > max {
            return Err(Refusal::limit("idempotency_key_chars", chars as u64, max as u64));
        }
        if key.is_empty() || key.chars().any(char::is_control) {
            return Err(Refusal::invalid("an idempotency key has 1 to 128 printable characters"));
        }
        Ok(key.to_owned())
    }
}

/// The key that a caller-given job id stands for.
pub(crate) fn job_key(command: &CreateJob) -> Option<String> {
    command.job_id.as_ref().map(|job_id| own_id_key("job", job_id.as_str()))
}

/// The key that a caller-given schedule id stands for.
pub(crate) fn schedule_key(command: &CreateSchedule) -> Option<String> {
    command.schedule_id.as_ref().map(|schedule_id| own_id_key("schedule", schedule_id.as_str()))
}

/// The key that a caller-given turn id stands for. It is an id within its session, where that is named.
pub(crate) fn turn_key(command: &SubmitTurn) -> Option<String> {
    let turn_id = command.turn_id.as_ref()?;
    Some(match &command.session_id {
        Some(session_id) => own_id_key("turn", &format!("{session_id}/{turn_id}")),
        None => own_id_key("turn", turn_id.as_str()),
    })
}

/// The key that a caller-given id of some kind stands for.
pub(crate) fn own_id_key(kind: &str, id: &str) -> String {
    format!("{OWN_ID_PREFIX}{kind}/{id}")
}

/// The key that a caller-given id of a child agent stands for.
pub(crate) fn subagent_key(command: &SpawnSubagent) -> Option<String> {
    command.subagent_id.as_ref().map(|subagent_id| own_id_key("subagent", subagent_id.as_str()))
}
