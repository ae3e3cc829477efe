//! Every setting, declared once: its name, type, default and meaning. Parsing, the environment variables and the
//! reference page are all made from this list, so none of them can know something the others do not.
//!
//! A setting `name` of `[section]` is also `FACTUM_SECTION_NAME`; the few that most people set have a shorter variable.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use factum_engine::Limits as EngineLimits;
use factum_outbound::{Network, Options as OutboundOptions};
use factum_runtime::ShellLimits;
use factum_store::Options as StoreOptions;

use super::issuers::Issuer;
use super::peers::Peer;
use super::value::Value;
use super::words::{ClientContexts, LogFormat, LogLevel};
use crate::server::TransportLimits;

/// A setting as the reference and the environment see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) section: &'static str,
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) default: String,
    pub(crate) env: String,
    pub(crate) meaning: String,
}

/// A section of the file.
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) meaning: String,
    pub(crate) settings: Vec<Setting>,
}

/// Where a value is read from.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    Toml(&'a toml::Value),
    Text(&'a str),
}

impl Input<'_> {
    fn read<T: Value>(self) -> Result<T, String> {
        match self {
            Self::Toml(value) => T::from_toml(value),
            Self::Text(text) => T::from_text(text),
        }
    }
}

/// There is no setting of this name.
pub(crate) struct Unknown;

