//! Redis streams: one stream for each channel, one `XADD` for each message, and an append-only file that is synced before
//! the answer.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use super::super::load::Ask;
use super::process::{Process, Says, command, find, free_address};
use super::socket::{Parsed, Socket, line};
use super::{Clients, Plan, Running, Turns, channel_name};

const SETTING: &str = "appendfsync always";

pub(super) async fn start(plan: &Plan, dir: &Path) -> Result<Option<Running>> {
    let Some(executable) = find("redis-server", &[]) else { return Ok(None) };
    let address = free_address()?;
    let mut server = command(&executable, dir);
    server.args(["--bind", "127.0.0.1", "--port", &address.port().to_string(), "--daemonize", "no"]);
    // The file is the whole truth here: snapshots beside it would be written for nothing.
    server.args(["--appendonly", "yes", "--appendfsync", "always", "--save", ""]);
    server.args(["--maxclients", &(plan.clients + 100).to_string()]);
    let process = Process::start(server, Says::OnStdout, "Ready to accept connections").await.context("redis")?;
    let mut clients = Vec::with_capacity(plan.clients);
    for client in 0..plan.clients {
        clients.push(Client::open(address, client, plan).await?);
    }
    Ok(Some(Running { process, setting: SETTING, clients: Clients::Redis(clients) }))
}

pub(super) struct Client {
    socket: Socket,
    turns: Turns,
    payload: Arc<[u8]>,
    request: Vec<u8>,
}

impl Client {
    async fn open(address: SocketAddr, client: usize, plan: &Plan) -> Result<Self> {
        let (turns, payload) = (Turns::of(client, plan), plan.payload.clone());
        Ok(Self { socket: Socket::open(address).await?, turns, payload, request: Vec::new() })
    }
}

impl Ask for Client {
    async fn ask(&mut self) -> Result<()> {
        let channel = channel_name(self.turns.channel());
        self.request.clear();
        encode(&[b"XADD", channel.as_bytes(), b"*", b"payload", &self.payload], &mut self.request);
        self.socket.send(&self.request).await?;
        self.socket.frame(answer).await
    }
}

/// A command with its arguments, as RESP has them.
fn encode(parts: &[&[u8]], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("*{}\r\n", parts.len()).as_bytes());
    for part in parts {
        out.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
}

/// The answer to `XADD`: the id it gave, as a bulk string.
fn answer(buffer: &[u8]) -> Result<Parsed<()>> {
    let Some((head, used)) = line(buffer) else { return Ok(None) };
    let text = std::str::from_utf8(head)?;
    match text.split_at_checked(1) {
        Some(("$", length)) if length != "-1" => {
            let whole = used + length.parse::<usize>()? + 2;
            Ok((buffer.len() >= whole).then_some(((), whole)))
        }
        _ => bail!("redis answered {text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_an_array_of_bulk_strings() {
        let mut out = Vec::new();
        encode(&[b"XADD", b"c", b"*", b"payload", b"a\r\nb"], &mut out);
        assert_eq!(out, b"*5\r\n$4\r\nXADD\r\n$1\r\nc\r\n$1\r\n*\r\n$7\r\npayload\r\n$4\r\na\r\nb\r\n");
    }

    #[test]
    fn an_answer_is_read_once_it_is_whole() {
        let whole = b"$15\r\n1700000000000-0\r\n$2";
        for cut in 0..whole.len() - 2 {
            assert_eq!(answer(&whole[..cut]).unwrap(), None, "{cut}");
        }
        assert_eq!(answer(whole).unwrap(), Some(((), whole.len() - 2)));
        for wrong in [&b"-ERR disk full\r\n"[..], b"$-1\r\n", b"\r\n"] {
            assert!(answer(wrong).is_err());
        }
    }
}
