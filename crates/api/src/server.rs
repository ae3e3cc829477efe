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
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::ServiceExt;

use crate::a2a::{self, A2aOptions, Setup};
use crate::auth::{AuthOptions, Authenticator};
use crate::authority::name_host;
use crate::direct;
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
        let app = router(state.clone());
        let slots = Arc::new(Semaphore::new(state.limits.connections_max));
        let graceful = GracefulShutdown::new();
        let builder = Arc::new(builder(&state.limits));
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
            let (app, state, builder, watcher) = (app.clone(), state.clone(), builder.clone(), graceful.watcher());
            tokio::spawn(async move {
                let Some(rest) = direct::serve(&state, peer.ip(), stream).await else { return };
                let service = service(app, state, peer.ip(), place.clone());
                // A task of its own, so that a connection has the room of the one or of the other, never of both.
                tokio::spawn(async move {
                    let connection = builder.serve_connection_with_upgrades(TokioIo::new(rest), service);
                    if let Err(error) = watcher.watch(connection.into_owned()).await {
                        tracing::debug!(%peer, %error, "a connection ended badly");
                    }
                    drop(place);
                });
            });
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

/// What answers the requests of one connection.
fn service(
    app: Router,
    state: Arc<State>,
    peer: IpAddr,
    place: Place,
) -> impl hyper::service::Service<
    Request<Incoming>,
    Response = Response,
    Error = Infallible,
    Future = impl Future<Output = Result<Response, Infallible>> + Send,
> {
    hyper::service::service_fn(move |mut request: Request<Incoming>| {
        name_host(&mut request);
        let (app, state, place) = (app.clone(), state.clone(), place.clone());
        // Boxed, so that a connection that only listens does not keep the room that a command needs.
        async move {
            if direct_command(request.method(), request.uri().path()).is_some() {
                return Ok(Box::pin(direct(&state, peer, request)).await);
            }
            if request.method() == http::Method::POST && request.uri().path() == "/a2a" {
                let (head, body) = request.into_parts();
                return Ok(Box::pin(a2a::endpoint(&state, &head, peer, body)).await);
            }
            Box::pin(routed(app, peer, place, request)).await
        }
    })
}

async fn direct(state: &State, peer: IpAddr, request: Request<Incoming>) -> Response {
    let (head, body) = request.into_parts();
    let name = direct_command(&head.method, head.uri.path()).unwrap_or_default();
    command(state, name, &head.headers, peer, body).await
}

/// The router, told where the request comes from.
async fn routed(
    app: Router,
    peer: IpAddr,
    place: Place,
    mut request: Request<Incoming>,
) -> Result<Response, Infallible> {
    request.extensions_mut().insert(Peer(peer));
    request.extensions_mut().insert(place);
    app.oneshot(request).await
}
