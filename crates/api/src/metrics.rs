//! What `/metrics` shows, in Prometheus' text format.
//!
//! Counting must not cost: every series a request can touch is made at the start and found by a number, so a request is
//! a look-up and a few atomic additions, and allocates nothing. That is why this is not a metrics library: those find a
//! series by hashing its labels under a lock. What others know (sessions in memory, the store) is asked for when somebody
//! looks. A command that does not exist counts as `other`: a caller cannot make series.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use factum_model::ErrorCode;
use factum_model::commands::COMMANDS;
use factum_runtime::Runtime;
use rustc_hash::FxHashMap;
use tokio::time::Instant;

/// The media type of [`Metrics::render`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A number somebody else keeps: its full name (`factum_…`, a counter where it ends in `_total`), what it is, its value.
pub type Sample = (&'static str, &'static str, f64);

/// Asked for numbers whenever the metrics are rendered.
pub type Source = Box<dyn Fn() -> Vec<Sample> + Send + Sync>;

/// Upper bounds of the duration buckets.
const BOUNDS_SECONDS: [f64; 16] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

/// The label of everything that is not a command of the registry.
const OTHER: &str = "other";

/// The way a request or a stream came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Http,
    Rpc,
    WebSocket,
    Sse,
    Grpc,
    Stdio,
    A2a,
}

impl Transport {
    pub const ALL: [Transport; 7] =
        [Self::Http, Self::Rpc, Self::WebSocket, Self::Sse, Self::Grpc, Self::Stdio, Self::A2a];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Rpc => "rpc",
            Self::WebSocket => "websocket",
            Self::Sse => "sse",
            Self::Grpc => "grpc",
            Self::Stdio => "stdio",
            Self::A2a => "a2a",
        }
    }
}

/// When a request began.
#[derive(Clone, Copy, Debug)]
pub struct Started(Instant);

/// Everything that is counted. Shared by all transports.
pub struct Metrics {
    commands: FxHashMap<&'static str, usize>,
    /// By transport, command and code, in this order; see [`Metrics::cell`].
    requests: Box<[AtomicU64]>,
    /// By command.
    durations: Box<[Histogram]>,
    connections: AtomicI64,
    streams: [AtomicI64; Transport::ALL.len()],
    events_sent: [AtomicU64; Transport::ALL.len()],
    sources: Vec<Source>,
}

#[derive(Default)]
struct Histogram {
    /// The last bucket is for what is above all bounds.
    buckets: [AtomicU64; BOUNDS_SECONDS.len() + 1],
    sum_nanoseconds: AtomicU64,
}

/// Codes, and before them the absence of one.
const OUTCOMES: usize = ErrorCode::ALL.len() + 1;
const LABELS: usize = COMMANDS.len() + 1;

impl Metrics {
    pub fn new(sources: Vec<Source>) -> Self {
        Self {
            commands: COMMANDS.iter().enumerate().map(|(index, info)| (info.name, index)).collect(),
            requests: (0..Transport::ALL.len() * LABELS * OUTCOMES).map(|_| AtomicU64::new(0)).collect(),
            durations: (0..LABELS).map(|_| Histogram::default()).collect(),
            connections: AtomicI64::new(0),
            streams: Default::default(),
            events_sent: Default::default(),
            sources,
        }
    }

    /// Call when a request arrives.
    pub fn start(&self) -> Started {
        Started(Instant::now())
    }

    /// Call when a request has been answered; `code` is why it was refused, if it was.
    pub fn request(&self, transport: Transport, command: &str, code: Option<ErrorCode>, started: Started) {
        let command = self.commands.get(command).copied().unwrap_or(COMMANDS.len());
        self.requests[Self::cell(transport, command, outcome(code))].fetch_add(1, Ordering::Relaxed);
        self.durations[command].record(started.0.elapsed());
    }

    /// Counts a connection as open until what this returns is dropped.
    pub fn connection(self: &Arc<Self>) -> Open {
        Open::new(self.clone(), None)
    }

    /// Counts a stream or subscription as open until what this returns is dropped.
    pub fn stream(self: &Arc<Self>, transport: Transport) -> Open {
        Open::new(self.clone(), Some(transport))
    }

    /// Counts events handed to a stream.
    pub fn events_sent(&self, transport: Transport, count: usize) {
        self.events_sent[transport as usize].fetch_add(count as u64, Ordering::Relaxed);
    }

    fn cell(transport: Transport, command: usize, outcome: usize) -> usize {
        (transport as usize * LABELS + command) * OUTCOMES + outcome
    }

