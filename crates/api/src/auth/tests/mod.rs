//! Good and hostile credentials, through the one door they all come in by.

mod api_keys;
mod dev;
mod rotation;
mod setup;
mod signer;
mod tokens;

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use factum_model::Timestamp;
use factum_model::registry::{Scope, Scopes};
use factum_runtime::{Agents, Caller, Clock, Options, RandomIds, Runtime, Secret, Sources};
use factum_store::{Blobs, MemoryStore};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{AuthOptions, Authenticator, IssuerKeys, IssuerOptions, unauthenticated};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

/// When the tests happen, in seconds.
const NOW: i64 = 1_900_000_000;

const ISSUER: &str = "https://id.example";
const AUDIENCE: &str = "factum";

struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).unwrap()
    }
}

/// A runtime with a clock that only moves when told to.
struct World {
    runtime: Runtime,
    clock: Arc<TestClock>,
    dir: TempDir,
}

impl World {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(TestClock(AtomicI64::new(NOW)));
        let mut options = Options::new(Agents::demo(), Secret::new([7; 32]));
        options.sources = Sources { clock: clock.clone(), ids: Arc::new(RandomIds) };
        let blobs = Blobs::open(dir.path().join("blobs")).unwrap();
        let runtime = Runtime::start(Arc::new(MemoryStore::new()), blobs, options).await.unwrap();
        Self { runtime, clock, dir }
    }

    fn pass(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Writes a file of keys.
    #[allow(clippy::disallowed_methods, reason = "a test's own folder")]
    fn write(&self, name: &str, content: &str) -> PathBuf {
        let path: &Path = self.dir.path();
        std::fs::write(path.join(name), content).unwrap();
        path.join(name)
    }

    fn write_jwks(&self, name: &str, keys: &[Value]) -> PathBuf {
        self.write(name, &json!({ "keys": keys }).to_string())
    }

    async fn authenticator(&self, issuers: Vec<IssuerOptions>) -> Authenticator {
        Authenticator::new(self.runtime.clone(), options(issuers)).await.unwrap()
    }

    /// One issuer with these keys.
    async fn with_keys(&self, keys: IssuerKeys) -> Authenticator {
        self.authenticator(vec![IssuerOptions::new(ISSUER, AUDIENCE, keys)]).await
    }
}

/// Key servers of tests are on loopback.
fn options(issuers: Vec<IssuerOptions>) -> AuthOptions {
    AuthOptions { issuers, outbound: factum_outbound::Options::default().with_loopback(), ..AuthOptions::default() }
}

/// Who a caller is, for comparing.
fn who(caller: &Caller) -> (&str, &str, Scopes) {
    (&caller.principal, &caller.account, (*caller.scopes).clone())
}

fn scopes<const N: usize>(scopes: [Scope; N]) -> Scopes {
    scopes.into_iter().collect()
}

/// Whether a header is accepted, and if not, that it was refused with exactly the one answer.
async fn accepts(authenticator: &Authenticator, header: &str) -> bool {
    match authenticator.authenticate(Some(header), ELSEWHERE).await {
        Ok(_) => true,
        Err(refusal) => {
            assert_eq!(refusal, unauthenticated());
            false
        }
    }
}

async fn accepts_token(authenticator: &Authenticator, token: &str) -> bool {
    accepts(authenticator, &format!("Bearer {token}")).await
}
