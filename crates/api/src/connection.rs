//! A JSON-RPC connection that stays: requests in both directions of time, subscriptions, event notifications.
//!
//! WebSocket and stdio share all of it; each brings a stream of texts and takes a stream of texts. Requests start in the
//! order they arrive and are answered when they are done, see `requests`. Everything that is sent goes through one bounded
//! queue, so a client that does not read slows down its own subscriptions and nobody else's.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use factum_model::Refusal;
use factum_model::id::SessionId;
use factum_model::json::Encoded;
use factum_model::messaging::StreamChannel;
use factum_runtime::{Caller, ChannelItem, ChannelStream, PeerStream, Subscription};
use futures::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;

use self::requests::Requests;
use crate::alive::{Heartbeat, Recheck};
use crate::casing::Casing;
use crate::channels;
use crate::limits::check_depth;
use crate::metrics::Transport;
use crate::outgoing::{self, Outgoing, Queue, Source};
use crate::peers::StreamPeer;
use crate::rpc::{self, Body, Fault};
use crate::state::{Credential, State, StreamGuard};

/// What a client sends.
pub(crate) enum Incoming {
    Text(Bytes),
    /// Something that could not be taken, and is owed an answer: nobody knows what its id was.
    Refused(Refusal),
}

/// Handles a connection until its client goes or the server closes. `send` is the sending half's queue.
pub(crate) struct Connection {
    state: Arc<State>,
    caller: Caller,
    /// What the caller came in with; absent where the caller is the one who started the process.
    credential: Option<Credential>,
    out: mpsc::Sender<Outgoing>,
    transport: Transport,
    subscriptions: HashMap<String, Followed>,
    counter: u64,
    /// Lets a stream begin whose answer is on its way: what names it goes before what it brings.
    begins: Option<oneshot::Sender<()>>,
}

struct Followed {
    abort: AbortHandle,
    source: Arc<Source>,
    /// Tells the follower how far the client has acknowledged.
    acknowledged: watch::Sender<u64>,
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.source.leave();
        self.abort.abort();
    }
}

/// What a connection needs and the queue whose other end writes to the wire.
pub(crate) fn open(
    state: Arc<State>,
    caller: Caller,
    credential: Option<Credential>,
    transport: Transport,
) -> (Connection, Queue) {
    let (out, queue) = outgoing::queue();
    let subscriptions = HashMap::new();
    (Connection { state, caller, credential, out, transport, subscriptions, counter: 0, begins: None }, queue)
}

impl Connection {
    /// Serves the texts of a client. Returns when they end, when the server closes, or, with what is said to it then, when the
    /// caller would no longer be let in.
    pub(crate) async fn serve(&mut self, mut incoming: impl Stream<Item = Incoming> + Unpin) -> Result<(), Refusal> {
        let state = self.state.clone();
        let caller = self.caller.clone();
        let closing = state.runtime.closing();
        let mut requests = Requests::new(self.out.clone());
        let mut open = true;
        let mut recheck = self.credential.clone().map(|credential| Recheck::new(&state, credential));
        while open || !requests.is_empty() {
            tokio::select! {
                // Nothing new is begun, and what is under way is still answered.
                () = closing.cancelled(), if open => open = false,
                refusal = lost(&mut recheck) => return Err(refusal),
                () = requests.go_on(), if !requests.is_empty() => {}
                text = incoming.next(), if open && requests.has_room(state.limits.in_flight_max) => match text {
                    // A socket that has closed takes no answers: what still waits for something must not go on to get it.
                    None if self.transport == Transport::WebSocket => break,
                    None => open = false,
                    Some(Incoming::Refused(refusal)) => {
                        requests.beside(self.still_admitted()).await?;
                        requests.answered(Some(rpc::answer(None, Err(Fault::from(refusal)))));
                    }
                    Some(Incoming::Text(text)) => {
                        requests.beside(self.still_admitted()).await?;
                        if let Some(text) = requests.beside(self.control(text)).await {
                            requests.begin(answer_to(&state, self.transport, &caller, text));
                        }
                    }
                },
            }
        }
        Ok(())
    }

    /// Each request is looked at as if it had come alone, so that a revoked key ends with the connection it opened.
    async fn still_admitted(&self) -> Result<(), Refusal> {
        match &self.credential {
            Some(credential) => self.state.still_admits(credential).await,
            None => Ok(()),
        }
    }

