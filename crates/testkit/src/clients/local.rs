//! The runtime itself, in this process: what every transport is compared with.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use factum_model::registry::Scopes;
use factum_model::{ErrorCode, Refusal};
use factum_runtime::{Agents, CallError, Caller, Options, Runtime, Secret};
use factum_store::{Blobs, EmbeddedStore, MemoryStore, Store};
use serde_json::Value;

use super::{Client, Outcome, error_object};

/// A runtime in this process and the caller it is asked as.
pub struct Local {
    runtime: Runtime,
    caller: Caller,
    name: &'static str,
}

impl Local {
    /// On a store in memory. Blobs still need a directory.
    pub async fn in_memory(agents: Agents, dir: &Path) -> Self {
        Self::start("in process, memory", Arc::new(MemoryStore::new()), agents, dir).await
    }

    /// On a store in a directory.
    pub async fn embedded(agents: Agents, dir: &Path) -> Self {
        let (store, _) = EmbeddedStore::open(dir, factum_store::Options::default()).unwrap();
        Self::start("in process, embedded", Arc::new(store), agents, dir).await
    }

    async fn start(name: &'static str, store: Arc<dyn Store>, agents: Agents, dir: &Path) -> Self {
        let blobs = Blobs::open(dir.join("blobs")).unwrap();
        let options = Options::new(agents, Secret::new([7; 32]));
        let runtime = Runtime::start(store, blobs, options).await.unwrap();
        Self { runtime, caller: Caller::new("agent://local", "dev", Scopes::admin()), name }
    }

    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }
}

#[async_trait]
impl Client for Local {
    fn name(&self) -> &'static str {
        self.name
    }

    async fn call(&self, method: &str, params: Value) -> Outcome {
        let answer = self.runtime.call_by_name(&self.caller, method, &params.to_string()).await;
        let refusal = match answer {
            Ok(result) => return Ok(serde_json::from_str(result.get()).unwrap()),
            Err(CallError::UnknownMethod) => Refusal::new(ErrorCode::NotFound, "there is no such method"),
            Err(CallError::Refused(refusal)) => refusal,
        };
        Err(error_object(&serde_json::to_value(refusal).unwrap()))
    }
}
