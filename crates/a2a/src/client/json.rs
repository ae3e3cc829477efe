//! What the two JSON bindings have in common: params as JSON, answers read into the types of 1.0, streams of events.

use a2a::StreamResponse;
use factum_outbound::{Answer, Client, Request, Streaming};
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
use super::spoken::Spoken;
use super::updates::{PeerUpdate, PeerUpdates};
use super::{april_2025, rest, rpc, v0_3};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Rpc,
    Rest,
}

/// One call to a peer.
pub(super) struct Call<'a> {
    pub(super) client: &'a Client,
    pub(super) interface: &'a Interface,
    pub(super) credential: &'a Credential,
    pub(super) form: Form,
    pub(super) operation: Operation,
    pub(super) around: Around<'a>,
}

impl Call<'_> {
    /// One answer.
    pub(super) async fn answer<T: DeserializeOwned>(
        self,
        task_id: &str,
        params: &impl Serialize,
    ) -> Result<T, Failure> {
        let answer = self.request(task_id, params)?.send().await?;
        read(self.result(&answer)?)
    }

    /// A stream, or what a peer that does not stream after all says: the one thing there is to say.
    pub(super) async fn updates(self, task_id: &str, params: &impl Serialize) -> Result<PeerUpdates, Failure> {
        let request = self.request(task_id, params)?.header("Accept", "text/event-stream");
        match request.stream().await? {
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

    fn request(&self, task_id: &str, params: &impl Serialize) -> Result<Request, Failure> {
        let params = serde_json::to_value(params).map_err(|error| unsendable(&error.to_string()))?;
        let spoken = self.interface.spoken;
        let params = match spoken {
            Spoken::V1_0 => params,
            Spoken::V0_3 => v0_3::params_to(self.operation, params),
            Spoken::April2025 => april_2025::params_to(self.operation, params),
        };
        let request = match self.form {
            Form::Rpc => rpc::request(self.client, self.interface, self.operation, params)?,
            Form::Rest => rest::request(self.client, self.interface, self.operation, task_id, params)?,
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
