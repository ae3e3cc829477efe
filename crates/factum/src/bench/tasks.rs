//! What tasks cost by how many there are in one graph: creating, completing in dependency order, cancelling from the root,
//! looking at one and at a page. The reference is a small graph, and the promise is that size does not show.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use factum_model::Command;
use factum_model::commands::*;
use factum_model::id::{SessionId, TaskId};
use factum_model::task::TaskStatus;
use factum_runtime::{Agents, Caller, Handle, Options as RuntimeOptions, Runtime, Secret};
use factum_store::{Blobs, EmbeddedStore, Options, Store};
use futures::{StreamExt, TryStreamExt};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Place;
use super::commits::caller;
use super::measure::Latencies;
use super::report::{Cell, Report};

/// How many commands are under way at once.
const AT_ONCE: usize = 64;
/// How often one task or one page is looked at.
const LOOKS: usize = 500;

#[derive(Clone, Debug, Args)]
pub(crate) struct Tasks {
    /// Tasks in each layer of the graph.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) width: usize,
    /// Layers, each of which waits for the one before; the first graph has a tenth of them.
    #[arg(long, default_value_t = 100)]
    pub(crate) depth: usize,
}

pub(crate) async fn run(tasks: &Tasks, place: &Place) -> Result<Report> {
    let mut report = Report::new("tasks", "the tasks of one graph, beside a graph of a hundredth the size");
    let small = measure(place, (tasks.width / 10).max(1), (tasks.depth / 10).max(1)).await?;
    let large = measure(place, tasks.width, tasks.depth).await?;
    for (small, large) in small.iter().zip(&large) {
        report.row([
            ("what", Cell::Word(large.what)),
            ("small", Cell::Count(small.tasks)),
            ("small_us", Cell::Micros(small.micros)),
            ("tasks", Cell::Count(large.tasks)),
            ("us", Cell::Micros(large.micros)),
            ("times", Cell::Ratio(large.micros / small.micros)),
        ]);
    }
    Ok(report)
}

/// What one thing took, for each task or each look.
struct Took {
    what: &'static str,
    tasks: u64,
    micros: f64,
}

async fn measure(place: &Place, width: usize, depth: usize) -> Result<Vec<Took>> {
    let total = (width * depth) as u64;
    let dir = place.scratch()?;
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(dir.path().join("store"), Options::default())?.0);
    let options = RuntimeOptions::new(Agents::demo(), Secret::new([7; 32]));
    let runtime = Runtime::start(store, Blobs::open(dir.path().join("blobs"))?, options).await?;
    let bench = Bench { runtime, caller: caller(), width, depth };
    let mut took = Vec::new();
    let each = |what, elapsed: Duration| Took { what, tasks: total, micros: micros(elapsed) / total as f64 };

    place.note(&format!("tasks: {total} behind one another"));
    let (session_id, created) = bench.create(Shape::Chains).await?;
    took.push(each("create, each behind another", created));
    took.push(Took { what: "get_task", tasks: total, micros: bench.get().await? });
    took.push(Took { what: "list_tasks, a page of 50", tasks: total, micros: bench.list(&session_id).await? });
    took.push(each("complete in order", bench.complete().await?));

    place.note(&format!("tasks: {total} below one another"));
    let (session_id, created) = bench.create(Shape::Tree).await?;
    took.push(each("create, each below another", created));
    took.push(each("cancel from the root", bench.cancel(&session_id).await?));
    bench.runtime.close().await;
    Ok(took)
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// Below one root, each layer blocked by the one before.
    Chains,
    /// Each below one of the layer before.
    Tree,
}

impl Shape {
    fn name(self) -> &'static str {
        if self == Self::Chains { "chain" } else { "tree" }
    }

    fn id(self, layer: usize, at: usize) -> String {
        format!("task_{}.{layer}.{at}", self.name())
    }

    fn root(self) -> String {
        format!("task_{}", self.name())
    }
}

struct Bench {
    runtime: Runtime,
    caller: Caller,
    width: usize,
    depth: usize,
}

