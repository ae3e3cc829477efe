//! A wire between two servers that can be cut, also in the middle of a byte stream, refuse, stall in either direction, and
//! be restored: a proxy on loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What is wrong with the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Connections break; new ones are closed at once.
    Cut,
    /// The same after this many more bytes, whoever sends them.
    CutAfter(usize),
    /// Nobody listens.
    Refuse,
    /// Nothing gets through, and nobody is told.
    Stall,
    /// What is asked arrives, and no answer comes back.
    StallAnswers,
}

/// How the wire is. Connections that were opened before the last cut are broken.
#[derive(Clone, Debug, Default)]
struct State {
    target: Option<String>,
    trouble: Option<Trouble>,
    cuts: u64,
    bytes_left: Option<Arc<AtomicUsize>>,
}

pub(super) struct Link {
    address: SocketAddr,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    There,
    Back,
}

impl Link {
    /// A wire that leads nowhere yet.
    pub(super) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = watch::Sender::new(State::default());
        tokio::spawn(listen(listener, address, state.clone()));
        Self { address, state }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it leads from now on.
    pub(super) fn lead_to(&self, target: &str) {
        self.state.send_modify(|state| state.target = Some(target.to_owned()));
    }

    pub(super) fn trouble(&self, trouble: Trouble) {
        self.state.send_modify(|state| {
            state.trouble = Some(trouble);
            state.bytes_left = None;
            match trouble {
                Trouble::Cut | Trouble::Refuse => state.cuts += 1,
                Trouble::CutAfter(bytes) => state.bytes_left = Some(Arc::new(AtomicUsize::new(bytes))),
                Trouble::Stall | Trouble::StallAnswers => {}
            }
        });
    }

    /// What is stalled goes on, what was cut may come again.
    pub(super) fn restore(&self) {
        self.state.send_modify(|state| (state.trouble, state.bytes_left) = (None, None));
    }
}

async fn listen(listener: TcpListener, address: SocketAddr, sender: watch::Sender<State>) {
    let mut state = sender.subscribe();
    let refuses = |state: &State| state.trouble == Some(Trouble::Refuse);
    let mut listener = Some(listener);
    loop {
        let Some(open) = &listener else {
            state.wait_for(|state| !refuses(state)).await.unwrap();
            // Somebody else may have the port for a moment.
            listener = TcpListener::bind(address).await.ok();
            tokio::task::yield_now().await;
            continue;
        };
        tokio::select! {
            accepted = open.accept() => {
                let Ok((client, _)) = accepted else { continue };
                tokio::spawn(connect(client, sender.clone()));
            }
            _ = state.wait_for(refuses) => listener = None,
        }
    }
}

async fn connect(client: TcpStream, sender: watch::Sender<State>) {
    let (target, cuts) = {
        let state = sender.borrow();
        if state.trouble == Some(Trouble::Cut) {
            return;
        }
        (state.target.clone(), state.cuts)
    };
    let Some(target) = target else { return };
    let Ok(server) = TcpStream::connect(target).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut state = sender.subscribe();
    // When either way ends, both do.
    tokio::select! {
        () = pump(from_client, to_server, Way::There, sender.clone()) => {}
        () = pump(from_server, to_client, Way::Back, sender.clone()) => {}
        _ = state.wait_for(|state| state.cuts > cuts) => {}
    }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    way: Way,
    sender: watch::Sender<State>,
) {
    let mut state = sender.subscribe();
    let mut buffer = vec![0; 4096];
    while let Ok(read) = from.read(&mut buffer).await {
        let open = |state: &State| match state.trouble {
            Some(Trouble::Stall) => false,
            Some(Trouble::StallAnswers) => way == Way::There,
            _ => true,
        };
        let bytes_left = state.wait_for(open).await.unwrap().bytes_left.clone();
        let passes = bytes_left.as_ref().map_or(read, |left| take(left, read));
        if to.write_all(&buffer[..passes]).await.is_err() || read == 0 {
            return;
        }
        if passes < read {
            sender.send_modify(|state| {
                // Unless it was restored in this very moment.
                if state.bytes_left.is_some() {
                    (state.trouble, state.bytes_left) = (Some(Trouble::Cut), None);
                    state.cuts += 1;
                }
            });
            return;
        }
    }
}

/// Takes up to `wanted` from what is left.
fn take(left: &AtomicUsize, wanted: usize) -> usize {
    let before = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(wanted)));
    before.unwrap_or_default().min(wanted)
}
