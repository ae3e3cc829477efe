//! PostgreSQL: a row with a counter for each channel, a table of messages, and one statement that counts and inserts, which
//! is how plain SQL gives out sequences without gaps. Publishers of one channel wait for each other's commit, because the
//! counter's row is locked until then; publishers of different channels share syncs.

mod wire;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use super::super::load::Ask;
use super::process::{Process, Says, User, command, find, free_address, user};
use super::{Clients, Plan, Running, Turns, channel_name};
use wire::Connection;

const SETTING: &str = "synchronous_commit on";
/// Debian keeps the server's programs off the path.
const VERSIONS: &str = "/usr/lib/postgresql";
/// It does not run as root; these are who it runs as then, the first that exists.
const USERS: &[&str] = &["postgres", "nobody"];

const TABLES: &str = "
    CREATE TABLE channels (channel text PRIMARY KEY, sequence bigint NOT NULL);
    CREATE TABLE messages (
        channel text NOT NULL,
        sequence bigint NOT NULL,
        message_id uuid NOT NULL DEFAULT gen_random_uuid(),
        published_at timestamptz NOT NULL DEFAULT now(),
        payload bytea NOT NULL,
        PRIMARY KEY (channel, sequence)
    )";
const PUBLISH: &str = "
    WITH next AS (UPDATE channels SET sequence = sequence + 1 WHERE channel = $1 RETURNING sequence)
    INSERT INTO messages (channel, sequence, payload) SELECT $1, sequence, $2::bytea FROM next RETURNING sequence";

pub(super) async fn start(plan: &Plan, dir: &Path) -> Result<Option<Running>> {
    let versions = versions();
    let (Some(initdb), Some(postgres)) = (find("initdb", &versions), find("postgres", &versions)) else {
        return Ok(None);
    };
    let user = other_user(dir)?;
    let (address, data) = (free_address()?, dir.join("data"));
    make_data(&initdb, &data, dir, user).await?;
    let mut server = command(&postgres, dir);
    server.arg("-D").arg(&data).args(["-p", &address.port().to_string()]);
    let connections = format!("max_connections={}", plan.clients + 20);
    // All but the first three are what a new database has, written out because they are what is compared.
    for setting in ["listen_addresses=127.0.0.1", "unix_socket_directories=", &connections].into_iter().chain([
        "fsync=on",
        "synchronous_commit=on",
        "full_page_writes=on",
    ]) {
        server.args(["-c", setting]);
    }
    run_as(&mut server, user);
    let ready = "database system is ready to accept connections";
    let process = Process::start(server, Says::OnStderr, ready).await.context("postgres")?;
    make_tables(address, plan.channels).await?;
    let mut clients = Vec::with_capacity(plan.clients);
    for client in 0..plan.clients {
        clients.push(Client::open(address, client, plan).await?);
    }
    Ok(Some(Running { process, setting: SETTING, clients: Clients::Postgres(clients) }))
}

/// Where the programs of each version are, the newest first.
fn versions() -> Vec<PathBuf> {
    let Ok(found) = std::fs::read_dir(VERSIONS) else { return Vec::new() };
    let number = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let mut versions: Vec<PathBuf> = found.flatten().map(|entry| entry.path()).collect();
    versions.sort_by_key(|path| std::cmp::Reverse(number(path)));
    versions.into_iter().map(|version| version.join("bin")).collect()
}

/// Where we are root: somebody else, who then owns the directory.
fn other_user(dir: &Path) -> Result<Option<User>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let passwd = std::fs::read_to_string("/etc/passwd").context("users cannot be listed")?;
    let user =
        user(&passwd, USERS).context("PostgreSQL does not run as root, and there is no other user to run it as")?;
    std::os::unix::fs::chown(dir, Some(user.uid), Some(user.gid)).context("its directory cannot be given away")?;
    Ok(Some(user))
}

fn run_as(command: &mut tokio::process::Command, user: Option<User>) {
    if let Some(User { uid, gid }) = user {
        command.uid(uid).gid(gid);
    }
}

async fn make_data(initdb: &Path, data: &Path, dir: &Path, user: Option<User>) -> Result<()> {
    let mut make = command(initdb, dir);
    make.arg("-D").arg(data).args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
    run_as(&mut make, user);
    // Whoever cannot reach the directory cannot even be started in it.
    let reach = "initdb cannot run; where we are root, PostgreSQL runs as somebody else, who has to reach --dir";
    let made = make.output().await.context(reach)?;
    if !made.status.success() {
        bail!("initdb failed: {}", String::from_utf8_lossy(&made.stderr).trim());
    }
    Ok(())
}

async fn make_tables(address: SocketAddr, channels: usize) -> Result<()> {
    let mut connection = Connection::open(address).await?;
    connection.run(TABLES).await?;
    let last = channels.max(1) - 1;
    let rows = format!("SELECT '{}' || number, 0 FROM generate_series(0, {last}) AS number", channel_prefix());
    connection.run(&format!("INSERT INTO channels {rows}")).await?;
    connection.run("VACUUM ANALYZE channels").await
}

/// What all names of channels begin with, so that the rows can be made in one statement.
fn channel_prefix() -> String {
    channel_name(0).trim_end_matches('0').to_owned()
}

pub(in crate::bench) struct Client {
    connection: Connection,
    turns: Turns,
    payload: Arc<[u8]>,
}

impl Client {
    async fn open(address: SocketAddr, client: usize, plan: &Plan) -> Result<Self> {
        let mut connection = Connection::open(address).await?;
        connection.prepare(PUBLISH).await?;
        Ok(Self { connection, turns: Turns::of(client, plan), payload: plan.payload.clone() })
    }
}

impl Ask for Client {
    async fn ask(&mut self) -> Result<()> {
        let channel = channel_name(self.turns.channel());
        match self.connection.execute(&[channel.as_bytes(), &self.payload]).await? {
            1 => Ok(()),
            rows => bail!("postgres gave {rows} sequences for one message of {channel}"),
        }
    }
}
