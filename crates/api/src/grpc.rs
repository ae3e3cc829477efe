//! gRPC on the same port: `factum.v1.Runtime/Call` and `Subscribe`, with the same JSON as everywhere else.

use std::pin::Pin;
use std::sync::Arc;

use factum_model::Refusal;
use factum_model::id::SessionId;
use factum_model::peer::Transport::Grpc;
use factum_runtime::{CallError, Caller, ChannelItem, ChannelPass, ChannelStream, FeedEvent, FeedStream, PeerStream};
use futures::{Stream, StreamExt};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::metadata::MetadataValue;
use tonic::{Request, Response, Status};

use crate::alive::{Heartbeat, Recheck};
use crate::casing::Casing;
use crate::channels;
use crate::metrics::Transport;
use crate::peers::{self, StreamPeer};
use crate::rpc::no_such_method;
use crate::state::{Credential, Peer, State};
use crate::status::grpc_code;
use crate::undecoded::{Lost, NO_SUCH_METHOD};

/// The generated code.
#[allow(clippy::all, unreachable_pub, missing_docs)]
pub mod proto {
    tonic::include_proto!("factum.v1");
}

use proto::runtime_server::Runtime as RuntimeService;
pub(crate) use proto::runtime_server::RuntimeServer;
use proto::{CallRequest, CallResponse, EventMessage, SubscribeRequest};

/// Where the whole error object is, as JSON; the status has only its code and message.
pub const ERROR_METADATA: &str = "factum-error-bin";

/// How many events may wait for a client that reads slowly.
const OUT_QUEUE: usize = 64;

/// Why a stream ends that its client did not end, and that may be opened again somewhere else, or later.
const CLOSING: &str = "the server is shutting down";

pub(crate) struct Service {
    state: Arc<State>,
}

impl Service {
    pub(crate) fn new(state: Arc<State>) -> Self {
        Self { state }
    }

    async fn admit<T>(&self, request: &Request<T>) -> Result<(Caller, Credential), Status> {
        let headers = request.metadata().clone().into_headers();
        let peer = request.extensions().get::<Peer>().map_or(std::net::Ipv4Addr::UNSPECIFIED.into(), |peer| peer.0);
        let caller = self.state.admit(&headers, peer).await.map_err(|refusal| status(&refusal))?;
        Ok((caller.over(Grpc), Credential::of(&headers, peer)))
    }
}

type Events = Pin<Box<dyn Stream<Item = Result<EventMessage, Status>> + Send>>;

#[tonic::async_trait]
impl RuntimeService for Service {
    async fn call(&self, request: Request<CallRequest>) -> Result<Response<CallResponse>, Status> {
        let started = self.state.metrics.start();
        let (caller, _) = self.admit(&request).await?;
        let CallRequest { method, params } = request.into_inner();
        let params = if params.trim().is_empty() { "{}" } else { params.as_str() };
        let outcome = self.state.call(&caller, &method, params).await.map_err(|error| match error {
            CallError::UnknownMethod => no_such_method(),
            CallError::Refused(refusal) => refusal,
        });
        let code = outcome.as_ref().err().map(|refusal| refusal.code);
        self.state.metrics.request(Transport::Grpc, &method, code, started);
        let result = outcome.map_err(|refusal| status(&refusal))?;
        Ok(Response::new(CallResponse { result: result.get().to_owned() }))
    }

    type SubscribeStream = Events;

