//! A runtime on a store in memory, with a session in the middle of something: an open action, a turn in the queue, an API
//! key, and a second account that nobody may hear of. Made anew now and then, so that it does not grow for ever.
//!
//! Ids are counted and time stands still: what an input means does not depend on when it is tried.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use factum_api::AuthOptions;
use factum_api::fuzzing::Door;
use factum_model::Timestamp;
use factum_model::commands::{COMMANDS, CreateApiKey, CreateSession, SubmitTurn};
use factum_model::id::{IdSource, SessionId};
use factum_model::registry::Scopes;
use factum_model::value::Part;
use factum_runtime::{Agents, Caller, Clock, Ids, Options, Runtime, Secret, Sources};
use factum_store::{Blobs, MemoryStore};
use serde_json::Value;
use uuid::Uuid;

use crate::json::{RESERVED_KEY, texts};
use crate::samples;

/// How many inputs one world serves.
const INPUTS_MAX: u32 = 2_000;
/// The first id that is made: the one that the samples of params and events use.
const FIRST_ID: u128 = 0x0198_c0de_0000_7000_8000_0000_0000_0000;
/// When it is, in seconds.
pub const NOW: i64 = 1_900_000_000;
/// What cursors are sealed with.
pub const SECRET: [u8; 32] = [7; 32];

/// Who calls, with or without the key.
pub const PRINCIPAL: &str = "agent://fuzzer";
pub const SESSION: &str = "sess_0198c0de-0000-7000-8000-000000000000";
/// What nobody outside of its account may read.
const FOREIGN: &str = "the other account's own";

pub struct World {
    pub tokio: tokio::runtime::Runtime,
    pub runtime: Runtime,
    pub door: Door,
    pub caller: Caller,
    /// A caller of the other account.
    pub other: Caller,
    /// An API key of this caller.
    pub key: String,
    _dir: tempfile::TempDir,
}

/// Calls `work` with the world, made anew every so many inputs.
pub fn with<T>(auth: &AuthOptions, work: impl FnOnce(&World) -> T) -> T {
    thread_local! { static WORLD: RefCell<Option<(World, u32)>> = const { RefCell::new(None) }; }
    WORLD.with_borrow_mut(|slot| {
        if let Some((world, _)) = slot.take_if(|(_, inputs)| *inputs >= INPUTS_MAX) {
            world.end();
        }
        let (world, inputs) = slot.get_or_insert_with(|| (World::new(auth.clone()), 0));
        *inputs += 1;
        work(world)
    })
}

/// Whether something of the other account is in there. An input that brings it along proves nothing and is not tried.
pub fn is_foreign(bytes: &[u8]) -> bool {
    bytes.windows(FOREIGN.len()).any(|part| part == FOREIGN.as_bytes())
}

/// Names and ids that mean something in the world: what a mutator puts in.
pub fn words() -> &'static [String] {
    static WORDS: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    WORDS.get_or_init(|| {
        let world = World::new(AuthOptions::default());
        let mut words: Vec<String> = COMMANDS.iter().map(|command| command.name.to_owned()).collect();
        words.extend(["subscribe", "unsubscribe", "sub-1", "2.0", "allow", "deny", "answer"].map(str::to_owned));
        words.extend(["approve: it", "ask: it", "slow: it", "fail: it", "artifact: it"].map(str::to_owned));
        words.push(RESERVED_KEY.to_owned());
        samples::all_params().iter().flatten().for_each(|sample| texts(sample, &mut words));
        world.events().iter().for_each(|event| texts(event, &mut words));
        world.end();
        words.sort_unstable();
        words.dedup();
        words.retain(|word| word.len() <= 64);
        words
    })
}

impl World {
    fn new(auth: AuthOptions) -> Self {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
        let mut options = Options::new(Agents::demo(), Secret::new(SECRET));
        let ids = Arc::new(Counted(Arc::default()));
        options.sources = Sources { clock: Arc::new(Still), ids };
        let (runtime, door, key) = tokio.block_on(async {
            let blobs = Blobs::open(dir.path().join("blobs")).expect("blobs");
            let runtime = Runtime::start(Arc::new(MemoryStore::new()), blobs, options).await.expect("a start");
            let door = Door::open(runtime.clone(), auth).await.expect("a door");
            let key = furnish(&runtime).await;
            (runtime, door, key)
        });
        Self { tokio, runtime, door, caller: caller("acme"), other: caller("other"), key, _dir: dir }
    }

    fn end(self) {
        self.tokio.block_on(self.runtime.close());
    }

    /// The events of the session as they are now.
    pub fn events(&self) -> Vec<Value> {
        let params = format!(r#"{{"session_id":"{SESSION}","limit":1000}}"#);
        let page = self.tokio.block_on(self.runtime.call_by_name(&self.caller, "read_events", &params));
        let page: Value = serde_json::from_str(page.expect("a page").get()).expect("JSON");
        page["events"].as_array().cloned().unwrap_or_default()
    }
}

fn caller(account: &str) -> Caller {
    Caller::new(PRINCIPAL, account, Scopes::admin())
}

/// Brings the world into the middle of something. Gives the key.
async fn furnish(runtime: &Runtime) -> String {
    let session_id: SessionId = SESSION.parse().expect("an id");
    let (ours, other) = (caller("acme"), caller("other"));
    for (caller, title) in [(&ours, "ours"), (&other, FOREIGN)] {
        let command = CreateSession {
            session_id: Some(session_id.clone()),
            title: Some(title.to_owned()),
            agent: None,
            metadata: Default::default(),
            idempotency_key: None,
        };
        runtime.call(caller, command).await.expect("a session");
    }
    for text in ["approve: it", "second"] {
        runtime.call(&ours, turn(&session_id, text)).await.expect("a turn");
    }
    let mut events = runtime.subscribe(&ours, &session_id, 0).await.expect("a subscription");
    while !events.next().await.expect("events").iter().any(|event| is_action(&event.json)) {}
    let command = CreateApiKey {
        principal: PRINCIPAL.to_owned(),
        scopes: Some(Scopes::admin()),
        name: None,
        expires_at: None,
        idempotency_key: None,
    };
    runtime.call(&ours, command).await.expect("a key").key.expect("the key itself")
}

fn is_action(json: &[u8]) -> bool {
    let event: Value = serde_json::from_slice(json).expect("an event is JSON");
    event["type"] == "action.required"
}

fn turn(session_id: &SessionId, text: &str) -> SubmitTurn {
    SubmitTurn {
        session_id: Some(session_id.clone()),
        thread_id: None,
        turn_id: None,
        agent: None,
        input: vec![Part::Text { text: text.to_owned() }],
        on_busy: None,
        options: Default::default(),
        metadata: Default::default(),
        idempotency_key: None,
    }
}

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(NOW).expect("an instant")
    }
}

struct Counted(Arc<AtomicU64>);

impl Ids for Counted {
    fn source(&self, _: Timestamp) -> Box<dyn IdSource + Send> {
        Box::new(Self(self.0.clone()))
    }
}

impl IdSource for Counted {
    fn next_uuid(&mut self) -> Uuid {
        Uuid::from_u128(FIRST_ID + u128::from(self.0.fetch_add(1, Ordering::Relaxed)))
    }
}