impl Bench {
    async fn call<C: Command>(&self, params: Value) -> Result<C::Output>
    where
        Runtime: Handle<C>,
    {
        let command: C = serde_json::from_value(params)?;
        self.runtime.call(&self.caller, command).await.map_err(|refusal| anyhow!("{} was refused: {refusal}", C::NAME))
    }

    async fn create(&self, shape: Shape) -> Result<(SessionId, Duration)> {
        let root: CreateTaskResult =
            self.call::<CreateTask>(json!({ "task_id": shape.root(), "objective": "the whole" })).await?;
        let started = Instant::now();
        for layer in 0..self.depth {
            let one = |at| async move {
                let mut params = json!({
                    "task_id": shape.id(layer, at),
                    "objective": "Look through the open incidents and say which one needs a person first.",
                    "parent_task_id": shape.root(),
                });
                match (shape, layer.checked_sub(1)) {
                    (Shape::Chains, Some(before)) => params["blocked_by"] = json!([shape.id(before, at)]),
                    (Shape::Tree, Some(before)) => params["parent_task_id"] = json!(shape.id(before, at)),
                    _ => {}
                }
                self.call::<CreateTask>(params).await.map(drop)
            };
            self.all(one).await?;
        }
        Ok((root.session_id, started.elapsed()))
    }

    /// Does something with every task of a layer, many at once.
    async fn all<F: Future<Output = Result<()>>>(&self, one: impl FnMut(usize) -> F) -> Result<()> {
        futures::stream::iter(0..self.width).map(one).buffer_unordered(AT_ONCE).try_collect::<Vec<()>>().await.map(drop)
    }

    /// Every layer completes, and so begins the next.
    async fn complete(&self) -> Result<Duration> {
        let shape = Shape::Chains;
        let started = Instant::now();
        self.all(|at| async move { self.call::<StartTask>(json!({ "task_id": shape.id(0, at) })).await.map(drop) })
            .await?;
        for layer in 0..self.depth {
            let one = |at| async move {
                self.call::<CompleteTask>(json!({ "task_id": shape.id(layer, at) })).await.map(drop)
            };
            self.all(one).await?;
        }
        let elapsed = started.elapsed();
        self.call::<StartTask>(json!({ "task_id": shape.root() })).await?;
        let done = self.call::<CompleteTask>(json!({ "task_id": shape.root() })).await?;
        anyhow::ensure!(done.status == TaskStatus::Completed, "the root is {:?}", done.status);
        Ok(elapsed)
    }

    /// From the order to the end of the last task it reaches.
    async fn cancel(&self, session_id: &SessionId) -> Result<Duration> {
        let root: TaskId = Shape::Tree.root().parse().context("an id of ours")?;
        let started = Instant::now();
        let from = self.call::<CancelTask>(json!({ "task_id": root, "propagation": "descendants" })).await?.sequence;
        let events = self.runtime.subscribe(&self.caller, session_id, from).await;
        let mut events = events.map_err(|refusal| anyhow!("{refusal}"))?;
        while self.call::<GetTask>(json!({ "task_id": root })).await?.status != TaskStatus::Cancelled {
            // A piece at a time: the root ends with the last one.
            events.next().await.map_err(|refusal| anyhow!("{refusal}"))?;
        }
        Ok(started.elapsed())
    }

    async fn get(&self) -> Result<f64> {
        let mut latencies = Latencies::new()?;
        for look in 0..LOOKS {
            let params = json!({ "task_id": Shape::Chains.id(look % self.depth, look % self.width) });
            let started = Instant::now();
            self.call::<GetTask>(params).await?;
            latencies.record(started.elapsed());
        }
        Ok(latencies.middle_micros())
    }

    async fn list(&self, session_id: &SessionId) -> Result<f64> {
        let mut latencies = Latencies::new()?;
        let mut cursor = Value::Null;
        for _ in 0..LOOKS {
            let params = json!({ "filters": { "session_id": session_id, "status": ["blocked"] }, "cursor": cursor });
            let started = Instant::now();
            let page = self.call::<ListTasks>(params).await?;
            latencies.record(started.elapsed());
            cursor = page.next_cursor.map_or(Value::Null, Value::from);
        }
        Ok(latencies.middle_micros())
    }
}

fn micros(elapsed: Duration) -> f64 {
    elapsed.as_secs_f64() * 1e6
}
