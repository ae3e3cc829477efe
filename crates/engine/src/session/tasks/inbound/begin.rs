//! A peer's message begins a task: the link, the task, and the turn of the agent that does it, in one commit.

use factum_model::events::{ChannelPeerTaskLinked, TaskCreated};
use factum_model::id::{ChannelId, SessionId, TaskId};
use factum_model::peer::{DeliveryMechanism, Direction, PeerRecovery, PeerTask};
use factum_model::task::{Execution, Priority, TaskStatus, Visibility};
use factum_model::value::{Metadata, Part, text_of};
use factum_model::{Fact, NewEvent, Refusal};
use serde::Serialize;
use serde_json::{Map, Value};

use super::PEER_MESSAGE;
use super::tell::native_status;
use crate::context::{Context, Decision, check};
use crate::session::create_session;
use crate::session::push::PushConfig;
use crate::session::state::SessionState;
use crate::session::tasks::draft::Draft;
use crate::session::tasks::start_task::{Start, start};
use crate::session::text::clip;

/// How many characters of the message become the title of its task.
const TITLE_CHARS: usize = 80;

/// What a peer asks for.
#[derive(Clone, Debug)]
pub struct Incoming<'a> {
    /// Over which remote channel it came.
    pub channel_id: &'a ChannelId,
    pub native_protocol: &'a str,
    /// The ids the peer knows the task and its conversation under.
    pub remote_task_id: &'a str,
    pub remote_context_id: &'a str,
    pub delivery: DeliveryMechanism,
    /// Who does it.
    pub agent: &'a str,
    pub input: Vec<Part>,
    /// What of the message is not input: its id, its annotations. Kept for whoever asks for the conversation.
    pub message: Map<String, Value>,
    pub metadata: &'a Metadata,
    /// Where the peer wants to be told of the task, and the id that the task has here, for which secrets were sealed before.
    pub push: Option<(&'a TaskId, &'a [PushConfig])>,
}

/// Where a peer's message went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Received {
    pub session_id: SessionId,
    pub task_id: TaskId,
    /// Everything about the task is recorded from here on.
    pub first_sequence: u64,
    pub sequence: u64,
}

/// `session_id` is the stream the shell chose: the session of the context, or a new one.
pub fn begin_inbound(
    state: &SessionState,
    session_id: &SessionId,
    incoming: Incoming<'_>,
    context: &mut Context<'_>,
) -> Result<Decision<Received>, Refusal> {
    check_input(&incoming.input, context)?;
    context.limits.check_metadata("metadata_bytes", incoming.metadata)?;
    context.limits.check_metadata("message_metadata_bytes", &incoming.message)?;
    let configs = incoming.push.map_or(0, |(_, configs)| configs.len());
    check("push_configs", configs, context.limits.push_configs_max)?;
    let text = text_of(&incoming.input);
    let (title, objective) = (title(&text), objective(&text, context));
    // What the objective says already.
    let is_said = matches!(&incoming.input[..], [Part::Text { text }] if *text == objective);
    let mut events: Vec<NewEvent> = Vec::with_capacity(10);
    let own_thread = match &state.shell {
        Some(_) => None,
        // Nobody else talks in the first thread of a session that is made for this.
        None => Some(create_session::begin(
            session_id,
            incoming.agent,
            title.clone(),
            Metadata::new(),
            context,
            &mut events,
        )),
    };
    let task_id = incoming.push.map_or_else(|| context.task_id(), |(task_id, _)| task_id.clone());
    let caller = context.caller.to_owned();
    let mut draft = Draft::begin(state, session_id, &[], events, context);
    check("open_tasks", draft.tasks.in_memory() + 1, draft.context.limits.open_tasks_max)?;
    draft.push(draft.scope(&task_id).channel_id(incoming.channel_id), linked(&incoming, &caller));
    let first_sequence = draft.sequence();
    draft.push(draft.scope(&task_id), created(&incoming, objective, title, caller));
    for config in incoming.push.map_or(&[][..], |(_, configs)| configs) {
        draft.push(draft.scope(&task_id), config.set(draft.context.caller));
    }
    let how = Start { thread: own_thread, input: Some(incoming.input), ..Start::default() };
    start(&mut draft, &task_id, how)?;
    if !is_said {
        say_where_the_input_is(&mut draft);
    }
    attach(&mut draft.events, incoming.message);
    let session_id = session_id.clone();
    Ok(draft.finish(|draft| Received { session_id, task_id, first_sequence, sequence: draft.sequence() }))
}

