//! NATS JetStream: a stream on file for each channel, and publishes that wait for their acknowledgement, which is a message
//! to an inbox.
//!
//! `sync_interval: always` came with 2.10. An older server syncs every two minutes, so that its acknowledgements are not
//! durable; it is measured all the same, and its row says so.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::super::load::Ask;
use super::process::{Process, Says, command, find, free_address};
use super::socket::{Parsed, Socket, line};
use super::{Clients, Plan, Running, Turns, channel_name};

const SYNCED: &str = "sync_interval always";
const NOT_SYNCED: &str = "not durable: 2 min";
/// The first version that can sync every write.
const SYNC_ALWAYS_SINCE: (u32, u32) = (2, 10);
/// Every connection has its own answers only: an inbox of its own, with one request under way.
const HELLO: &str = r#"CONNECT {"verbose":false,"pedantic":false,"lang":"rust","version":"0","protocol":1}"#;

pub(super) async fn start(plan: &Plan, dir: &Path) -> Result<Option<Running>> {
    let Some(executable) = find("nats-server", &[]) else { return Ok(None) };
    let version = command(&executable, dir).arg("--version").output().await.context("nats-server --version")?;
    let syncs = version_of(&String::from_utf8_lossy(&version.stdout)).is_some_and(|it| it >= SYNC_ALWAYS_SINCE);
    let address = free_address()?;
    let file = dir.join("nats.conf");
    write(&file, &configuration(address, &dir.join("store"), syncs))?;
    let mut server = command(&executable, dir);
    server.arg("--config").arg(&file);
    let process = Process::start(server, Says::OnStderr, "Server is ready").await.context("nats")?;
    make_streams(address, plan.channels).await?;
    let mut clients = Vec::with_capacity(plan.clients);
    for client in 0..plan.clients {
        clients.push(Client::open(address, client, plan).await?);
    }
    let setting = if syncs { SYNCED } else { NOT_SYNCED };
    Ok(Some(Running { process, setting, clients: Clients::Nats(clients) }))
}

#[allow(clippy::disallowed_methods, reason = "a setting of somebody else's server, in a directory that is thrown away")]
fn write(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}

fn configuration(address: SocketAddr, store: &Path, syncs: bool) -> String {
    let sync = if syncs { "sync_interval: always" } else { "" };
    format!("listen: \"{address}\"\njetstream {{\n  store_dir: {:?}\n  {sync}\n}}\n", store.display().to_string())
}

/// `nats-server: v2.10.27` as 2 and 10.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let (_, version) = text.trim().rsplit_once('v')?;
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

async fn make_streams(address: SocketAddr, channels: usize) -> Result<()> {
    let mut connection = Connection::open(address).await?;
    for channel in (0..channels).map(channel_name) {
        let settings = json!({ "name": channel, "subjects": [channel], "storage": "file", "num_replicas": 1 });
        let subject = format!("$JS.API.STREAM.CREATE.{channel}");
        let answer = connection.request(&subject, settings.to_string().as_bytes()).await?;
        let error = serde_json::from_slice::<Value>(&answer).ok().and_then(|answer| answer.get("error").cloned());
        if let Some(error) = error {
            bail!("nats made no stream {channel}: {error}");
        }
    }
    Ok(())
}

pub(super) struct Client {
    connection: Connection,
    turns: Turns,
    payload: Arc<[u8]>,
}

impl Client {
    async fn open(address: SocketAddr, client: usize, plan: &Plan) -> Result<Self> {
        let (turns, payload) = (Turns::of(client, plan), plan.payload.clone());
        Ok(Self { connection: Connection::open(address).await?, turns, payload })
    }
}

impl Ask for Client {
    async fn ask(&mut self) -> Result<()> {
        let channel = channel_name(self.turns.channel());
        let answer = self.connection.request(&channel, &self.payload).await?;
        if !is_acknowledgement(&answer) {
            bail!("nats answered {}", String::from_utf8_lossy(&answer));
        }
        Ok(())
    }
}

/// `{"stream":"channel-0","seq":1}`; one that failed has an error instead. Parsing it would cost more than its reading.
fn is_acknowledgement(answer: &[u8]) -> bool {
    memchr::memmem::find(answer, b"\"seq\":").is_some() && memchr::memmem::find(answer, b"\"error\":").is_none()
}

