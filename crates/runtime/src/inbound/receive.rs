//! A peer's message: it begins a task, in the session of its context or in a new one, or goes on with one that is open.

use std::pin::pin;

use factum_engine::session::SessionState;
use factum_engine::session::push::PushConfig;
use factum_engine::session::tasks::inbound::{InboundRow, Incoming, begin_inbound, continue_inbound, keys};
use factum_engine::{Context, Decision};
use factum_model::commands::SubmitTurn;
use factum_model::id::{ActionId, ChannelId, SessionId, TaskId};
use factum_model::peer::DeliveryMechanism;
use factum_model::value::{Metadata, Part};
use factum_model::{Command, ErrorCode, Event, Fact, Refusal};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::push::PushTarget;
use crate::caller::Caller;
use crate::commit::Accept;
use crate::idempotency::Repeat;
use crate::runtime::Runtime;
use crate::subscribe::{Facts, SharedFacts};

/// What a repeat of a message under an idempotency key is recognised by.
const COMMAND: &str = "peer_message";

/// The longest id of a task or context that a peer brings along.
const REMOTE_ID_CHARS_MAX: usize = 256;

/// What a peer says.
#[derive(Clone, Debug)]
pub struct PeerMessage {
    pub native_protocol: &'static str,
    pub delivery: DeliveryMechanism,
    /// Who answers; the default agent where absent. A task that is under way with another one is not found.
    pub agent: Option<String>,
    /// A task of the peer's that is known.
    pub task_id: Option<String>,
    /// The id the peer gives to the task, if it is not known yet.
    pub own_task_id: Option<String>,
    pub context_id: Option<String>,
    /// Whether a context that is not known is begun under the id the peer gives it.
    pub own_contexts: bool,
    pub input: Vec<Part>,
    /// What of the message is not input.
    pub message: Map<String, Value>,
    pub metadata: Metadata,
    /// Where the peer wants to be told of the task. It is set with the message or the message is not taken.
    pub push: Option<PushTarget>,
    pub idempotency_key: Option<String>,
}

/// Where a message went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerMessageAccepted {
    pub session_id: SessionId,
    pub task_id: TaskId,
    pub remote_task_id: String,
    pub remote_context_id: String,
    /// The facts of the task begin here.
    pub first_sequence: u64,
    /// The last fact of this message.
    pub sequence: u64,
}

/// A message that is durable.
pub struct Received {
    pub accepted: PeerMessageAccepted,
    /// Where it began a session, the facts of that. Otherwise they are read from the log.
    pub begun: Option<Begun>,
}

/// The facts of a message's own commit.
pub struct Begun {
    /// From the one that linked the task.
    pub facts: SharedFacts,
    /// What comes behind them; nothing where the task is over by then.
    pub behind: Option<Facts>,
}

impl From<PeerMessageAccepted> for Received {
    fn from(accepted: PeerMessageAccepted) -> Self {
        Self { accepted, begun: None }
    }
}

impl Runtime {
    /// Takes a peer's message in. Answers once it is durable; what comes of it is in the task's facts.
    pub async fn receive_message(&self, caller: &Caller, said: PeerMessage) -> Result<Received, Refusal> {
        caller.require(SubmitTurn::SCOPE)?;
        if self.is_closing() {
            return Err(Refusal::unavailable("the server is shutting down").with("cause", "closing"));
        }
        check_ids(&said)?;
        // Boxed, here and below: what most messages do not do must not make the future of each as large as itself.
        let repeat = match &said.idempotency_key {
            Some(key) => Box::pin(self.repeat_of(caller, COMMAND, Some(key), said.digest()?)).await?,
            None => Repeat::New(Accept::default()),
        };
        let accept = match repeat {
            Repeat::Known(output) => return Ok(PeerMessageAccepted::into(output)),
            Repeat::New(accept) => accept,
        };
        if let Some(task_id) = &said.task_id {
            return Box::pin(self.say_to_task(caller, &said, task_id, accept)).await.map(Received::from);
        }
        pin!(self.begin_task(caller, said, accept)).await
    }

    async fn say_to_task(
        &self,
        caller: &Caller,
        said: &PeerMessage,
        task_id: &str,
        accept: Accept,
    ) -> Result<PeerMessageAccepted, Refusal> {
        let row = self.inbound_task(caller, said.native_protocol, task_id).await?;
        let row = row.filter(|row| said.is_for(row)).ok_or_else(Refusal::not_found)?;
        self.go_on(caller, said, row, accept).await
    }

