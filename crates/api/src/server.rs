//! The listener: accepts connections within their bound, serves HTTP/1, HTTP/2 and gRPC on one port, and drains.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use factum_runtime::Runtime;
use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::ServiceExt;

use crate::a2a::{self, A2aOptions, Setup};
use crate::auth::{AuthOptions, Authenticator};
use crate::authority::name_host;
use crate::body::AnyBody;
use crate::direct::{self, Asked, Left, Line, Rewound};
use crate::http::{command, direct_command};
use crate::limits::TransportLimits;
use crate::metrics::{Metrics, Sample, Source, runtime_source};
use crate::router::router;
use crate::state::{Peer, Place, State};

/// How a server is set up.
pub struct ServerOptions {
    pub listen: SocketAddr,
    pub auth: AuthOptions,
    pub limits: TransportLimits,
    /// How often an idle stream says that it is alive.
    pub heartbeat: Duration,
    /// Where clients reach this server, if that is not where it listens. Stands in the agent card.
    pub public_url: Option<String>,
    pub a2a: A2aOptions,
    /// Figures of the store for `/metrics`.
    pub store_stats: Option<StoreStats>,
}

/// Asked for the store's figures.
pub type StoreStats = Arc<dyn Fn() -> Vec<Sample> + Send + Sync>;

/// A server that is bound and does not answer yet.
pub struct Server {
    listener: TcpListener,
    state: Arc<State>,
}

/// Connections that wait to be accepted, in the kernel.
const BACKLOG: u32 = 4_096;
/// How often principals that no longer call are forgotten.
const RATE_SWEEP: Duration = Duration::from_secs(60);
/// The pause after the system refused a connection, usually for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Binds the port. Port 0 picks a free one; [`Server::local_addr`] tells which.
pub async fn bind(runtime: Runtime, options: ServerOptions) -> io::Result<Server> {
    let socket =
        if options.listen.is_ipv4() { tokio::net::TcpSocket::new_v4()? } else { tokio::net::TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(options.listen)?;
    let listener = socket.listen(BACKLOG)?;
    let dev = options.auth.dev;
    let auth = Authenticator::new(runtime.clone(), options.auth).await;
    let auth = auth.map_err(|error| io::Error::other(error.to_string()))?;
    let store = options.store_stats.map(|stats| -> Source { Box::new(move || stats()) });
    let sources = std::iter::once(runtime_source(runtime.clone())).chain(store).collect();
    let metrics = Metrics::new(sources);
    let mut state = State::new(runtime, auth, dev, options.limits, options.heartbeat, Arc::new(metrics));
    state.public_url = options.public_url;
    state.listen = Some(options.listen.ip()).filter(|address| !address.is_unspecified());
    state.a2a = Setup::new(options.a2a);
    Ok(Server { listener, state: Arc::new(state) })
}

impl Server {
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` completes, then lets what is under way finish, within the drain limit. Streams end when
    /// the runtime begins to close, which this does first.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> io::Result<()> {
        let Server { listener, state } = self;
        let slots = Arc::new(Semaphore::new(state.limits.connections_max));
        let graceful = GracefulShutdown::new();
        let door = Arc::new(Door { app: router(state.clone()), builder: builder(&state.limits), state: state.clone() });
        let mut sweep = tokio::time::interval(RATE_SWEEP);
        tokio::pin!(shutdown);
        loop {
            let (stream, peer, slot) = tokio::select! {
                () = &mut shutdown => break,
                _ = sweep.tick() => {
                    state.sweep_rates();
                    continue;
                }
                accepted = accept(&listener, &slots) => accepted,
            };
            let place = Place::new((state.metrics.connection(), slot));
            let guest = Guest { door: door.clone(), peer, place, watcher: graceful.watcher() };
            guest.attend(Line::new(stream));
        }
        drop(listener);
        state.runtime.begin_close();
        tokio::select! {
            () = graceful.shutdown() => {}
            () = tokio::time::sleep(state.limits.drain_timeout) => {
                tracing::warn!("some connections did not finish within drain_timeout");
            }
        }
        Ok(())
    }
}

/// The next connection, once there is room for it. Errors of single connections are not errors of the server.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>) {
    let slot = slots.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Small answers must not wait for more to come.
                drop(stream.set_nodelay(true));
                return (stream, peer, slot);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn builder(limits: &TransportLimits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.header_timeout).half_close(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(u32::try_from(limits.streams_max).unwrap_or(u32::MAX))
        .keep_alive_interval(Some(Duration::from_secs(20)))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}

/// What answers requests, the same for all connections.
struct Door {
    state: Arc<State>,
    app: Router,
    builder: Builder<TokioExecutor>,
}

/// Somebody who is connected.
struct Guest {
    door: Arc<Door>,
    peer: SocketAddr,
    place: Place,
    /// The server is not closed before all of them are gone.
    watcher: Watcher,
}

impl Guest {
    /// Serves a connection to its end. Each way of doing that is a task of its own, so that a connection has the room of the
    /// one or of the other, never of all.
    fn attend(self, line: Line) {
        tokio::spawn(async move {
            match direct::serve(&self.door.state, self.peer.ip(), line).await {
                Left::Gone => {}
                Left::Asked(asked) => self.answer(asked),
                Left::NotOurs(rest) => self.leave_to_hyper(rest),
            }
        });
    }

    fn answer(self, asked: Box<Asked>) {
        tokio::spawn(async move {
            let Self { door, peer, place, .. } = &self;
            let line = asked.answer(&door.state, |request| door.answer(peer.ip(), place, request)).await;
            if let Some(line) = line {
                self.attend(line);
            }
        });
    }

    fn leave_to_hyper(self, rest: Rewound) {
        let Self { door, peer, place, watcher } = self;
        tokio::spawn(async move {
            let served = door.clone();
            let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
                name_host(&mut request);
                let (door, place) = (served.clone(), place.clone());
                async move { Ok::<_, Infallible>(door.answer(peer.ip(), &place, request).await) }
            });
            let connection = door.builder.serve_connection_with_upgrades(TokioIo::new(rest), service);
            if let Err(error) = watcher.watch(connection.into_owned()).await {
                tracing::debug!(%peer, %error, "a connection ended badly");
            }
        });
    }
}

impl Door {
    /// Answers one request. Boxed, so that a connection that only listens does not keep the room that a command needs.
    async fn answer<B: AnyBody + 'static>(&self, peer: IpAddr, place: &Place, request: Request<B>) -> Response {
        if direct_command(request.method(), request.uri().path()).is_some() {
            return Box::pin(direct(&self.state, peer, request)).await;
        }
        if request.method() == http::Method::POST && request.uri().path() == "/a2a" {
            let (head, body) = request.into_parts();
            return Box::pin(a2a::endpoint(&self.state, &head, peer, body)).await;
        }
        Box::pin(routed(self.app.clone(), peer, place.clone(), request)).await
    }
}

async fn direct<B: AnyBody>(state: &State, peer: IpAddr, request: Request<B>) -> Response {
    let (head, body) = request.into_parts();
    let name = direct_command(&head.method, head.uri.path()).unwrap_or_default();
    command(state, name, &head.headers, peer, body).await
}

/// The router, told where the request comes from.
async fn routed<B: AnyBody + 'static>(app: Router, peer: IpAddr, place: Place, mut request: Request<B>) -> Response {
    request.extensions_mut().insert(Peer(peer));
    request.extensions_mut().insert(place);
    app.oneshot(request).await.unwrap_or_else(|never| match never {})
}
