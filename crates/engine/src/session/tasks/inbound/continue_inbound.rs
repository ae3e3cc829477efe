//! A peer says more about its task: the answer to a question, a decision, or something to go on with.

use factum_model::asked::asked_now;
use factum_model::events::{ActionType, ChannelMessage, ResolutionSource};
use factum_model::id::{ActionId, TaskId};
use factum_model::peer::{ChannelMessageKind, Direction, Side};
use factum_model::value::{Part, text_of};
use factum_model::{NewEvent, Refusal};
use serde_json::{Map, Value, json};

use super::begin::{Received, attach, check_input};
use super::bridge::{is_permission, permission_returned};
use super::follow_up::answer_also;
use crate::context::{Context, Decision, check};
use crate::session::answer_schema::check_answer;
use crate::session::lookup::{require_session, turn_scope};
use crate::session::respond_action::{Answer, check_channel, resolve};
use crate::session::state::{OpenAction, SessionState};
use crate::session::tasks::draft::Draft;
use crate::session::verdict::{Verdict, is_decision, verdict};
use crate::session::waiting::{actions_changed, asked_in};
use crate::size::json_bytes;

/// Where a message names the action that it answers.
const ACTION_ID: &str = "action_id";

/// The word that stands for an answer whose content is its payload.
const ANSWER: &str = "answer";

/// How much may be said, in several messages, to an agent at work: it is given all of it in the commit that ends its turn.
const UNHEARD_BYTES_MAX: usize = 4 << 20;

/// Takes in what a peer says about a task that is open. A task that is over says so as `precondition_failed`.
pub fn continue_inbound(
    state: &SessionState,
    task_id: &TaskId,
    input: &[Part],
    message: &Map<String, Value>,
    context: &mut Context<'_>,
) -> Result<Decision<Received>, Refusal> {
    let shell = require_session(state)?;
    let link = state.inbound.open.get(task_id).ok_or_else(over)?;
    check_input(input, context)?;
    context.limits.check_metadata("message_metadata_bytes", message)?;
    let mut events = Vec::with_capacity(4);
    let turn_id = link.turn_id.as_ref();
    let named = named(input, message);
    let open = turn_id.and_then(|turn_id| choose(asked_in(state, turn_id), named));
    match (open, turn_id) {
        (Some(action), Some(turn_id)) => {
            let (decision, payload, verdict) = read(action, input)?;
            // The turn may be one that somebody began through a channel of theirs, after the one this peer began.
            check_channel(action, context).map_err(|refusal| {
                refusal.with("action_id", action.action_id.as_str()).with("decision", decision.as_str())
            })?;
            // The word may have been meant for what somebody else has decided meanwhile.
            if named.is_none() && lets_happen(action, verdict) && link.overtaken {
                return Err(for_which(action, &decision));
            }
            check_answer(&action.required, verdict, &decision, payload.as_ref())?;
            let answer = Answer {
                decision: &decision,
                payload: payload.as_ref(),
                by: context.caller,
                source: ResolutionSource::Response,
            };
            resolve(state, shell, action, verdict, &answer, context, &mut events);
            if is_permission(action) {
                events.extend(permission_returned(state, link, action, &answer, verdict, Side::Remote));
            }
            actions_changed(state, turn_id, context, &mut events);
            attach(&mut events, message.clone());
        }
        _ if named.is_some() || decides(input) => return Err(too_late()),
        _ => {
            let mut scope = match (turn_id, &link.thread_id) {
                (Some(turn_id), Some(thread_id)) => turn_scope(shell, thread_id, turn_id),
                _ => factum_model::Scope::default().session_id(&shell.session_id),
            };
            scope = scope.task_id(task_id).channel_id(&link.channel_id);
            let fact = ChannelMessage {
                kind: ChannelMessageKind::Message,
                direction: Direction::Inbound,
                parts: input.to_vec(),
                native_id: message.get("message_id").and_then(Value::as_str).map(str::to_owned),
                native_type: Some(link.native_protocol.to_string()),
            };
            let mut event = NewEvent::new(scope, fact);
            event.refs.insert(super::PEER_MESSAGE.to_owned(), Value::Object(message.clone()));
            events.push(event);
            let mut unheard = link.unheard.clone();
            unheard.extend(input.iter().cloned());
            check("unheard_parts", unheard.len(), context.limits.input_parts_max)?;
            // A message alone is as large as a request may be.
            if !link.unheard.is_empty() {
                check("unheard_bytes", json_bytes(&unheard), UNHEARD_BYTES_MAX)?;
            }
            let mut draft = Draft::begin(state, &shell.session_id, &[], events, context);
            answer_also(&mut draft, task_id, unheard);
            events = draft.finish(|_| ()).events;
        }
    }
    let sequence = context.sequence_after(state.sequence, &events);
    let (session_id, task_id) = (shell.session_id.clone(), task_id.clone());
    Ok(Decision { events, output: Received { session_id, task_id, first_sequence: link.first_sequence, sequence } })
}