    async fn go_on(
        &self,
        caller: &Caller,
        said: &PeerMessage,
        row: InboundRow,
        mut accept: Accept,
    ) -> Result<PeerMessageAccepted, Refusal> {
        if said.context_id.as_ref().is_some_and(|context_id| *context_id != row.remote_context_id) {
            return Err(Refusal::invalid("the task belongs to another context").with("cause", "context_mismatch"));
        }
        let push = match &said.push {
            // Boxed, since few messages bring one along.
            Some(target) => {
                let (wanted, held) = Box::pin(self.wanted(caller, said.native_protocol, &row, target)).await?;
                accept.hold(held);
                Some(wanted)
            }
            None => None,
        };
        let actor = caller.actor();
        let decide = |state: &SessionState, context: &mut Context<'_>| {
            let mut decided = continue_inbound(state, &row.task_id, &said.input, &said.message, context)?;
            if let Some(push) = &push {
                decided.events.extend(push.set(state, context)?.events);
            }
            Ok(decided.map(|received| PeerMessageAccepted {
                session_id: received.session_id,
                task_id: received.task_id,
                remote_task_id: row.remote_task_id.clone(),
                remote_context_id: row.remote_context_id.clone(),
                first_sequence: received.first_sequence,
                sequence: received.sequence,
            }))
        };
        let outcome = self.execute(&caller.account, &row.session_id, &actor, &accept, decide).await;
        if let Err(refusal) = &outcome
            && let Some((action_id, decision)) = decided(refusal)
        {
            self.record_if_private(caller, &row.session_id, (&action_id, &decision), refusal).await;
        }
        outcome.map(|(output, _)| output)
    }

    async fn begin_task(&self, caller: &Caller, said: PeerMessage, mut accept: Accept) -> Result<Received, Refusal> {
        let agent = self.resolve_agent(said.agent.as_deref())?;
        let channel_id = self.peer_channel(caller, said.native_protocol).await?;
        self.hear_derived(&(caller.account.clone(), channel_id.clone()), Some(caller.transport));
        // Ids that peers choose can come twice at once; the second one finds what the first one made.
        let (account, principal, protocol) = (&caller.account, &caller.principal, said.native_protocol);
        let own_ids = said.own_task_id.iter().map(|id| keys::task(account, protocol, principal, id));
        let contexts = said.context_id.iter().map(|id| keys::context(account, protocol, principal, id));
        let chosen: Vec<_> = own_ids.chain(contexts).collect();
        if !chosen.is_empty() {
            accept.hold(Box::pin(self.0.keyed.lock(chosen)).await);
        }
        if let Some(own) = &said.own_task_id
            && let Some(row) = Box::pin(self.inbound_task(caller, protocol, own)).await?
        {
            if !said.is_for(&row) {
                return Err(Refusal::new(ErrorCode::Conflict, "this task id is in use with another agent"));
            }
            return Box::pin(self.go_on(caller, &said, row, accept)).await.map(Received::from);
        }
        let known = match &said.context_id {
            Some(context_id) => Box::pin(self.inbound_context(caller, protocol, context_id)).await?,
            None => None,
        };
        if said.context_id.is_some() && known.is_none() && !said.own_contexts {
            return Err(Refusal::invalid(
                "this context is not known; send the message without one to begin a conversation",
            )
            .with("cause", "context_unknown"));
        }
        let ahead = match &said.own_task_id {
            // Only clients of one old version name their tasks.
            Some(own) => Box::pin(self.push_target_ahead(caller, protocol, (own.as_str(), agent.as_str()))).await?,
            None => None,
        };
        // The ids of one message come from one source, which makes several at a time.
        let mut source = self.0.sources.ids.source(self.now());
        let mut remote_id = || source.next_uuid().to_string();
        let ids = Ids {
            task: said.own_task_id.clone().unwrap_or_else(&mut remote_id),
            context: said.context_id.clone().unwrap_or_else(&mut remote_id),
            push: self.wanted_first(caller, protocol, said.push.as_ref(), ahead.as_ref())?,
        };
        let actor = caller.actor();
        let received = match known {
            Some(context) => {
                let session_id = context.session_id;
                let decide = |state: &SessionState, context: &mut Context<'_>| {
                    ids.begin(state, &session_id, said, &agent, &channel_id, context)
                };
                let executed = Box::pin(self.execute(account, &session_id, &actor, &accept, decide)).await;
                executed.map(|(output, _)| output.into())
            }
            None => {
                let session_id = SessionId::from_uuid(source.next_uuid());
                let decide = |state: &SessionState, context: &mut Context<'_>| {
                    ids.begin(state, &session_id, said, &agent, &channel_id, context)
                };
                let is_over = |accepted: &PeerMessageAccepted, facts: &[Event]| ends(facts, &accepted.task_id);
                let begun = pin!(self.begin_and_follow(account, &session_id, &actor, &accept, decide, is_over));
                let (accepted, facts, behind) = begun.await?;
                let facts = facts.from(accepted.first_sequence);
                Ok(Received { accepted, begun: Some(Begun { facts, behind }) })
            }
        }?;
        if let Some(ahead) = &ahead {
            Box::pin(self.taken(caller, protocol, ahead)).await;
        }
        Ok(received)
    }

    /// An id for a peer, which is no id of ours: neither side takes the other's for its own.
    pub(super) fn remote_id(&self) -> String {
        self.0.sources.ids.source(self.now()).next_uuid().to_string()
    }
}