macro_rules! settings {
    ($($(#[doc = $section_doc:literal])* $section:ident: $type:ident {
        $($(#[doc = $doc:literal])* $name:ident: $value:ty = $default:expr $(, $env:literal)?;)*
    })*) => {
        $($(#[doc = $section_doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $type {
            $($(#[doc = $doc])* pub(crate) $name: $value,)*
        }

        impl Default for $type {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        })*

        /// All settings, with the values that hold.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(crate) struct Settings {
            $($(#[doc = $section_doc])* pub(crate) $section: $type,)*
            /// `[peers.NAME]`: agents elsewhere. Only in the file.
            pub(crate) peers: BTreeMap<String, Peer>,
        }

        impl Settings {
            /// Sets one setting by name. The inner error says what is wrong with the value.
            pub(crate) fn set(&mut self, section: &str, name: &str, input: Input<'_>) -> Result<Result<(), String>, Unknown> {
                match (section, name) {
                    $($((stringify!($section), stringify!($name)) => {
                        Ok(input.read().map(|value| self.$section.$name = value))
                    })*)*
                    _ => Err(Unknown),
                }
            }

            /// Every section with its settings, in the order of the reference.
            pub(crate) fn sections() -> Vec<Section> {
                let defaults = Settings::default();
                vec![$(Section {
                    name: stringify!($section),
                    meaning: meaning(&[$($section_doc),*]),
                    settings: vec![$(Setting {
                        section: stringify!($section),
                        name: stringify!($name),
                        kind: <$value as Value>::KIND,
                        default: defaults.$section.$name.show(),
                        env: env_name(stringify!($section), stringify!($name), &[$($env)?]),
                        meaning: meaning(&[$($doc),*]),
                    },)*],
                },)*]
            }
        }
    };
}

fn meaning(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

fn env_name(section: &str, name: &str, short: &[&str]) -> String {
    short.first().map_or_else(|| format!("FACTUM_{section}_{name}").to_uppercase(), |short| (*short).to_owned())
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

settings! {
    /// The one port.
    server: Server {
        /// Where to listen. Port 0 picks a free one.
        listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 7420)), "FACTUM_LISTEN";
        /// Where clients reach this server, where that is not where it listens: `https://agents.example.com`. Stands in the
        /// agent card. Empty: where a client reached it, in cards that are signed only for this machine and for `listen`.
        public_url: String = String::new();
        /// The longest silence on a stream before a heartbeat is sent. More than 30 seconds count as 30: clients and proxies take a
        /// stream that is silent for a minute for dead.
        heartbeat_ms: u64 = 15_000;
    }
    /// Bounds. A request that passes one is refused with `limit_exceeded` or `rate_limited` and told which.
    limits: Limits {
        /// Bytes of a request's body.
        body_bytes_max: usize = TransportLimits::default().body_bytes_max;
        /// How deep the JSON of params may be nested; the same on every transport.
        json_depth_max: usize = TransportLimits::default().json_depth_max;
        /// Requests per second of one principal, on average.
        requests_per_second: u32 = TransportLimits::default().requests_per_second;
        /// Requests of one principal at once, above the average.
        requests_burst: u32 = TransportLimits::default().requests_burst;
        /// Messages a principal may publish each second, in all its channels.
        publishes_per_second: u32 = TransportLimits::default().publishes_per_second;
        /// Pages of channel history a principal may read each second.
        history_pages_per_second: u32 = TransportLimits::default().history_pages_per_second;
        /// Open connections.
        connections_max: usize = TransportLimits::default().connections_max;
        /// How long one request may take. Streams are not requests; a message over A2A that is waited for is answered by then
        /// with its task as it stands.
        request_timeout_ms: u64 = millis(TransportLimits::default().request_timeout);
        /// How long a client may take to send its headers.
        header_timeout_ms: u64 = millis(TransportLimits::default().header_timeout);
        /// Streams of one connection.
        streams_max: usize = TransportLimits::default().streams_max;
        /// Calls of one JSON-RPC batch.
        batch_max: usize = TransportLimits::default().batch_max;
        /// Bytes of one WebSocket message.
        ws_message_bytes_max: usize = TransportLimits::default().ws_message_bytes_max;
        /// Commands under way at once on one WebSocket or stdio connection.
        in_flight_max: usize = TransportLimits::default().in_flight_max;
        /// How long a shutdown waits for requests under way.
        drain_timeout_ms: u64 = millis(TransportLimits::default().drain_timeout);
        /// Turns that wait in one thread.
        queue_turns_max: usize = EngineLimits::default().queue_turns_max;
        /// Threads of one session. Those whose task, job or child agent has ended do not count.
        threads_max: usize = EngineLimits::default().threads_max;
        /// Actions open at once in one session.
        open_actions_max: usize = EngineLimits::default().open_actions_max;
        /// Parts of one input.
        input_parts_max: usize = EngineLimits::default().input_parts_max;
        /// Bytes of a caller's metadata or options, as JSON.
        metadata_bytes_max: usize = EngineLimits::default().metadata_bytes_max;
        /// Characters of a title.
        title_chars_max: usize = EngineLimits::default().title_chars_max;
        /// Characters of an idempotency key.
        idempotency_key_chars_max: usize = EngineLimits::default().idempotency_key_chars_max;
        /// Tool calls of one model answer.
        tool_calls_max: usize = EngineLimits::default().tool_calls_max;
        /// Model requests of one turn.
        model_rounds_max: u32 = EngineLimits::default().model_rounds_max;
        /// Tasks of one session in memory: open ones, and the last few that ended.
        open_tasks_max: usize = EngineLimits::default().open_tasks_max;
        /// Characters of a task's objective.
        task_objective_chars_max: usize = EngineLimits::default().task_objective_chars_max;
        /// Characters of a name in a task: its owner, assignee, kind and family, a worker, a native status, the category of an error, a counter.
        task_name_chars_max: usize = EngineLimits::default().task_name_chars_max;
        /// Characters of a text in a task: a reason, a summary, the message or the advice of an error.
        task_text_chars_max: usize = EngineLimits::default().task_text_chars_max;
        /// References in one list of a task: input, output, checkpoints; and categories that are not retried.
        task_refs_max: usize = EngineLimits::default().task_refs_max;
        /// Bytes of one such reference, and of the name of an artifact or of evidence.
        task_ref_bytes_max: usize = EngineLimits::default().task_ref_bytes_max;
        /// Bytes of what a task needs to complete, as JSON.
        task_acceptance_bytes_max: usize = EngineLimits::default().task_acceptance_bytes_max;
        /// Bytes of the names of a task's artifacts and evidence together.
        task_artifact_bytes_max: usize = EngineLimits::default().task_artifact_bytes_max;
        /// Edges of one task.
        task_edges_max: usize = EngineLimits::default().task_edges_max;
        /// Tasks from a root down to the lowest below it.
        task_depth_max: usize = EngineLimits::default().task_depth_max;
        /// Attempts of one task.
        task_attempts_max: usize = EngineLimits::default().task_attempts_max;
        /// How long work that is cancelled may take to settle before it is given up.
        task_cancel_grace_ms: u64 = EngineLimits::default().task_cancel_grace_ms;
        /// Facts of one report of a worker.
        report_facts_max: usize = EngineLimits::default().report_facts_max;
        /// Child agents of one session that are not closed.
        subagents_open_max: usize = EngineLimits::default().subagents_open_max;
        /// How deep child agents may spawn child agents of their own.
        subagent_depth_max: u32 = EngineLimits::default().subagent_depth_max;
        /// How long running work of a child agent that is closed may be given to settle.
        subagent_grace_ms_max: u64 = EngineLimits::default().subagent_grace_ms_max;
        /// Characters of a messaging channel's name.
        channel_name_chars_max: usize = EngineLimits::default().channel_name_chars_max;
        /// Members of one messaging channel.
        channel_members_max: usize = EngineLimits::default().channel_members_max;
        /// Parts of one message.
        message_parts_max: usize = EngineLimits::default().message_parts_max;
        /// References of one message, to artifacts and tasks together.
        message_refs_max: usize = EngineLimits::default().message_refs_max;
        /// Bytes of one message as JSON: parts, references and metadata.
        message_bytes_max: usize = EngineLimits::default().message_bytes_max;
        /// Addresses that one task's changes are pushed to.
        push_configs_max: usize = EngineLimits::default().push_configs_max;
        /// Capabilities of one peer.
        capabilities_max: usize = EngineLimits::default().capabilities_max;
        /// Queues that one worker takes runs from.
        worker_queues_max: usize = EngineLimits::default().worker_queues_max;
        /// Sessions that one remote channel follows.
        channel_sessions_max: usize = EngineLimits::default().channel_sessions_max;
        /// Permission questions that one remote channel is asked at once.
        channel_permissions_max: usize = EngineLimits::default().channel_permissions_max;
        /// How long a remote channel counts as connected without a sign of life.
        channel_heartbeat_ms: u64 = EngineLimits::default().channel_heartbeat_ms;
        /// Events of one stream that a remote channel is sent again after it was away. What is older is said to be missing.
        replay_events_max: u64 = EngineLimits::default().replay_events_max;
        /// Jobs at work at once in one session.
        jobs_open_max: usize = EngineLimits::default().jobs_open_max;
        /// Items of one job.
        job_items_max: usize = EngineLimits::default().job_items_max;
        /// Bytes of what the items of a session's jobs at work are about, as JSON.
        job_input_bytes_max: usize = EngineLimits::default().job_input_bytes_max;
        /// Bytes of a job's instruction.
        job_instruction_bytes_max: usize = EngineLimits::default().job_instruction_bytes_max;
        /// Items of one job at work at once.
        job_concurrency_max: u32 = EngineLimits::default().job_concurrency_max;
        /// Attempts of one item of a job.
        job_item_attempts_max: u32 = EngineLimits::default().job_item_attempts_max;
        /// How long workers may take to settle the items of a job that was cancelled or took too long.
        job_settle_ms: u64 = EngineLimits::default().job_settle_ms;
        /// Schedules of one session.
        schedules_max: usize = EngineLimits::default().schedules_max;
        /// Bytes of one schedule as JSON.
        schedule_bytes_max: usize = EngineLimits::default().schedule_bytes_max;
        /// The shortest interval of a schedule.
        schedule_interval_ms_min: u64 = EngineLimits::default().schedule_interval_ms_min;
        /// How late a schedule's job may be made and still count as on time.
        schedule_late_ms: u64 = EngineLimits::default().schedule_late_ms;
        /// Jobs that a schedule makes up for at most, after it could not run.
        schedule_catch_up_max: u64 = EngineLimits::default().schedule_catch_up_max;
        /// How long a session without work stays in memory.
        session_idle_ms: u64 = millis(ShellLimits::default().session_idle);
        /// How many sessions without work stay in memory, beside at most 64 short ones; the oldest leaves, and is read again when needed.
        sessions_at_rest_max: usize = ShellLimits::default().sessions_at_rest_max;
        /// How often sessions without work are looked for.
        sweep_interval_ms: u64 = millis(ShellLimits::default().sweep_interval);
        /// Events between two snapshots of a session: the most that has to be folded to open one.
        snapshot_events: u64 = ShellLimits::default().snapshot_events;
        /// Events between two snapshots of a messaging channel.
        channel_snapshot_events: u64 = ShellLimits::default().channel_snapshot_events;
        /// Events a page returns at most.
        page_events_max: usize = ShellLimits::default().page_events_max;
        /// Steps a window of `get_session` returns at most.
        window_steps_max: usize = ShellLimits::default().window_steps_max;
        /// How long a caller may wait for child agents to come to rest.
        subagent_wait_ms_max: u64 = millis(ShellLimits::default().subagent_wait_max);
        /// Sessions that are recovered at the same time after a start.
        recover_parallel: usize = ShellLimits::default().recover_parallel;
        /// Runs that one claim of a worker takes at most.
        claim_runs_max: usize = ShellLimits::default().claim_runs_max;
        /// How long a claim waits for a run at most. It may take this much longer than `request_timeout_ms`.
        claim_wait_max_ms: u64 = millis(ShellLimits::default().claim_wait_max);
        /// Claims that wait for a run at once.
        waiting_workers_max: usize = ShellLimits::default().waiting_workers_max;
        /// The shortest time that a worker may ask to keep a run without a heartbeat.
        lease_min_ms: u64 = millis(ShellLimits::default().lease_min);
        /// The longest.
        lease_max_ms: u64 = millis(ShellLimits::default().lease_max);
    }
    /// The embedded store. The defaults suit a server; measure before changing the sizes.
    store: Store {
        /// The directory of the log, the index, the blobs and the server's secret. `factum serve` wants it said.
        data_dir: PathBuf = PathBuf::from("./.factum"), "FACTUM_DATA_DIR";
        /// Capacity of the first log segment. Each next one doubles.
        first_segment_bytes: u64 = StoreOptions::default().first_segment_bytes;
        /// Where doubling stops.
        segment_bytes_max: u64 = StoreOptions::default().segment_bytes_max;
        /// The derived index is written down after this many bytes of log or memory. Bounds the replay at a start.
        checkpoint_bytes: u64 = StoreOptions::default().checkpoint_bytes;
        /// Memory for what is not yet in the derived index. Beyond it commits are refused.
        overlay_bytes_max: usize = StoreOptions::default().overlay_bytes_max;
        /// The most one write to the log takes together, unless a single commit is larger.
        batch_bytes_max: usize = StoreOptions::default().batch_bytes_max;
        /// Commits that may wait for the writer.
        queue_commits_max: usize = StoreOptions::default().queue_commits_max;
        /// Bytes that may wait for the writer.
        queue_bytes_max: usize = StoreOptions::default().queue_bytes_max;
        /// Address space for the derived index. Costs nothing until it is used.
        index_map_bytes: usize = StoreOptions::default().index_map_bytes;
    }
    /// Requests that this server makes: keys of issuers, other agents. Public addresses only, unless said otherwise here.
    outbound: Outbound {
        /// Networks that may be reached besides the public internet: `["10.0.0.0/8", "127.0.0.0/8"]`; in the environment
        /// separated by commas. `factum dev` allows loopback.
        allow: Vec<Network> = Vec::new();
        /// How long a lookup and a connection may take.
        connect_timeout_ms: u64 = millis(OutboundOptions::default().connect_timeout);
        /// How long a whole answer may take, where it is no stream.
        timeout_ms: u64 = millis(OutboundOptions::default().timeout);
        /// How long a stream may be silent before it counts as cut.
        idle_timeout_ms: u64 = millis(OutboundOptions::default().idle_timeout);
        /// Bytes of an answer that is no stream.
        body_bytes_max: usize = OutboundOptions::default().body_bytes_max;
        /// Bytes of one event of a stream.
        event_bytes_max: usize = OutboundOptions::default().event_bytes_max;
    }
    /// Who answers.
    agents: Agents {
        /// Scripts, one agent each. The first answers where a turn names none. Without any, the demo agents answer; `dev` has them besides.
        scripts: Vec<PathBuf> = Vec::new(), "FACTUM_SCRIPTS";
    }
    /// How agents are reached by other agents (`docs/guides/a2a.md`).
    a2a: A2a {
        /// Callers with a credential may have the extended card, which names every agent and the caller's tenant.
        extended_card: bool = true;
        /// Push notification configurations are taken, and the card says so.
        push_notifications: bool = false;
        /// Extensions, by URI, that every request must activate. A request without one is refused.
        required_extensions: Vec<String> = Vec::new();
        /// Whether clients may begin contexts under ids of their own: `accept` or `refuse`.
        client_contexts: ClientContexts = ClientContexts::Accept;
    }
    /// Whose tokens are accepted, besides the API keys that `factum key create` makes.
    auth: Auth {
        /// Issuers of JSON Web Tokens, as `[[auth.issuers]]` tables; in the environment as a JSON list.
        issuers: Vec<Issuer> = Vec::new();
    }
    /// What goes to stderr.
    log: Log {
        /// `text` for people, `json` for machines: one object per line.
        format: LogFormat = LogFormat::Text;
        /// `error`, `warn`, `info`, `debug` or `trace`. `factum dev` starts with `warn`, to keep its banner readable.
        level: LogLevel = LogLevel::Info;
    }
}
