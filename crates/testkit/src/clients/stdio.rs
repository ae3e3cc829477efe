//! JSON-RPC over the pipes of `factum stdio`.

use std::path::Path;
use std::process::Stdio as Pipe;

use async_trait::async_trait;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Child;
use tokio::sync::oneshot;

use super::mux::{Mux, mux};
use super::{Client, Outcome};
use crate::server::command;
use crate::wait::within;

/// A process that speaks over its pipes. Dropping it kills it.
pub struct Stdio {
    mux: Mux,
    child: Child,
    end_input: oneshot::Sender<()>,
}

impl Stdio {
    /// Starts `factum stdio` with these arguments and variables.
    pub fn spawn(binary: &str, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = command(Path::new(binary));
        command.arg("stdio").args(args).envs(env.iter().copied());
        let mut child = command.stdin(Pipe::piped()).stdout(Pipe::piped()).spawn().unwrap();
        let (mux, receiving, mut texts) = mux();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                receiving.text(&line);
            }
        });
        let mut input = child.stdin.take().unwrap();
        let (end_input, mut ended) = oneshot::channel::<()>();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    biased;
                    Some(text) = texts.recv() => {
                        if input.write_all(format!("{text}\n").as_bytes()).await.is_err() {
                            return;
                        }
                    }
                    _ = &mut ended => return,
                }
            }
        });
        Self { mux, child, end_input }
    }

    /// Sends a line as it is.
    pub fn send(&self, line: impl Into<String>) {
        self.mux.send(line.into());
    }

    /// The next event notification, or answer to a line that was sent as it is.
    pub async fn next(&self) -> Option<Value> {
        self.mux.other().await
    }

    /// Ends the input; gives the exit code back.
    pub async fn end(mut self) -> Option<i32> {
        drop(self.end_input);
        within("the end of stdio", self.child.wait()).await.unwrap().code()
    }
}

#[async_trait]
impl Client for Stdio {
    fn name(&self) -> &'static str {
        "stdio"
    }

    async fn call(&self, method: &str, params: Value) -> Outcome {
        self.mux.call(method, &params).await
    }
}
