//! One of the two servers: how it is started, and how it is asked while it is killed again and again.

use std::path::PathBuf;
use std::time::Duration;

use factum_testkit::clients::Http;
use factum_testkit::{Client, Launch, Server, within};
use serde_json::Value;
use tokio::sync::watch;

use super::link::Link;
use crate::crash::kills::{BINARY, is_up};

/// What is given away, by its first word. `boss` gives away whatever it is asked, and `relay:` gives it back.
const SCRIPT: &str = r#"
name = "mate"

[[on]]
starts_with = "boss:"
steps = [
  { delegate = { peer = "other", message = "{rest}", save = "x" } },
  { say = "got: {x}", when = { x = "succeeded" } },
  { say = "did not get it: {x.error}", when = { x = "failed" } },
]

[[on]]
starts_with = "relay:"
steps = [
  { delegate = { peer = "other", message = "{rest}", save = "x" } },
  { say = "relayed: {x}", when = { x = "succeeded" } },
  { say = "did not get it: {x.error}", when = { x = "failed" } },
]

[[on]]
starts_with = "slow:"
steps = [{ say = "slowly {rest}", over_ms = 400 }]

[[on]]
starts_with = "made:"
steps = [{ artifact = { name = "made.txt", media_type = "text/plain", text = "{rest}" } }, { say = "made {rest}" }]

[[on]]
starts_with = "fail:"
steps = [{ error = { category = "as_asked", message = "failed as asked", retryable = false } }]

[[on]]
any = true
steps = [{ say = "did {input}" }]
"#;

/// How long a request or a silent stream is waited for: short, so that a stalled link is noticed within a test.
const OUTBOUND: &str =
    "[outbound]\nconnect_timeout_ms = 1000\ntimeout_ms = 2000\nidle_timeout_ms = 3000\n[server]\nheartbeat_ms = 500\n";

/// The pause before somebody who was not answered asks again.
const ASK_PAUSE: Duration = Duration::from_millis(200);

pub(super) struct Side {
    pub(super) name: &'static str,
    server: Server,
    up: bool,
    /// Even while it is up, odd while it is down.
    generation: watch::Sender<u64>,
    pub(super) data: PathBuf,
    _dir: tempfile::TempDir,
}

impl Side {
    /// Starts a server that reaches the other one through `link`.
    pub(super) async fn start(name: &'static str, link: &Link, cancel_grace_ms: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (config, script, data) =
            (dir.path().join("factum.toml"), dir.path().join("mate.toml"), dir.path().join("data"));
        let peer = format!("[peers.other]\nurl = \"http://{}/a2a/agents/mate\"\n", link.address());
        let limits = format!("[limits]\ntask_cancel_grace_ms = {cancel_grace_ms}\n");
        std::fs::write(&config, format!("{OUTBOUND}{limits}{peer}")).unwrap();
        std::fs::write(&script, SCRIPT).unwrap();
        let launch = Launch::dev(BINARY, &data).arg("--config").arg(config.display().to_string());
        let server = launch.arg("--script").arg(script.display().to_string()).start().await;
        Self { name, server, up: true, generation: watch::Sender::new(0), data, _dir: dir }
    }

    pub(super) fn address(&self) -> &str {
        self.server.address()
    }

    pub(super) fn is_up(&self) -> bool {
        self.up
    }

    pub(super) fn http(&self) -> Http {
        self.server.http(None)
    }

    pub(super) async fn kill(&mut self) {
        self.server.kill().await;
        self.up = false;
        self.generation.send_modify(|generation| *generation += 1);
    }

    pub(super) async fn restart(&mut self) {
        self.server.restart().await;
        self.up = true;
        self.generation.send_modify(|generation| *generation += 1);
    }

    pub(super) async fn stop(&mut self) {
        self.server.term().await;
        self.up = false;
        self.generation.send_modify(|generation| *generation += 1);
    }

    pub(super) fn asker(&self) -> Asker {
        Asker { http: self.http(), generation: self.generation.subscribe() }
    }
}

/// Somebody who asks until there is an answer, through restarts.
pub(super) struct Asker {
    http: Http,
    generation: watch::Receiver<u64>,
}

impl Asker {
    /// The answer, or the refusal.
    pub(super) async fn insist(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        loop {
            let seen = *within("a server", self.generation.wait_for(is_up)).await.unwrap();
            match self.http.call(method, params.clone()).await {
                Err(error) if error["code"] == "transport" || error["code"] == "unavailable" => {
                    let changed = self.generation.wait_for(|generation| *generation != seen);
                    drop(tokio::time::timeout(ASK_PAUSE, changed).await);
                }
                answered => return answered,
            }
        }
    }
}
