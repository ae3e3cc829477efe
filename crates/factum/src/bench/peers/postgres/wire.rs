//! Just enough of PostgreSQL's protocol 3.0: statements as text, and one prepared statement with its parameters in binary.
//!
//! It understands a server that trusts us on loopback and nothing more.

use std::net::SocketAddr;

use anyhow::{Result, bail};

use super::super::socket::{Parsed, Socket};

const PROTOCOL: i32 = 3 << 16;
const STARTUP: &[u8] = b"user\0postgres\0database\0postgres\0\0";
/// What says that parameters or results are in binary.
const BINARY: i16 = 1;

pub(super) struct Connection {
    socket: Socket,
    request: Vec<u8>,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> Result<Self> {
        let mut connection = Self { socket: Socket::open(address).await?, request: Vec::new() };
        let startup = [&PROTOCOL.to_be_bytes(), STARTUP].concat();
        put_sized(&startup, &mut connection.request);
        connection.exchange().await?;
        Ok(connection)
    }

    /// Runs statements and waits until they are done.
    pub(super) async fn run(&mut self, statements: &str) -> Result<()> {
        put_message(b'Q', &[statements.as_bytes(), b"\0"], &mut self.request);
        self.exchange().await.map(drop)
    }

    /// Prepares the statement of this connection.
    pub(super) async fn prepare(&mut self, statement: &str) -> Result<()> {
        let no_types = 0_i16.to_be_bytes();
        put_message(b'P', &[b"\0", statement.as_bytes(), b"\0", &no_types], &mut self.request);
        put_message(b'S', &[], &mut self.request);
        self.exchange().await.map(drop)
    }

    /// Runs the prepared statement in a transaction of its own, and says how many rows it gave.
    pub(super) async fn execute(&mut self, parameters: &[&[u8]]) -> Result<usize> {
        put_execution(parameters, &mut self.request);
        self.exchange().await
    }

    /// Sends what was put together and reads until the server is ready for more.
    async fn exchange(&mut self) -> Result<usize> {
        self.socket.send(&self.request).await?;
        self.request.clear();
        let mut rows = 0;
        loop {
            match self.socket.frame(answer).await? {
                Answer::Ready => return Ok(rows),
                Answer::Row => rows += 1,
                Answer::Other => {}
            }
        }
    }
}

/// Bind, Execute and Sync, for the statement and the portal without a name.
fn put_execution(parameters: &[&[u8]], out: &mut Vec<u8>) {
    let one_format = [1_i16.to_be_bytes(), BINARY.to_be_bytes()].concat();
    let mut bind = b"\0\0".to_vec();
    bind.extend_from_slice(&one_format);
    bind.extend_from_slice(&(parameters.len() as i16).to_be_bytes());
    for parameter in parameters {
        bind.extend_from_slice(&(parameter.len() as i32).to_be_bytes());
        bind.extend_from_slice(parameter);
    }
    bind.extend_from_slice(&one_format);
    put_message(b'B', &[&bind], out);
    let all_rows = 0_i32.to_be_bytes();
    put_message(b'E', &[b"\0", &all_rows], out);
    put_message(b'S', &[], out);
}

fn put_message(kind: u8, parts: &[&[u8]], out: &mut Vec<u8>) {
    out.push(kind);
    put_sized(&parts.concat(), out);
}

/// A length counts itself.
fn put_sized(body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(body.len() as i32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

/// What matters of the server's messages.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Ready,
    Row,
    Other,
}

fn answer(buffer: &[u8]) -> Result<Parsed<Answer>> {
    let Some((head, rest)) = buffer.split_first_chunk::<5>() else { return Ok(None) };
    let [kind, length @ ..] = *head;
    let Some(length) = u32::from_be_bytes(length).checked_sub(4) else {
        bail!("postgres sent a message without length")
    };
    let Some(body) = rest.get(..length as usize) else { return Ok(None) };
    let answer = match (kind, body) {
        (b'E', fields) => bail!("postgres answered {:?}", error_text(fields)),
        // Nothing but trust: the database is ours, and new.
        (b'R', method) if method != [0; 4] => bail!("postgres wants a password"),
        (b'Z', _) => Answer::Ready,
        (b'D', _) => Answer::Row,
        _ => Answer::Other,
    };
    Ok(Some((answer, head.len() + body.len())))
}

/// The message among the fields of an error.
fn error_text(fields: &[u8]) -> String {
    let message = fields.split(|&byte| byte == 0).find_map(|field| field.strip_prefix(b"M"));
    String::from_utf8_lossy(message.unwrap_or(fields)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_has_its_parameters_in_binary() {
        let mut out = Vec::new();
        put_execution(&[b"c", b"\x00\xff"], &mut out);
        let bind = b"B\0\0\0\x1b\0\0\0\x01\0\x01\0\x02\0\0\0\x01c\0\0\0\x02\0\xff\0\x01\0\x01";
        let expected = [&bind[..], b"E\0\0\0\x09\0\0\0\0\0", b"S\0\0\0\x04"].concat();
        assert_eq!(out, expected);
        // The length stands behind the kind and counts itself.
        assert_eq!(bind.len() - 1, 0x1b);
    }

    #[test]
    fn answers_are_read_once_they_are_whole() {
        let whole = b"D\0\0\0\x09\0\x01ab!Z\0\0\0\x05I";
        for cut in 0..10 {
            assert_eq!(answer(&whole[..cut]).unwrap(), None, "{cut}");
        }
        assert_eq!(answer(whole).unwrap(), Some((Answer::Row, 10)));
        assert_eq!(answer(&whole[10..]).unwrap(), Some((Answer::Ready, 6)));
        assert_eq!(answer(b"R\0\0\0\x08\0\0\0\0").unwrap(), Some((Answer::Other, 9)));
    }

    #[test]
    fn refusals_are_told() {
        let error = answer(b"E\0\0\0\x13SERROR\0Mno room\0\0").unwrap_err();
        assert!(error.to_string().contains("no room"), "{error}");
        assert!(answer(b"R\0\0\0\x08\0\0\0\x03").is_err());
        assert!(answer(b"Z\0\0\0\x03").is_err());
    }
}