fn over() -> Refusal {
    Refusal::precondition("the task is over; send the message without a task id to begin another")
        .with("cause", "task_over")
}

/// A decision that nothing waits for is not taken for a message: whoever said no would think that it counted.
fn too_late() -> Refusal {
    Refusal::conflict("nothing waits for a decision: it was made already, and the first answer counts")
        .with("cause", "decided_already")
}

/// A word that does not say what it is about lets nothing happen that its sender may never have seen.
fn for_which(action: &OpenAction, decision: &str) -> Refusal {
    let (id, prompt) = (action.action_id.as_str(), &action.required.prompt);
    Refusal::invalid(format!(
        "something that the task had asked was decided by somebody else, so {decision:?} does not say what it is for. Open is \
         now: {prompt:?}. Send the text \"{decision} {id}\", or a data part {{\"decision\": …, \"action_id\": …}}, to decide that"
    ))
    .with("action_id", id)
    .with("cause", "action_not_named")
}

/// Whether a message is a decision and nothing else.
fn decides(input: &[Part]) -> bool {
    data(input).is_some_and(|data| data.contains_key("decision")) || is_decision(&text_of(input))
}

/// The action that a message says it is for: in its data, in its annotations, or behind the word that decides it.
fn named<'a>(input: &'a [Part], message: &'a Map<String, Value>) -> Option<&'a str> {
    let annotated = || message.get("metadata").and_then(|metadata| metadata.get(ACTION_ID));
    let said = data(input).and_then(|data| data.get(ACTION_ID)).or_else(annotated).and_then(Value::as_str);
    said.or_else(|| word_for(input).map(|(_, action_id)| action_id))
}

/// A text that is a decision and the id of what it decides, as people can type it.
fn word_for(input: &[Part]) -> Option<(&str, &str)> {
    let [Part::Text { text }] = input else { return None };
    let (word, action_id) = text.trim().split_once(char::is_whitespace)?;
    let action_id = action_id.trim_start();
    let is_id = action_id.strip_prefix(ActionId::PREFIX).is_some_and(|rest| rest.starts_with('_'));
    (is_decision(word) && is_id).then_some((word, action_id))
}

/// Which of the open actions the message is for. One that it names is it or nothing is: an answer is never moved to another.
fn choose<'a>(mut open: impl Iterator<Item = &'a OpenAction>, named: Option<&str>) -> Option<&'a OpenAction> {
    match named {
        Some(named) => open.find(|action| action.action_id.as_str() == named),
        None => asked_now(open),
    }
}

fn data(input: &[Part]) -> Option<&Map<String, Value>> {
    input.iter().find_map(|part| if let Part::Data { data: Value::Object(data) } = part { Some(data) } else { None })
}

/// What the data says besides which action it is for.
fn content(input: &[Part]) -> Option<Map<String, Value>> {
    let mut content = data(input)?.clone();
    content.remove(ACTION_ID);
    Some(content)
}

/// Whether something is done by the answer that is not done without it.
fn lets_happen(action: &OpenAction, verdict: Verdict) -> bool {
    let guards = is_permission(action) || action.required.action_type == ActionType::Review;
    guards && verdict != Verdict::Deny
}

/// What the message decides. A permission is given by a clear word alone, never read out of a sentence.
fn read(action: &OpenAction, input: &[Part]) -> Result<(String, Option<Value>, Verdict), Refusal> {
    let text = text_of(input);
    let said = data(input).and_then(|data| data.get("decision")).and_then(Value::as_str);
    let free = action.required.decisions.is_empty()
        && matches!(action.required.action_type, ActionType::Input | ActionType::Custom);
    if free && said.is_none() {
        let payload = match (text.is_empty(), content(input)) {
            (true, Some(data)) => Value::Object(data),
            (true, None) if !input.iter().all(|part| matches!(part, Part::Text { .. })) => json!(input),
            _ => json!({ "text": text }),
        };
        return Ok((ANSWER.to_owned(), Some(payload), Verdict::Allow));
    }
    let word = word_for(input).map(|(word, _)| word);
    let decision = said.or(word).unwrap_or(text.trim());
    let verdict = verdict(&action.required, decision).ok_or_else(|| {
        let words = if action.required.decisions.is_empty() {
            vec!["allow".to_owned(), "deny".to_owned()]
        } else {
            action.required.decisions.clone()
        };
        Refusal::invalid(format!(
            "the task waits for a decision ({}): send it as the whole text or as a data part {{\"decision\": …}}",
            words.join(" or ")
        ))
        .with("decisions", json!(words))
        .with("action_id", action.action_id.as_str())
    })?;
    let payload = content(input).filter(|data| data.len() > 1).map(Value::Object);
    Ok((decision.to_owned(), payload, verdict))
}
