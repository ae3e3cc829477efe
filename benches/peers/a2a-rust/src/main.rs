//! A server written with the official Rust crate, for `factum bench a2a`: `factum-bench-a2a PORT`.
//!
//! It keeps tasks in memory, and its agent answers at once: a task, what was said as an artifact, done.

use std::sync::Arc;

use a2a::{
    A2AError, Artifact, Part, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use a2a_server::task_store::InMemoryTaskStore;
use a2a_server::{AgentExecutor, DefaultRequestHandler, ExecutorContext};
use axum::serve::ListenerExt;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

/// As in the binary that it is compared with.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Echo;

impl AgentExecutor for Echo {
    fn execute(&self, context: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let (task_id, context_id) = context.task_info();
        let said = context.message.as_ref().and_then(|message| message.text()).unwrap_or_default().to_owned();
        let status = |state| TaskStatus { state, message: None, timestamp: None };
        let task = Task {
            id: task_id.clone(),
            context_id: context_id.clone(),
            status: status(TaskState::Working),
            artifacts: None,
            history: context.message.map(|message| vec![message]),
            metadata: None,
        };
        let artifact = Artifact {
            artifact_id: "response".to_owned(),
            name: None,
            description: None,
            parts: vec![Part::text(said)],
            metadata: None,
            extensions: None,
        };
        let artifact = TaskArtifactUpdateEvent {
            task_id: task_id.clone(),
            context_id: context_id.clone(),
            artifact,
            append: None,
            last_chunk: Some(true),
            metadata: None,
        };
        let done = TaskStatusUpdateEvent { task_id, context_id, status: status(TaskState::Completed), metadata: None };
        let events =
            [StreamResponse::Task(task), StreamResponse::ArtifactUpdate(artifact), StreamResponse::StatusUpdate(done)];
        stream::iter(events.map(Ok)).boxed()
    }

    fn cancel(&self, _: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        stream::empty().boxed()
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).unwrap_or_default();
    let handler = Arc::new(DefaultRequestHandler::new(Echo, InMemoryTaskStore::new()));
    let app = a2a_server::jsonrpc::jsonrpc_router(handler);
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    println!("listening on http://{}", listener.local_addr()?);
    // As in ours: without it every stream would wait for the system's timers, not for the crate.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, app).await
}
