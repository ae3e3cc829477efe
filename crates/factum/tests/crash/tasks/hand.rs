//! One who calls, over a transport of its own, and asks until there is an answer.

use std::sync::Arc;
use std::time::Duration;

use factum_testkit::clients::{Grpc, Http, Rpc, Stdio, WebSocket};
use factum_testkit::{Client, Outcome, within};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::super::kills::*;
use super::World;

pub(super) struct Hand {
    pub(super) world: Arc<World>,
    pub(super) principal: String,
    over: usize,
    client: Option<Box<dyn Client>>,
    generation: watch::Receiver<u64>,
}

impl Hand {
    /// `over` chooses the transport.
    pub(super) fn new(world: Arc<World>, principal: String, over: usize) -> Self {
        let generation = world.generation.subscribe();
        Self { world, principal, over, client: None, generation }
    }

    /// Whether it is time to stop.
    pub(super) fn is_over(&self) -> bool {
        *self.generation.borrow() == END
    }

    async fn connect(&self) -> Option<Box<dyn Client>> {
        let (address, token) = (&self.world.address, format!("dev:{}", self.principal));
        let token = Some(token.as_str());
        Some(match self.over % 5 {
            0 => Box::new(Http::new(address, token)),
            1 => Box::new(Rpc::new(address, token)),
            2 => Box::new(Grpc::open(address, token)),
            3 => Box::new(WebSocket::open(address, token).await.ok()?),
            _ => {
                let url = format!("http://{address}");
                Box::new(Stdio::spawn(BINARY, &["--url", &url], &[("FACTUM_TOKEN", token?)]))
            }
        })
    }

    /// An answer or a refusal, through lost connections, restarts and servers that are closing.
    pub(super) async fn ask(&mut self, method: &str, params: &Value) -> Outcome {
        loop {
            let seen = *within("a server", self.generation.wait_for(is_up)).await.unwrap();
            if self.client.is_none() {
                self.client = self.connect().await;
            }
            let outcome = match self.client.as_deref() {
                Some(client) => client.call(method, params.clone()).await,
                None => Err(json!({ "code": "transport" })),
            };
            match outcome {
                Err(error) if error["code"] == "transport" || error["code"] == "unavailable" => {}
                outcome => return outcome,
            }
            self.client = None;
            self.world.book(|book| book.unanswered += 1);
            // It died under us: there is no point in asking before it is back.
            if seen != END {
                let changed = self.generation.wait_for(|generation| *generation != seen);
                drop(tokio::time::timeout(Duration::from_secs(1), changed).await);
            }
        }
    }

    /// Has something written down. A refusal is an answer only where the command says what it came too late for.
    pub(super) async fn write(&mut self, method: &str, params: Value) -> Outcome {
        let outcome = self.ask(method, &params).await;
        match &outcome {
            Ok(answer) => {
                self.world.acknowledged.send_modify(|count| *count += 1);
                let (principal, answer) = (self.principal.clone(), answer.clone());
                self.world.book(|book| book.answered(principal, method, params, answer));
            }
            Err(refusal) => assert_eq!(refusal["code"], "precondition_failed", "{method} {params}: {refusal}"),
        }
        outcome
    }

    /// A task as it stands, also written down.
    pub(super) async fn look(&mut self, task_id: &str) -> Value {
        let record = self.ask("get_task", &json!({ "task_id": task_id })).await;
        let record = record.unwrap_or_else(|refusal| panic!("{task_id}: {refusal}"));
        self.world.book(|book| book.saw(&record));
        record
    }

    /// A batch and its items as they stand, also written down.
    pub(super) async fn look_at_job(&mut self, job_id: &str) -> Value {
        let seen = self.ask("get_job", &json!({ "job_id": job_id, "item_limit": 200 })).await;
        let seen = seen.unwrap_or_else(|refusal| panic!("{job_id}: {refusal}"));
        self.world.book(|book| book.saw_job(&seen));
        seen
    }

    /// Looks again and again. Gives the last look where it is over first.
    pub(super) async fn until(&mut self, task_id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut look = tokio::time::interval(Duration::from_millis(50));
        within("a change of a task", async {
            loop {
                look.tick().await;
                let record = self.look(task_id).await;
                if wanted(&record) || self.is_over() {
                    return record;
                }
            }
        })
        .await
    }
}
