//! `SendMessage` and `SendStreamingMessage`: the message is durable first; then its sender hears what comes of it.

use std::pin::pin;

use a2a::{A2AError, Message, Part, Role, SendMessageResponse, StreamResponse};
use factum_a2a::parts::{USUAL_MODES, beside_input, is_accepted, media_type, to_input};
use factum_a2a::server::{Sent, Update, Updates};
use factum_model::peer::DeliveryMechanism;
use factum_runtime::{PeerMessage, Received};
use futures::stream;

use super::fault::{is_over, refused};
use super::push::target;
use super::subscribe::{Ends, follow};
use super::watch::Watch;
use super::{PROTOCOL, Service, returns_immediately};

impl Service {
    pub(super) async fn send(&self, sent: Sent) -> Result<SendMessageResponse, A2AError> {
        let immediately = returns_immediately(&sent.request);
        let history = sent.request.configuration.as_ref().and_then(|configuration| configuration.history_length);
        // Pinned where they are made: they are some kilobytes, and would be moved for each message.
        let (received, answers) = pin!(self.accept(sent, DeliveryMechanism::Polling)).await?;
        let mut watch = pin!(Watch::of(self, received)).await?;
        if answers == Answers::Message || !immediately {
            self.wait(&mut watch).await?;
        }
        if answers == Answers::Message && is_settled(&watch) {
            return Ok(SendMessageResponse::Message(message(&watch)));
        }
        Ok(SendMessageResponse::Task(watch.view().task(history, true, &self.outputs()).await))
    }

    pub(super) async fn send_streaming(&self, sent: Sent) -> Result<Updates, A2AError> {
        let history = sent.request.configuration.as_ref().and_then(|configuration| configuration.history_length);
        let (received, answers) = self.accept(sent, DeliveryMechanism::Streaming).await?;
        let mut watch = Watch::of(self, received).await?;
        if answers == Answers::Message {
            let message = async move {
                settled(&mut watch).await?;
                let response = StreamResponse::Message(message(&watch));
                Ok(Update { position: None, response })
            };
            return Ok(Box::pin(stream::once(message)));
        }
        Ok(follow(self.clone(), watch, history, Ends::WithTaskOrQuestion))
    }

    /// An agent may take as long as it likes; who waits for it gets the task as it stands by then, and asks again.
    async fn wait(&self, watch: &mut Watch) -> Result<(), A2AError> {
        // What was answered in the commit of its message needs no clock.
        while !is_settled(watch) && watch.take_ahead().is_some() {}
        if is_settled(watch) {
            return Ok(());
        }
        // Boxed, since most are answered by now.
        Box::pin(tokio::time::timeout(self.wait_max, settled(watch))).await.unwrap_or(Ok(()))
    }

    async fn accept(&self, sent: Sent, delivery: DeliveryMechanism) -> Result<(Received, Answers), A2AError> {
        let Sent { request, own_task_id, idempotency_key } = sent;
        let push = request.configuration.and_then(|configuration| configuration.task_push_notification_config);
        // Before the message is: a client that is refused must not find a task of it.
        push.as_ref().map_or(Ok(()), |config| self.check_sent_config(config))?;
        let message = request.message;
        self.takes(&message)?;
        let input: Vec<_> = message.parts.iter().map(to_input).collect();
        let begins = message.task_id.is_none() && own_task_id.is_none();
        let id = message.task_id.clone().unwrap_or_default();
        let names_its_tasks = own_task_id.is_some();
        // A client that gets a message back has no task that it could ask about. One that names its tasks asks about them.
        let answers = if begins && self.runtime.replies_with_message(&self.agent, &input) {
            Answers::Message
        } else {
            Answers::Task
        };
        let said = PeerMessage {
            native_protocol: PROTOCOL,
            delivery,
            agent: Some(self.agent.to_string()),
            task_id: message.task_id.clone(),
            own_task_id,
            context_id: message.context_id.clone(),
            own_contexts: self.own_contexts,
            message: beside_input(&message),
            input,
            metadata: request.metadata.unwrap_or_default().into_iter().collect(),
            push: push.map(target),
            idempotency_key,
        };
        let received = pin!(self.runtime.receive_message(&self.caller, said)).await;
        let received = received.map_err(|refusal| {
            if names_its_tasks && is_over(&refusal) {
                // Whoever has to name its tasks cannot leave the name out.
                return A2AError::unsupported_operation(
                    "the task is over; send the message with another id to begin another",
                );
            }
            refused(&refusal, &id)
        })?;
        Ok((received, answers))
    }

    /// Refuses parts of media types that the agent does not take.
    fn takes(&self, message: &Message) -> Result<(), A2AError> {
        let agents = self.runtime.agents();
        let accepts = agents.get(&self.agent).map_or(&[][..], |agent| &agent.accepts);
        let Some(part) = message.parts.iter().find(|part| !is_accepted(part, accepts)) else { return Ok(()) };
        let takes = if accepts.is_empty() { USUAL_MODES.join(", ") } else { accepts.join(", ") };
        let agent = &self.agent;
        let said = format!("{agent} takes no {}; it takes {takes}", media_type(part));
        Err(A2AError { message: said, ..A2AError::content_type_not_supported() })
    }
}

/// Waits until nothing more happens before the sender says something.
async fn settled(watch: &mut Watch) -> Result<(), A2AError> {
    while !is_settled(watch) {
        watch.next().await?;
    }
    Ok(())
}

fn is_settled(watch: &Watch) -> bool {
    watch.view().is_over() || watch.view().is_interrupted()
}

/// The agent's answer as a message: for agents that have no task to show for it.
fn message(watch: &Watch) -> Message {
    let view = watch.view();
    let text = view.answer_text();
    let said = view.status_message.as_ref().and_then(|message| message.text().map(str::to_owned));
    let text = if text.is_empty() { said.unwrap_or_default() } else { text };
    Message {
        message_id: format!("{}-answer", view.id),
        context_id: Some(view.context_id.clone()),
        task_id: None,
        role: Role::Agent,
        parts: vec![Part::text(text)],
        metadata: None,
        extensions: None,
        reference_task_ids: None,
    }
}

/// What the sender of a message gets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answers {
    Task,
    Message,
}