    async fn send(&self, answer: Option<Vec<u8>>) {
        if let Some(answer) = answer {
            // A send that fails means that the client has gone; the incoming side ends next.
            drop(self.out.send(Outgoing::Answer(answer.into())).await);
        }
    }

    /// Handles what only a connection can: subscriptions. Everything else is given back.
    async fn control(&mut self, text: Bytes) -> Option<Bytes> {
        let request = match rpc::split(&text, &self.state) {
            // What is no request is given back too: it is owed the answer that says so.
            Ok(Body::One(one)) => rpc::read(one).ok().and_then(rpc::Request::into_control),
            _ => None,
        };
        let Some(control) = request else { return Some(text) };
        if control.id.is_none() && control.method.opens_a_stream() {
            return None;
        }
        let outcome = self.run_control(&control).await;
        if let Some(id) = control.id {
            let answer = match outcome {
                Ok(result) => rpc::answer::<Fault>(Some(&id), Ok(&result)),
                Err(fault) => rpc::answer(Some(&id), Err(fault)),
            };
            self.send(Some(answer)).await;
        }
        if let Some(begins) = self.begins.take() {
            let _ = begins.send(());
        }
        None
    }

    async fn run_control(&mut self, control: &Control) -> Result<Encoded, Fault> {
        self.state.check_rate(&self.caller)?;
        let params = rpc::params_of(control.params.as_deref())?;
        check_depth(params.as_bytes(), self.state.limits.json_depth_max)?;
        let result = match control.method {
            Method::SubscribePeer => self.subscribe_peer(parse(params)?).await?,
            Method::Subscribe => self.subscribe(parse(params)?).await?,
            Method::StreamChannel => self.stream_channel(&parse(params)?).await?,
            Method::Unsubscribe => self.unsubscribe(&parse::<Named>(params)?)?,
            Method::Acknowledge => self.acknowledge(&parse::<Acknowledge>(params)?)?,
        };
        Encoded::of(&result).map_err(|error| Refusal::internal(error.to_string()).into())
    }

    /// Refuses more streams than a connection may have. One that has ended, because its channel is gone or its caller was
    /// taken out, is none.
    fn check_room(&mut self) -> Result<(), Refusal> {
        self.subscriptions.retain(|_, followed| !followed.abort.is_finished());
        let (open, max) = (self.subscriptions.len(), self.state.limits.streams_max);
        if open < max { Ok(()) } else { Err(Refusal::limit("streams", open as u64 + 1, max as u64)) }
    }

    fn next_id(&mut self) -> String {
        self.counter += 1;
        format!("sub-{}", self.counter)
    }

    /// Follows something, from when its answer is on its way.
    fn follow(
        &mut self,
        id: String,
        source: Arc<Source>,
        acknowledged: watch::Sender<u64>,
        run: impl Future<Output = ()> + Send + 'static,
    ) {
        let (begins, begun) = oneshot::channel();
        let following = async move {
            if begun.await.is_ok() {
                run.await;
            }
        };
        let abort = tokio::spawn(following).abort_handle();
        self.begins = Some(begins);
        self.subscriptions.insert(id, Followed { abort, source, acknowledged });
    }

    async fn subscribe(&mut self, params: Subscribe) -> Result<serde_json::Value, Refusal> {
        self.check_room()?;
        let casing = Casing::parse(params.casing.as_deref())?;
        let after = params.after.unwrap_or(0);
        let subscription = self.state.runtime.subscribe(&self.caller, &params.session_id, after).await?;
        let id = self.next_id();
        let source = Arc::new(Source::new(id.clone()));
        let (acknowledged, seen) = watch::channel(after);
        let follower = Follower {
            subscription,
            casing,
            id: id.clone(),
            source: source.clone(),
            out: self.out.clone(),
            window: params.window.map(|window| u64::from(window.max(1))),
            acknowledged: seen,
            guard: self.state.stream(self.transport),
        };
        self.follow(id.clone(), source, acknowledged, follower.run());
        Ok(json!({ "subscription_id": id, "session_id": params.session_id, "after": after }))
    }

