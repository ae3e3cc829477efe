//! `channels/publish`: a new message, or the one that the same key published before.

use factum_engine::Context;
use factum_engine::messaging::{
    ChannelState, MessageKeyRow, Operation, Threads, allow, keys, publish_message, repeated,
};
use factum_model::commands::{PublishMessage, PublishMessageResult};
use factum_model::id::MessageId;
use factum_model::{ErrorCode, Refusal};

use super::target::Target;
use crate::caller::Caller;
use crate::commit::Accept;
use crate::dispatch::Handle;
use crate::error::read_refusal;
use crate::runtime::Runtime;

impl Handle<PublishMessage> for Runtime {
    async fn handle(&self, caller: &Caller, mut command: PublishMessage) -> Result<PublishMessageResult, Refusal> {
        let target = self.target(caller, command.channel_id.as_ref(), command.peer.as_deref()).await?;
        command.peer = target.peer().map(str::to_owned);
        let Some(key) = command.idempotency_key.as_deref() else {
            return self.publish(caller, &target, command, &Accept::default()).await;
        };
        let key = keys::message_key(&caller.account, &target.channel_id, &caller.principal, key);
        // Held until the message is durable and its key can be found: two at once with the same key cannot both write.
        let accept = Accept::holding(self.0.keyed.lock(vec![key.clone()]).await);
        match self.0.store.get(&key).await.map_err(|error| read_refusal(&error))? {
            None => self.publish(caller, &target, command, &accept).await,
            Some(row) => {
                let row: MessageKeyRow = serde_json::from_slice(&row)
                    .map_err(|error| Refusal::internal(format!("message key row: {error}")))?;
                self.published_before(caller, &target, &row, &command).await
            }
        }
    }
}

impl Runtime {
    async fn publish(
        &self,
        caller: &Caller,
        target: &Target,
        command: PublishMessage,
        accept: &Accept,
    ) -> Result<PublishMessageResult, Refusal> {
        let threads = self.threads_named(caller, target, &command).await?;
        let decide =
            |state: &ChannelState, context: &mut Context<'_>| publish_message(state, command, threads, context);
        self.decide_in(caller, target, accept, decide).await
    }

    /// The message that has this key already, if it says the same.
    async fn published_before(
        &self,
        caller: &Caller,
        target: &Target,
        row: &MessageKeyRow,
        command: &PublishMessage,
    ) -> Result<PublishMessageResult, Refusal> {
        self.takes_part(caller, &target.channel_id).await?;
        let threads = self.threads_named(caller, target, command).await?;
        let sequence = repeated(row, command, threads, &self.0.limits)?;
        let event = self.message(&caller.account, &target.channel_id, sequence).await?;
        let event = event.ok_or_else(|| Refusal::internal("a key names a message that is not there"))?;
        Ok(PublishMessageResult { event })
    }

    /// The threads of the messages that a command names, where they are of this channel.
    async fn threads_named(
        &self,
        caller: &Caller,
        target: &Target,
        command: &PublishMessage,
    ) -> Result<Threads, Refusal> {
        if command.reply_to_id.is_none() && command.thread_id.is_none() {
            return Ok(Threads::default());
        }
        // Boxed: most messages answer nothing, and their way must not be as large as this one.
        Box::pin(async {
            let of_reply_to_id = self.thread_to_join(caller, target, command.reply_to_id.as_ref()).await?;
            let of_thread_id = self.thread_to_join(caller, target, command.thread_id.as_ref()).await?;
            Ok(Threads { of_reply_to_id, of_thread_id })
        })
        .await
    }

    async fn thread_to_join(
        &self,
        caller: &Caller,
        target: &Target,
        message_id: Option<&MessageId>,
    ) -> Result<Option<MessageId>, Refusal> {
        let Some(message_id) = message_id else { return Ok(None) };
        let may = |state: &ChannelState| {
            allow(state, &caller.principal, Operation::Publish)?;
            Ok(state.message_count)
        };
        let messages = match self.look(&caller.account, &target.channel_id, may).await {
            Ok((messages, _)) => messages,
            // A direct channel that nobody has used has no messages to answer.
            Err(refusal) if target.peer().is_some() && refusal.code == ErrorCode::NotFound => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        self.thread_of(&caller.account, &target.channel_id, messages, message_id).await
    }
}
