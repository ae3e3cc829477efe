//! What the two JSON bindings have in common: params as JSON, answers read into the types of 1.0, streams of events.

use a2a::{StreamResponse, error_code};
use factum_outbound::{Answer, Client, Request, Streaming};
use http::StatusCode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::card::Interface;
use super::credential::Credential;
use super::failure::Failure;
use super::forgiving::forgiven;
use super::native;
use super::operation::Operation;
use super::peer::{Around, unsendable};
use super::rest::Subscribing;
use super::spoken::Spoken;
use super::updates::{PeerUpdate, PeerUpdates};
use super::{april_2025, rest, rpc, v0_3, v0_3_http};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Rpc,
    Rest,
}

/// How a request is worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    New,
    /// 0.3's JSON-RPC.
    Old,
    /// 0.3's protocol buffers.
    Buffers,
    April2025,
}

impl Words {
    /// Of a version's JSON-RPC.
    fn of(spoken: Spoken) -> Self {
        match spoken {
            Spoken::V1_0 => Self::New,
            Spoken::V0_3 => Self::Old,
            Spoken::April2025 => Self::April2025,
        }
    }
}

/// One call to a peer.
pub(super) struct Call<'a> {
    pub(super) client: &'a Client,
    pub(super) interface: &'a Interface,
    pub(super) credential: &'a Credential,
    pub(super) form: Form,
    pub(super) operation: Operation,
    pub(super) around: Around<'a>,
    pub(super) subscribing: &'a Subscribing,
}

impl Call<'_> {
    /// One answer.
    pub(super) async fn answer<T: DeserializeOwned>(
        self,
        task_id: &str,
        params: &impl Serialize,
    ) -> Result<T, Failure> {
        match self.answer_in(self.words(), task_id, params).await {
            Err(failure) if self.is_worded_otherwise(&failure) => {
                self.answer_in(Words::of(self.interface.spoken), task_id, params).await
            }
            answered => answered,
        }
    }

    async fn answer_in<T: DeserializeOwned>(
        &self,
        words: Words,
        task_id: &str,
        params: &impl Serialize,
    ) -> Result<T, Failure> {
        let answer = self.request(words, task_id, params)?.send().await?;
        read(self.result(&answer)?)
    }

    /// A stream, or what a peer that does not stream after all says: the one thing there is to say.
    pub(super) async fn updates(self, task_id: &str, params: &impl Serialize) -> Result<PeerUpdates, Failure> {
        match self.updates_in(self.words(), task_id, params).await {
            Err(failure) if self.is_worded_otherwise(&failure) => {
                self.updates_in(Words::of(self.interface.spoken), task_id, params).await
            }
            streamed => streamed,
        }
    }

    async fn updates_in(&self, words: Words, task_id: &str, params: &impl Serialize) -> Result<PeerUpdates, Failure> {
        let ask = || self.request(words, task_id, params).map(|request| request.header("Accept", "text/event-stream"));
        let method = self.subscribing.method();
        let mut streaming = ask()?.stream().await?;
        if self.is_by_another_method(&streaming) {
            self.subscribing.is_not_by(&method);
            streaming = ask()?.stream().await?;
        }
        match streaming {
            Streaming::Events(_, events) => {
                let (form, operation, spoken) = (self.form, self.operation, self.interface.spoken);
                Ok(PeerUpdates::events(*events, Reader { form, operation, spoken }))
            }
            Streaming::Answer(answer) => {
                let response = read(self.result(&answer)?)?;
                Ok(PeerUpdates::single(PeerUpdate { event_id: None, response }))
            }
        }
    }

    /// The words that belong to the version and the binding.
    fn words(&self) -> Words {
        match (self.interface.spoken, self.form) {
            (Spoken::V0_3, Form::Rest) => Words::Buffers,
            (spoken, _) => Words::of(spoken),
        }
    }

    /// Whether the peer takes the words of 0.3's JSON-RPC over HTTP+JSON as well: it does not know the params of its own. It
    /// took nothing, so nothing is done twice.
    fn is_worded_otherwise(&self, failure: &Failure) -> bool {
        let invalid = matches!(failure, Failure::Refused { code: error_code::INVALID_PARAMS, .. });
        invalid && self.operation.gives() && self.words() == Words::Buffers
    }

    /// Whether the peer takes subscriptions, and not by the method it was asked by.
    fn is_by_another_method(&self, streaming: &Streaming) -> bool {
        let refused = |answer: &Answer| answer.status == StatusCode::METHOD_NOT_ALLOWED;
        let is_asked = self.form == Form::Rest && self.operation == Operation::Subscribe;
        is_asked && matches!(streaming, Streaming::Answer(answer) if refused(answer))
    }

    fn request(&self, words: Words, task_id: &str, params: &impl Serialize) -> Result<Request, Failure> {
        let params = serde_json::to_value(params).map_err(|error| unsendable(&error.to_string()))?;
        let spoken = self.interface.spoken;
        let params = match words {
            Words::New => params,
            Words::Old => v0_3::params_to(self.operation, params),
            Words::Buffers => v0_3_http::params_to(self.operation, params),
            Words::April2025 => april_2025::params_to(self.operation, params),
        };
        let Self { client, interface, operation, .. } = *self;
        let request = match self.form {
            Form::Rpc => rpc::request(client, interface, operation, params)?,
            Form::Rest => rest::request(client, interface, operation, task_id, params, self.subscribing)?,
        };
        Ok(self.credential.on(self.around.on(request, spoken.version())))
    }

    /// The result in the form of 1.0.
    fn result(&self, answer: &Answer) -> Result<Value, Failure> {
        let value = match self.form {
            Form::Rpc => rpc::result(self.operation, answer),
            Form::Rest => rest::result(self.operation, answer),
        };
        let value = value.map_err(|failure| failure.until(answer.status, &answer.headers))?;
        Ok(of_1_0(self.interface.spoken, self.operation, value))
    }
}

/// A result in the form of 1.0.
fn of_1_0(spoken: Spoken, operation: Operation, value: Value) -> Value {
    native::readable(forgiven(match spoken {
        Spoken::V1_0 => value,
        Spoken::V0_3 => v0_3::result_from(operation, value),
        Spoken::April2025 => april_2025::result_from(operation, value),
    }))
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|error| Failure::malformed(error.to_string()))
}

/// How one event of a stream is read.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    form: Form,
    operation: Operation,
    spoken: Spoken,
}

impl Reader {
    pub(super) fn read(self, data: &str) -> Result<StreamResponse, Failure> {
        let body: Value = serde_json::from_str(data)
            .map_err(|error| Failure::malformed(format!("an event that is not JSON: {error}")))?;
        let value = match self.form {
            Form::Rpc => rpc::outcome(self.operation, body)?,
            Form::Rest => match body.get("error").and_then(|_| rest::said(self.operation, &body)) {
                Some(failure) => return Err(failure),
                None => body,
            },
        };
        read(of_1_0(self.spoken, self.operation, value))
    }
}
