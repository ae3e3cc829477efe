//! Just enough HTTP/1.1 for a client that costs little and costs every server the same: one request, one whole answer,
//! the connection kept.
//!
//! It understands what our own servers send and nothing more; `client/` is the one for people.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use memchr::memmem;
use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::chunked::Chunked;

/// More than this before the end of a head is not a server of ours.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// Which server, and as whom.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) address: SocketAddr,
    host: String,
    token: Option<String>,
}

impl Target {
    pub(super) fn local(address: SocketAddr) -> Self {
        Self { address, host: address.to_string(), token: None }
    }

    /// A server somebody else has started.
    pub(super) async fn named(url: &str, token: Option<String>) -> Result<Self> {
        let url = Url::parse(url).with_context(|| format!("{url:?} is not the address of a server"))?;
        let (Some(host), "http") = (url.host_str(), url.scheme()) else {
            bail!("only http://HOST:PORT is measured, without TLS in between");
        };
        let host = format!("{host}:{}", url.port_or_known_default().unwrap_or(80));
        let address = tokio::net::lookup_host(&host).await.with_context(|| format!("{host} is not known"))?.next();
        Ok(Self { address: address.with_context(|| format!("{host} has no address"))?, host, token })
    }

    /// The bytes of a request with a JSON body.
    pub(super) fn post(&self, path: &str, body: &str) -> Vec<u8> {
        self.post_with(path, "", body)
    }

    /// The same with further headers, each with its line break.
    pub(super) fn post_with(&self, path: &str, headers: &str, body: &str) -> Vec<u8> {
        let length = body.len();
        let headers = format!("{headers}content-type: application/json\r\ncontent-length: {length}\r\n");
        format!("{}{body}", self.head("POST", path, &headers)).into_bytes()
    }

    pub(super) fn get(&self, path: &str, headers: &str) -> Vec<u8> {
        self.head("GET", path, headers).into_bytes()
    }

    fn head(&self, method: &str, path: &str, headers: &str) -> String {
        let token = self.token.as_ref().map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
        format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n{token}{headers}\r\n", self.host)
    }
}

/// A connection that is kept.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    content: Vec<u8>,
}

impl Connection {
    pub(super) async fn open(target: &Target) -> Result<Self> {
        let stream = TcpStream::connect(target.address).await;
        let stream = stream.with_context(|| format!("no connection to {}", target.address))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(4 << 10), content: Vec::new() })
    }

    /// Sends a request and waits for the whole answer, which has to be a success.
    pub(super) async fn call(&mut self, request: &[u8]) -> Result<&[u8]> {
        let head = self.send(request).await?;
        let length = head.length.context("an answer has no content-length")?;
        while self.buffer.len() < head.bytes + length {
            self.read().await?;
        }
        let body = &self.buffer[head.bytes..head.bytes + length];
        if !head.is_success() {
            bail!("the server answered {}: {}", head.status, String::from_utf8_lossy(body));
        }
        Ok(body)
    }

    /// Sends a request and waits for the whole answer, however long it is: one that is streamed says itself where it ends.
    pub(super) async fn whole(&mut self, request: &[u8]) -> Result<&[u8]> {
        let head = self.send(request).await?;
        if let Some(length) = head.length {
            while self.buffer.len() < head.bytes + length {
                self.read().await?;
            }
            self.content.clear();
            self.content.extend_from_slice(&self.buffer[head.bytes..head.bytes + length]);
        } else {
            self.chunks(head.bytes).await?;
        }
        if !head.is_success() {
            bail!("the server answered {}: {}", head.status, String::from_utf8_lossy(&self.content));
        }
        Ok(&self.content)
    }

    /// Takes the chunked coding off what stands behind the head, to its very end: the connection is used again.
    async fn chunks(&mut self, mut at: usize) -> Result<()> {
        let mut chunked = Chunked::default();
        self.content.clear();
        loop {
            chunked.decode(&self.buffer[at..], &mut self.content)?;
            at = self.buffer.len();
            if chunked.is_over() && self.buffer.ends_with(b"\r\n\r\n") {
                return Ok(());
            }
            self.read().await?;
        }
    }

    /// Sends a request whose answer does not end; what came behind its head is given back with the stream.
    pub(super) async fn stream(mut self, request: &[u8]) -> Result<(TcpStream, Vec<u8>)> {
        let head = self.send(request).await?;
        if !head.is_success() {
            bail!("the server answered {}", head.status);
        }
        Ok((self.stream, self.buffer.split_off(head.bytes)))
    }

    async fn send(&mut self, request: &[u8]) -> Result<Head> {
        self.buffer.clear();
        self.stream.write_all(request).await?;
        loop {
            self.read().await?;
            if let Some(head) = Head::parse(&self.buffer)? {
                return Ok(head);
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                bail!("the head of an answer does not end");
            }
        }
    }

    async fn read(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => bail!("the server closed the connection"),
            _ => Ok(()),
        }
    }
}

/// What matters of a response's head.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    length: Option<usize>,
    /// Where the body begins.
    bytes: usize,
}

impl Head {
    /// `None` where it is not there yet.
    fn parse(buffer: &[u8]) -> Result<Option<Self>> {
        let Some(end) = memmem::find(buffer, b"\r\n\r\n") else { return Ok(None) };
        let text = std::str::from_utf8(&buffer[..end])?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).context("an answer without a status")?;
        let length = lines
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .map(|(_, value)| value.trim().parse())
            .transpose()?;
        Ok(Some(Self { status: status.parse()?, length, bytes: end + 4 }))
    }

    fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_once_it_is_whole() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\ndate: x\r\n\r\nhello";
        for cut in 0..whole.len() - 5 {
            assert_eq!(Head::parse(&whole[..cut]).unwrap(), None, "{cut}");
        }
        let bytes = whole.len() - 5;
        assert_eq!(Head::parse(whole).unwrap(), Some(Head { status: 200, length: Some(5), bytes }));
        assert!(Head::parse(b"nonsense\r\n\r\n").is_err());
    }

    #[test]
    fn requests_have_their_length_and_token() {
        let address: SocketAddr = "127.0.0.1:7420".parse().unwrap();
        let target = Target { token: Some("secret".into()), ..Target::local(address) };
        let request = String::from_utf8(target.post("/v1/x", "{}")).unwrap();
        let expected = "POST /v1/x HTTP/1.1\r\nhost: 127.0.0.1:7420\r\nauthorization: Bearer secret\r\n\
                        content-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(request, expected);
    }
}