    /// Everything, in Prometheus' text format. Series that nothing has touched yet are left out.
    pub fn render(&self) -> String {
        let mut page = Page(String::with_capacity(16 * 1024));
        page.family("factum_build_info", "The version that runs.", "gauge");
        page.sample("factum_build_info", concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""), 1.0);
        self.render_requests(&mut page);
        self.render_durations(&mut page);
        page.family("factum_connections_open", "Connections open now.", "gauge");
        page.sample("factum_connections_open", "", self.connections.load(Ordering::Relaxed) as f64);
        let by_transport = |transport: Transport| format!("transport=\"{}\"", transport.as_str());
        page.family("factum_streams_open", "Streams and subscriptions open now.", "gauge");
        for transport in Transport::ALL {
            let open = self.streams[transport as usize].load(Ordering::Relaxed);
            page.sample("factum_streams_open", &by_transport(transport), open as f64);
        }
        page.family("factum_events_sent_total", "Events handed to streams.", "counter");
        for transport in Transport::ALL {
            let sent = self.events_sent[transport as usize].load(Ordering::Relaxed);
            page.sample("factum_events_sent_total", &by_transport(transport), sent as f64);
        }
        for (name, help, value) in self.sources.iter().flat_map(|source| source()) {
            page.family(name, help, if name.ends_with("_total") { "counter" } else { "gauge" });
            page.sample(name, "", value);
        }
        page.0
    }

    fn render_requests(&self, page: &mut Page) {
        page.family("factum_requests_total", "Requests answered.", "counter");
        for transport in Transport::ALL {
            for command in 0..LABELS {
                for outcome in 0..OUTCOMES {
                    let count = self.requests[Self::cell(transport, command, outcome)].load(Ordering::Relaxed);
                    if count > 0 {
                        let (transport, command, code) =
                            (transport.as_str(), command_label(command), code_label(outcome));
                        let labels = format!("transport=\"{transport}\",command=\"{command}\",code=\"{code}\"");
                        page.sample("factum_requests_total", &labels, count as f64);
                    }
                }
            }
        }
    }

    fn render_durations(&self, page: &mut Page) {
        page.family("factum_request_duration_seconds", "From a request's arrival to its answer.", "histogram");
        for (index, histogram) in self.durations.iter().enumerate() {
            histogram.render(page, &format!("command=\"{}\"", command_label(index)));
        }
    }
}

/// How many sessions a runtime has in memory.
pub fn runtime_source(runtime: Runtime) -> Source {
    Box::new(move || {
        vec![(
            "factum_sessions_in_memory",
            "Sessions loaded now. One without work leaves memory.",
            runtime.sessions_in_memory() as f64,
        )]
    })
}

fn outcome(code: Option<ErrorCode>) -> usize {
    code.map_or(0, |code| 1 + code as usize)
}

fn code_label(outcome: usize) -> &'static str {
    outcome.checked_sub(1).and_then(|index| ErrorCode::ALL.get(index)).map_or("ok", |code| code.as_str())
}

fn command_label(index: usize) -> &'static str {
    COMMANDS.get(index).map_or(OTHER, |info| info.name)
}

impl Histogram {
    fn record(&self, duration: std::time::Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BOUNDS_SECONDS.partition_point(|bound| *bound < seconds);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.sum_nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    fn render(&self, page: &mut Page, labels: &str) {
        let counts = self.buckets.each_ref().map(|bucket| bucket.load(Ordering::Relaxed));
        let count: u64 = counts.iter().sum();
        if count == 0 {
            return;
        }
        let mut below = 0;
        for (bound, count) in BOUNDS_SECONDS.iter().zip(counts) {
            below += count;
            page.sample("factum_request_duration_seconds_bucket", &format!("{labels},le=\"{bound}\""), below as f64);
        }
        page.sample("factum_request_duration_seconds_bucket", &format!("{labels},le=\"+Inf\""), count as f64);
        let sum_seconds = self.sum_nanoseconds.load(Ordering::Relaxed) as f64 / 1e9;
        page.sample("factum_request_duration_seconds_sum", labels, sum_seconds);
        page.sample("factum_request_duration_seconds_count", labels, count as f64);
    }
}

/// A connection, or a stream of a transport, that counts as open while this lives.
pub struct Open {
    metrics: Arc<Metrics>,
    stream: Option<Transport>,
}

impl Open {
    fn new(metrics: Arc<Metrics>, stream: Option<Transport>) -> Self {
        let open = Self { metrics, stream };
        open.gauge().fetch_add(1, Ordering::Relaxed);
        open
    }

    fn gauge(&self) -> &AtomicI64 {
        self.stream.map_or(&self.metrics.connections, |transport| &self.metrics.streams[transport as usize])
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.gauge().fetch_sub(1, Ordering::Relaxed);
    }
}

/// The text under construction.
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, help: &str, kind: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }
}

#[cfg(test)]
mod tests;