/// The ids a new task has for its peer, and where the peer wants to be told of it.
struct Ids {
    task: String,
    context: String,
    push: Option<(TaskId, Vec<PushConfig>)>,
}

impl Ids {
    fn begin(
        &self,
        state: &SessionState,
        session_id: &SessionId,
        said: PeerMessage,
        agent: &str,
        channel_id: &ChannelId,
        context: &mut Context<'_>,
    ) -> Result<Decision<PeerMessageAccepted>, Refusal> {
        let incoming = Incoming {
            channel_id,
            native_protocol: said.native_protocol,
            remote_task_id: &self.task,
            remote_context_id: &self.context,
            delivery: said.delivery,
            agent,
            input: said.input,
            message: said.message,
            metadata: &said.metadata,
            push: self.push.as_ref().map(|(task_id, configs)| (task_id, &configs[..])),
        };
        let decided = begin_inbound(state, session_id, incoming, context)?;
        Ok(decided.map(|received| PeerMessageAccepted {
            session_id: received.session_id,
            task_id: received.task_id,
            remote_task_id: self.task.clone(),
            remote_context_id: self.context.clone(),
            first_sequence: received.first_sequence,
            sequence: received.sequence,
        }))
    }
}

impl PeerMessage {
    /// Whether it is said to the agent that does this task.
    fn is_for(&self, row: &InboundRow) -> bool {
        self.agent.as_ref().is_none_or(|agent| row.is_of(agent))
    }

    /// What makes a repeat the same message: all that it says, and where it wants to be told. Not its id, which some have made
    /// anew for each time a message is sent.
    fn digest(&self) -> Result<String, Refusal> {
        let ids = (&self.task_id, &self.own_task_id, &self.context_id);
        let mut message = self.message.clone();
        message.remove("message_id");
        let push = self.push.as_ref().map(PushTarget::digest);
        let same = serde_json::to_value((COMMAND, &self.agent, ids, &self.input, &message, &self.metadata, push));
        let same = same.map_err(|error| Refusal::internal(error.to_string()))?;
        Ok(factum_engine::digest_of(&same))
    }
}

/// Whether a task is over behind these facts.
fn ends(facts: &[Event], task_id: &TaskId) -> bool {
    let is_end = |fact: &Fact| {
        matches!(fact, Fact::TaskCompleted(_) | Fact::TaskCancelled(_) | Fact::TaskFailed(_) | Fact::TaskTimedOut(_))
    };
    facts.iter().any(|event| is_end(&event.fact) && event.scope.task_id.as_ref() == Some(task_id))
}

/// The action that a refused message was to decide, and how.
fn decided(refusal: &Refusal) -> Option<(ActionId, String)> {
    let said = |name: &str| refusal.details.get(name).and_then(Value::as_str);
    Some((said("action_id")?.parse().ok()?, said("decision")?.to_owned()))
}

/// Ids that would be given. One of a task that is to be there, and of that task's context, is known or it is not.
fn check_ids(said: &PeerMessage) -> Result<(), Refusal> {
    let context_id = said.context_id.as_ref().filter(|_| said.task_id.is_none());
    said.own_task_id.as_ref().into_iter().chain(context_id).try_for_each(|id| check_id(id))
}

pub(super) fn check_id(id: &str) -> Result<(), Refusal> {
    let chars = id.chars().count();
    if chars == 0 || chars > REMOTE_ID_CHARS_MAX || id.chars().any(char::is_control) {
        return Err(Refusal::invalid(format!(
            "ids of tasks and contexts have 1 to {REMOTE_ID_CHARS_MAX} printable characters"
        )));
    }
    Ok(())
}