    async fn subscribe(&self, request: Request<SubscribeRequest>) -> Result<Response<Events>, Status> {
        let (caller, credential) = self.admit(&request).await?;
        let request = request.into_inner();
        let casing = Casing::parse(Some(&request.casing)).map_err(|refusal| status(&refusal))?;
        let recheck = Recheck::new(&self.state, credential);
        let closing = self.state.runtime.closing();
        if request.follows_the_feed() {
            let feed = self.state.runtime.follow_feed(&caller, some(&request.cursor)).await;
            let feed = feed.map_err(|refusal| status(&refusal))?;
            let events = follow_feed(self.state.clone(), feed, casing);
            return Ok(Response::new(while_admitted(recheck, None, events, closing)));
        }
        let (sender, receiver) = mpsc::channel(OUT_QUEUE);
        let mut pass = None;
        if !request.channel.is_empty() {
            let params =
                channels::parse(&self.state, request.channel.as_bytes()).map_err(|refusal| status(&refusal))?;
            let stream = self.state.runtime.stream_channel(&caller, &params).await;
            let stream = stream.map_err(|refusal| status(&refusal))?;
            pass = Some(stream.pass());
            let heartbeat = Heartbeat::asked_for(&self.state, params.heartbeat_interval_ms);
            let entries = follow_channel(self.state.clone(), stream, heartbeat, sender);
            tokio::spawn(entries);
        } else if !request.remote_channel.is_empty() {
            let params = StreamPeer::parse(&self.state, request.remote_channel.as_bytes());
            let StreamPeer { channel_id, cursors } = params.map_err(|refusal| status(&refusal))?;
            let stream = self.state.runtime.stream_peer(&caller, &channel_id, &cursors).await;
            let stream = stream.map_err(|refusal| status(&refusal))?;
            let events = follow_peer(self.state.clone(), stream, casing, sender);
            tokio::spawn(events);
        } else {
            let session_id: SessionId = request.session_id.parse().map_err(|_| status(&Refusal::not_found()))?;
            let subscription = self.state.runtime.subscribe(&caller, &session_id, request.after).await;
            let subscription = subscription.map_err(|refusal| status(&refusal))?;
            let events = follow(self.state.clone(), subscription, casing, sender);
            tokio::spawn(events);
        }
        Ok(Response::new(while_admitted(recheck, pass, ReceiverStream::new(receiver), closing)))
    }
}

impl SubscribeRequest {
    /// Where it names nothing else.
    fn follows_the_feed(&self) -> bool {
        self.channel.is_empty() && self.remote_channel.is_empty() && self.session_id.is_empty()
    }
}

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// What a stream sends, as long as its caller would be let in, and into the channel that it is about. Looked at here and not where
/// it is made: what waits in the queue when a key is revoked or a member is taken out is not sent any more. Nor does a stream ever
/// just end, which a client would take for all there is: one that the server's closing cuts off says so, and is asked for again.
fn while_admitted(
    recheck: Recheck,
    pass: Option<Arc<ChannelPass>>,
    events: impl Stream<Item = Result<EventMessage, Status>> + Send + 'static,
    closing: CancellationToken,
) -> Events {
    Box::pin(futures::stream::unfold(Some((recheck, pass, Box::pin(events), closing)), |open| async move {
        let (mut recheck, pass, mut events, closing) = open?;
        let event = match recheck.pass(events.next()).await {
            Ok(Some(event)) => event,
            Ok(None) if closing.is_cancelled() => Err(status(&Refusal::unavailable(CLOSING).with("cause", "closing"))),
            Ok(None) => return None,
            Err(refusal) => Err(status(&refusal)),
        };
        let event = match (&pass, event) {
            (Some(pass), Ok(event)) => pass.check().await.map(|()| event).map_err(|refusal| status(&refusal)),
            (_, event) => event,
        };
        let goes_on = event.is_ok();
        Some((event, goes_on.then_some((recheck, pass, events, closing))))
    }))
}

async fn follow(
    state: Arc<State>,
    mut subscription: factum_runtime::Subscription,
    casing: Casing,
    sender: mpsc::Sender<Result<EventMessage, Status>>,
) {
    let guard = state.stream(Transport::Grpc);
    let closing = state.runtime.closing();
    loop {
        let events = tokio::select! {
            () = closing.cancelled() => return,
            () = sender.closed() => return,
            events = subscription.next() => match events {
                Ok(events) => events,
                Err(refusal) => return drop(sender.send(Err(status(&refusal))).await),
            },
        };
        for event in events {
            let message = message(event.sequence, String::new(), &casing.apply(&event.json));
            if sender.send(Ok(message)).await.is_err() {
                return;
            }
            guard.sent(1);
        }
    }
}

