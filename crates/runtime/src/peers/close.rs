//! `close_channel`. What the channel alone could decide is refused with it. A stream of it that is open is sent all of that, and
//! then ends.

use factum_engine::Context;
use factum_engine::peers::{Peer, PeerState, close_channel};
use factum_model::Refusal;
use factum_model::commands::{CloseChannel, CloseChannelResult};

use super::heartbeat::key_of;
use super::presence::{Connection, End};
use crate::caller::Caller;
use crate::dispatch::Handle;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;

impl Handle<CloseChannel> for Runtime {
    async fn handle(&self, caller: &Caller, command: CloseChannel) -> Result<CloseChannelResult, Refusal> {
        let accept = match self.repeat(caller, &command, None).await? {
            Repeat::Known(output) => return Ok(output),
            Repeat::New(accept) => accept,
        };
        let key = key_of(caller, &command.channel_id);
        let mut open = Open(None);
        let decide = |state: &PeerState, context: &mut Context<'_>| {
            let decision = close_channel(state, &command, context)?;
            open.0 = self.0.presence.forget(&key);
            Ok(decision)
        };
        let account = &caller.account;
        let (result, _) = self.execute(account, &command.channel_id, &caller.actor(), &accept, decide).await?;
        let sessions = |state: &PeerState| Ok(state.peer.iter().flat_map(Peer::asked_about).collect::<Vec<_>>());
        let (sessions, _) = self.look(account, &command.channel_id, sessions).await?;
        self.bridge_all(account, &sessions).await;
        Ok(result)
    }
}

/// The stream of a channel that closes. Dropping this ends it, also where whoever closes the channel does not wait for the end.
struct Open(Option<Connection>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.iter().for_each(|connection| connection.end(End::Closed));
    }
}