pub(super) fn check_input(input: &[Part], context: &Context<'_>) -> Result<(), Refusal> {
    if input.is_empty() {
        return Err(Refusal::invalid("a message needs at least one part"));
    }
    check("input_parts", input.len(), context.limits.input_parts_max)
}

fn title(text: &str) -> Option<String> {
    let line = text.lines().next().unwrap_or_default().trim();
    (!line.is_empty()).then(|| clip(line, TITLE_CHARS))
}

fn linked(incoming: &Incoming<'_>, caller: &str) -> ChannelPeerTaskLinked {
    let peer_task = PeerTask {
        native_protocol: incoming.native_protocol.to_owned(),
        remote_task_id: Some(incoming.remote_task_id.to_owned()),
        remote_context_id: Some(incoming.remote_context_id.to_owned()),
        remote_agent_ref: Some(caller.to_owned()),
        agent_card_ref: None,
        delivery_mechanism: incoming.delivery,
        remote_status: TaskStatus::Queued,
        native_status: native_status(incoming.native_protocol, TaskStatus::Queued, false).map(str::to_owned),
        recovery: PeerRecovery::Running,
        remote_artifact_refs: Vec::new(),
    };
    ChannelPeerTaskLinked { direction: Direction::Inbound, peer_task }
}

fn objective(text: &str, context: &Context<'_>) -> String {
    let objective = clip(text, context.limits.task_objective_chars_max);
    if objective.trim().is_empty() { "what the message holds".to_owned() } else { objective }
}

fn created(incoming: &Incoming<'_>, objective: String, title: Option<String>, caller: String) -> TaskCreated {
    TaskCreated {
        status: TaskStatus::Queued,
        requested_by: caller,
        objective,
        title,
        parent_task_id: None,
        root_task_id: None,
        task_kind: Some(incoming.native_protocol.to_owned()),
        task_family: None,
        visibility: Visibility::Foreground,
        priority: Priority::Normal,
        owner: None,
        assignee: None,
        execution: Execution { agent: Some(incoming.agent.to_owned()), auto_complete: true, ..Execution::default() },
        scope: None,
        constraints: None,
        task_profile: None,
        acceptance: None,
        retry_policy: None,
        input_refs: Vec::new(),
        input_sequence: None,
        idempotency_key: None,
        metadata: incoming.metadata.clone(),
    }
}

/// A task that begins again gives its agent the same. That stands in the fact that gave it first, and a message may be long, so it is
/// not kept twice.
fn say_where_the_input_is(draft: &mut Draft<'_, '_>) {
    let first = draft.state.sequence + draft.context.prelude + 1;
    let given = draft.events.iter().zip(first..).find(|(event, _)| matches!(event.fact, Fact::TurnSubmitted(_)));
    let sequence = given.map(|(_, sequence)| sequence);
    for event in &mut draft.events {
        if let Fact::TaskCreated(fact) = &mut event.fact {
            fact.input_sequence = sequence;
        }
    }
}

/// Leaves with the fact that takes a message in what of the message is not input.
pub(super) fn attach(events: &mut [NewEvent], message: Map<String, Value>) {
    let takes = |event: &&mut NewEvent| matches!(event.fact, Fact::TurnSubmitted(_) | Fact::ActionResolved(_));
    if let Some(event) = events.iter_mut().find(takes) {
        event.refs.insert(PEER_MESSAGE.to_owned(), Value::Object(message));
    }
}