async fn follow_channel(
    state: Arc<State>,
    mut stream: ChannelStream,
    mut heartbeat: Heartbeat,
    sender: mpsc::Sender<Result<EventMessage, Status>>,
) {
    let guard = state.stream(Transport::Grpc);
    let closing = state.runtime.closing();
    loop {
        let items = tokio::select! {
            () = closing.cancelled() => return,
            () = sender.closed() => return,
            items = stream.next() => match items {
                Ok(items) => items,
                Err(refusal) => return drop(sender.send(Err(status(&refusal))).await),
            },
            () = heartbeat.wait(), if heartbeat.asked() => {
                vec![ChannelItem { place: None, json: channels::heartbeat_envelope(&state) }]
            }
        };
        for item in items {
            let message = message(item.sequence().unwrap_or(0), String::new(), &item.json);
            if sender.send(Ok(message)).await.is_err() {
                return;
            }
            guard.sent(1);
        }
        heartbeat.put_off();
    }
}

async fn follow_peer(
    state: Arc<State>,
    mut stream: PeerStream,
    casing: Casing,
    sender: mpsc::Sender<Result<EventMessage, Status>>,
) {
    let guard = state.stream(Transport::Grpc);
    let closing = state.runtime.closing();
    loop {
        let batch = tokio::select! {
            () = closing.cancelled() => return,
            () = sender.closed() => return,
            batch = stream.next() => match batch {
                Ok(batch) => batch,
                Err(refusal) => return drop(sender.send(Err(status(&refusal))).await),
            },
        };
        for event in &batch.events {
            let cursor = peers::cursor(&batch.stream, event.sequence);
            if sender.send(Ok(message(event.sequence, cursor, &casing.apply(&event.json)))).await.is_err() {
                return;
            }
            guard.sent(1);
        }
    }
}

/// The events of the feed, taken as they are sent. In a queue they would still reach somebody who was taken out of a channel while
/// they waited: whether the caller may see them is asked when they are taken.
fn follow_feed(
    state: Arc<State>,
    feed: FeedStream,
    casing: Casing,
) -> impl Stream<Item = Result<EventMessage, Status>> + Send + 'static {
    let guard = state.stream(Transport::Grpc);
    let closing = state.runtime.closing();
    let batches = futures::stream::unfold((Some(feed), guard, closing), |(feed, guard, closing)| async move {
        let mut feed = feed?;
        let batch = tokio::select! {
            () = closing.cancelled() => return None,
            batch = feed.next() => batch,
        };
        let goes_on = batch.is_ok();
        guard.sent(batch.as_ref().map_or(0, Vec::len));
        Some((batch, (goes_on.then_some(feed), guard, closing)))
    });
    batches.flat_map(move |batch| {
        let events = match batch {
            Ok(events) => events.into_iter().map(Ok).collect(),
            Err(refusal) => vec![Err(status(&refusal))],
        };
        let sent = move |event: FeedEvent| message(0, event.cursor, &casing.apply(&event.json));
        futures::stream::iter(events).map(move |event: Result<_, Status>| event.map(sent))
    })
}

fn message(sequence: u64, cursor: String, event: &[u8]) -> EventMessage {
    EventMessage { sequence, cursor, event: String::from_utf8_lossy(event).into_owned() }
}

/// What a call is told that did not get here.
pub(crate) fn lost(lost: &Lost) -> Status {
    match lost {
        Lost::Message(refusal) => status(refusal),
        Lost::Method => Status::unimplemented(NO_SUCH_METHOD),
    }
}

pub(crate) fn status(refusal: &Refusal) -> Status {
    let mut status = Status::new(grpc_code(refusal.code), refusal.message.clone());
    let json = serde_json::to_vec(refusal).unwrap_or_default();
    status.metadata_mut().insert_bin(ERROR_METADATA, MetadataValue::from_bytes(&json));
    status
}

#[cfg(test)]
mod tests;