    async fn stream_channel(&mut self, params: &StreamChannel) -> Result<serde_json::Value, Refusal> {
        self.check_room()?;
        let stream = self.state.runtime.stream_channel(&self.caller, params).await?;
        let channel_id = stream.channel_id().clone();
        let id = self.next_id();
        let source = Arc::new(Source::of_channel(id.clone(), stream.pass()));
        let follower = ChannelFollower {
            stream,
            id: id.clone(),
            source: source.clone(),
            heartbeat: Heartbeat::asked_for(&self.state, params.heartbeat_interval_ms),
            state: self.state.clone(),
            out: self.out.clone(),
            guard: self.state.stream(self.transport),
        };
        self.follow(id.clone(), source, watch::Sender::new(0), follower.run());
        Ok(json!({ "subscription_id": id, "channelId": channel_id }))
    }

    async fn subscribe_peer(&mut self, params: SubscribePeer) -> Result<serde_json::Value, Refusal> {
        self.check_room()?;
        let casing = Casing::parse(params.casing.as_deref())?;
        let StreamPeer { channel_id, cursors } = params.of;
        let stream = self.state.runtime.stream_peer(&self.caller, &channel_id, &cursors).await?;
        let id = self.next_id();
        let source = Arc::new(Source::new(id.clone()));
        let follower = PeerFollower {
            stream,
            casing,
            id: id.clone(),
            source: source.clone(),
            out: self.out.clone(),
            guard: self.state.stream(self.transport),
        };
        self.follow(id.clone(), source, watch::Sender::new(0), follower.run());
        Ok(json!({ "subscription_id": id, "channel_id": channel_id }))
    }

    fn unsubscribe(&mut self, params: &Named) -> Result<serde_json::Value, Refusal> {
        let known = self.subscriptions.remove(&params.subscription_id).is_some();
        if !known {
            return Err(Refusal::not_found());
        }
        Ok(json!({ "subscription_id": params.subscription_id }))
    }

    fn acknowledge(&mut self, params: &Acknowledge) -> Result<serde_json::Value, Refusal> {
        let followed = self.subscriptions.get(&params.subscription_id).ok_or_else(Refusal::not_found)?;
        followed.acknowledged.send_if_modified(|seen| {
            let newer = params.sequence > *seen;
            *seen = (*seen).max(params.sequence);
            newer
        });
        let acknowledged = *followed.acknowledged.borrow();
        Ok(json!({ "subscription_id": params.subscription_id, "acknowledged_sequence": acknowledged }))
    }
}

/// When the caller would not be let in any more; never, where the caller is the one who started the process.
async fn lost(recheck: &mut Option<Recheck>) -> Refusal {
    match recheck {
        Some(recheck) => recheck.lost().await,
        None => std::future::pending().await,
    }
}

async fn answer_to(state: &State, transport: Transport, caller: &Caller, text: Bytes) -> Option<Vec<u8>> {
    if let Err(refusal) = state.check_rate(caller) {
        return rpc::refuse(&text, state, |_| Fault::from(refusal.clone()));
    }
    rpc::body(state, transport, caller, &text).await
}

/// A request only a connection understands.
struct Control {
    method: Method,
    params: Option<Box<RawValue>>,
    id: Option<Box<RawValue>>,
}

enum Method {
    Subscribe,
    /// `subscribe` of a remote channel.
    SubscribePeer,
    StreamChannel,
    Unsubscribe,
    Acknowledge,
}

impl Method {
    /// Whether its answer names a stream. Who wants no answer would not know what comes, nor how to be rid of it.
    fn opens_a_stream(&self) -> bool {
        matches!(self, Self::Subscribe | Self::SubscribePeer | Self::StreamChannel)
    }
}

impl rpc::Request<'_> {
    fn into_control(self) -> Option<Control> {
        let method = match &*self.method {
            "subscribe" if self.params.is_some_and(|params| params.get().contains("\"channel_id\"")) => {
                Method::SubscribePeer
            }
            "subscribe" => Method::Subscribe,
            channels::STREAM => Method::StreamChannel,
            "unsubscribe" => Method::Unsubscribe,
            // The command of this name is about remote channels; with a subscription_id it is about this connection.
            "ack_events" if self.params.is_some_and(|params| params.get().contains("\"subscription_id\"")) => {
                Method::Acknowledge
            }
            _ => return None,
        };
        Some(Control { method, params: self.params.map(ToOwned::to_owned), id: self.id.map(ToOwned::to_owned) })
    }
}