/// A connection with an inbox for the answers to what it publishes, one at a time.
struct Connection {
    socket: Socket,
    inbox: String,
    request: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self> {
        let mut socket = Socket::open(address).await?;
        let Frame::Info(client_id) = socket.frame(frame).await? else { bail!("nats did not introduce itself") };
        let inbox = format!("_INBOX.{client_id}");
        socket.send(format!("{HELLO}\r\nSUB {inbox} 1\r\nPING\r\n").as_bytes()).await?;
        let Frame::Pong = socket.frame(frame).await? else { bail!("nats did not take the connection") };
        Ok(Self { socket, inbox, request: Vec::new() })
    }

    async fn request(&mut self, subject: &str, payload: &[u8]) -> Result<Vec<u8>> {
        self.request.clear();
        self.request.extend_from_slice(format!("PUB {subject} {} {}\r\n", self.inbox, payload.len()).as_bytes());
        self.request.extend_from_slice(payload);
        self.request.extend_from_slice(b"\r\n");
        self.socket.send(&self.request).await?;
        loop {
            match self.socket.frame(frame).await? {
                Frame::Message(payload) => return Ok(payload),
                Frame::Ping => self.socket.send(b"PONG\r\n").await?,
                Frame::Info(_) | Frame::Pong => {}
            }
        }
    }
}

/// What the server sends.
#[derive(Debug, PartialEq, Eq)]
enum Frame {
    /// Who it is; of all that, the number it gave this connection.
    Info(u64),
    Ping,
    Pong,
    Message(Vec<u8>),
}

fn frame(buffer: &[u8]) -> Result<Parsed<Frame>> {
    let Some((head, used)) = line(buffer) else { return Ok(None) };
    let text = std::str::from_utf8(head)?;
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    Ok(match verb {
        "INFO" => {
            let info: Value = serde_json::from_str(rest)?;
            Some((Frame::Info(info["client_id"].as_u64().context("nats gave no client_id")?), used))
        }
        "PING" => Some((Frame::Ping, used)),
        "PONG" => Some((Frame::Pong, used)),
        "MSG" => {
            let length: usize = rest.rsplit(' ').next().unwrap_or_default().parse()?;
            let whole = used + length + 2;
            (buffer.len() >= whole).then(|| (Frame::Message(buffer[used..used + length].to_vec()), whole))
        }
        _ => bail!("nats answered {text:?}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_once_they_are_whole() {
        let whole = b"MSG _INBOX.7 1 12\r\n{\"seq\":\r\n12}\r\nPING\r\n";
        let end = whole.len() - 6;
        for cut in 0..end {
            assert_eq!(frame(&whole[..cut]).unwrap(), None, "{cut}");
        }
        assert_eq!(frame(whole).unwrap(), Some((Frame::Message(b"{\"seq\":\r\n12}".to_vec()), end)));
        assert_eq!(frame(&whole[end..]).unwrap(), Some((Frame::Ping, 6)));
        assert_eq!(frame(b"PONG\r\n").unwrap(), Some((Frame::Pong, 6)));
        assert_eq!(frame(b"INFO {\"client_id\":7}\r\n").unwrap(), Some((Frame::Info(7), 22)));
        assert!(frame(b"-ERR 'Authorization Violation'\r\n").is_err());
    }

    #[test]
    fn an_acknowledgement_has_a_sequence_and_no_error() {
        assert!(is_acknowledgement(br#"{"stream":"channel-0","seq":12}"#));
        assert!(!is_acknowledgement(br#"{"error":{"code":503},"stream":"channel-0","seq":0}"#));
        assert!(!is_acknowledgement(b""));
    }

    #[test]
    fn every_write_is_synced_where_the_version_can() {
        assert_eq!(version_of("nats-server: v2.10.27\n"), Some((2, 10)));
        assert_eq!(version_of("nats-server: v2.9.10"), Some((2, 9)));
        assert_eq!(version_of("nats"), None);
        let address = "127.0.0.1:4222".parse().unwrap();
        let expected = "listen: \"127.0.0.1:4222\"\njetstream {\n  store_dir: \"/d\"\n  sync_interval: always\n}\n";
        assert_eq!(configuration(address, Path::new("/d"), true), expected);
        assert!(!configuration(address, Path::new("/d"), false).contains("sync"));
    }
}