#[derive(Deserialize)]
struct Subscribe {
    session_id: SessionId,
    after: Option<u64>,
    casing: Option<String>,
    /// At most this many events are sent beyond the acknowledged one.
    window: Option<u32>,
}

#[derive(Deserialize)]
struct SubscribePeer {
    #[serde(flatten)]
    of: StreamPeer,
    casing: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    subscription_id: String,
}

#[derive(Deserialize)]
struct Acknowledge {
    subscription_id: String,
    sequence: u64,
}

fn parse<'a, T: Deserialize<'a>>(params: &'a str) -> Result<T, Refusal> {
    serde_json::from_str(params).map_err(|error| Refusal::invalid(format!("the params do not fit: {error}")))
}

/// Sends the events of one subscription.
struct Follower {
    subscription: Subscription,
    casing: Casing,
    id: String,
    source: Arc<Source>,
    out: mpsc::Sender<Outgoing>,
    window: Option<u64>,
    acknowledged: watch::Receiver<u64>,
    guard: StreamGuard,
}

impl Follower {
    async fn run(mut self) {
        while let Ok(events) = self.subscription.next().await {
            for event in events {
                if let Some(window) = self.window {
                    let room = |seen: &u64| event.sequence <= seen.saturating_add(window);
                    if self.acknowledged.wait_for(room).await.is_err() {
                        return;
                    }
                }
                let text = notification(&self.id, &self.casing.apply(&event.json));
                if self.out.send(Outgoing::Event(self.source.clone(), text)).await.is_err() {
                    return;
                }
                self.guard.sent(1);
            }
        }
    }
}

/// Sends the entries of one channel.
struct ChannelFollower {
    stream: ChannelStream,
    id: String,
    source: Arc<Source>,
    heartbeat: Heartbeat,
    state: Arc<State>,
    out: mpsc::Sender<Outgoing>,
    guard: StreamGuard,
}

impl ChannelFollower {
    async fn run(mut self) {
        loop {
            let items = tokio::select! {
                items = self.stream.next() => items,
                () = self.heartbeat.wait(), if self.heartbeat.asked() => {
                    Ok(vec![ChannelItem { place: None, json: channels::heartbeat_envelope(&self.state) }])
                }
                () = self.source.left() => return,
            };
            let items = match items {
                Ok(items) => items,
                Err(refusal) => {
                    let end = Outgoing::End(self.source.clone(), self.source.ended(&refusal));
                    return drop(self.out.send(end).await);
                }
            };
            for item in items {
                let text = notification(&self.id, &item.json);
                if self.out.send(Outgoing::Event(self.source.clone(), text)).await.is_err() {
                    return;
                }
                self.guard.sent(1);
            }
            self.heartbeat.put_off();
        }
    }
}

/// Sends what one remote channel follows. Each event is named with its stream, whose sequence it has.
struct PeerFollower {
    stream: PeerStream,
    casing: Casing,
    id: String,
    source: Arc<Source>,
    out: mpsc::Sender<Outgoing>,
    guard: StreamGuard,
}

impl PeerFollower {
    async fn run(mut self) {
        loop {
            let batch = match self.stream.next().await {
                Ok(batch) => batch,
                Err(refusal) => {
                    let end = Outgoing::End(self.source.clone(), self.source.ended(&refusal));
                    return drop(self.out.send(end).await);
                }
            };
            let head = format!(
                r#"{{"jsonrpc":"2.0","method":"event","params":{{"subscription_id":"{}","stream":"{}","event":"#,
                self.id, batch.stream
            );
            for event in &batch.events {
                let text = [head.as_bytes(), &self.casing.apply(&event.json), b"}}"].concat();
                if self.out.send(Outgoing::Event(self.source.clone(), text.into())).await.is_err() {
                    return;
                }
                self.guard.sent(1);
            }
        }
    }
}

fn notification(id: &str, event: &[u8]) -> Bytes {
    let head = format!(r#"{{"jsonrpc":"2.0","method":"event","params":{{"subscription_id":"{id}","event":"#);
    [head.as_bytes(), event, b"}}"].concat().into()
}

mod requests;
#[cfg(test)]
mod tests;
