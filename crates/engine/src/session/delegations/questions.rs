//! What a peer asks becomes an action here, and its answer goes back. A permission that crosses the channel keeps its five
//! facts: who asks, about what, which side decided, by what, and whether it holds for the channel only (seed 000).

use factum_model::events::*;
use factum_model::id::ThreadId;
use factum_model::peer::{Direction, Side};
use factum_model::value::Metadata;
use factum_model::{NewEvent, Scope, Timestamp};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::observe::{PeerNews, Terms, WORDS_MAX, peer_ref};
use super::state::{Delegation, asked_by};
use crate::context::Context;
use crate::session::crossing::{self, Asked};
use crate::session::respond_action::Answer;
use crate::session::state::{OpenAction, SessionState};
use crate::session::text::clip;
use crate::session::verdict::Verdict;
use crate::size::json_bytes;

/// Under this name an action says which of the peer's questions it is.
pub(super) const QUESTION: &str = "question";

/// Under this name it says what the peer calls it.
pub(super) const REMOTE_ACTION: &str = "remote_action_id";

/// By this word a message says that its answer may have arrived or not.
pub(in super::super) const ANSWER_UNKNOWN: &str = "answer_unknown";

/// What stands below a question that may have been answered.
const DOUBT: &str =
    "This was answered before, and whether the peer got the answer is not known: another answer may be its second.";

/// The name of the policy by which these questions are put, and under which a question names the peer and its task.
const POLICY: &str = "peer_task";
const PEER: &str = "peer";
const REMOTE_TASK: &str = "remote_task_id";

/// How long a peer that took an answer may go on showing the question as it was. Whoever still waits then wants another answer; one
/// that goes on after all is not asked for any more.
const TAKEN_UP_MAX: SignedDuration = SignedDuration::from_secs(10);

/// The largest schema of an answer that is taken over from a peer, and the longest words.
const SCHEMA_BYTES_MAX: usize = 16 << 10;
const DECISIONS_MAX: usize = 16;
const TERM_CHARS_MAX: usize = 256;

/// The facts that ask here what the peer asks.
pub(in super::super) fn ask(
    delegation: &Delegation,
    news: &PeerNews,
    scope: &Scope,
    thread_id: &ThreadId,
    context: &mut Context<'_>,
) -> Vec<NewEvent> {
    let question = news.question.clone().unwrap_or_default();
    let Terms { action_id, tool_name, decisions, input_schema } = taken_over(&news.terms);
    let action_type = asked_by(news.recovery).unwrap_or(ActionType::Input);
    let authorization = action_type == ActionType::Authorization;
    // It stands in several facts of one commit.
    let prompt = news.message.as_deref().map(|text| clip(text, WORDS_MAX)).unwrap_or_else(|| {
        let what = if authorization { "an authorization" } else { "an answer" };
        format!("{} needs {what} and says no more", peer_ref(&delegation.peer))
    });
    let prompt = if delegation.doubted { format!("{prompt}\n\n{DOUBT}") } else { prompt };
    let scope = scope.clone().action_id(&context.action_id()).thread_id(thread_id);
    let decisions = if authorization { vec!["allow".to_owned(), "deny".to_owned()] } else { decisions };
    let mut about: Metadata = [
        (PEER.to_owned(), json!(peer_ref(&delegation.peer))),
        ("task_id".to_owned(), json!(delegation.task_id)),
        (REMOTE_TASK.to_owned(), json!(news.remote_task_id)),
        (QUESTION.to_owned(), json!(question)),
    ]
    .into_iter()
    .collect();
    about.extend(action_id.map(|action_id| (REMOTE_ACTION.to_owned(), json!(action_id))));
    let required = ActionRequired {
        action_type,
        prompt: prompt.clone(),
        decisions,
        // A permission is a word.
        input_schema: input_schema.filter(|_| !authorization),
        policy: Some(POLICY.to_owned()),
        tool_name,
        arguments_digest: None,
        scope: about,
        timeout_at: None,
        on_timeout: OnTimeout::Wait,
    };
    if !authorization {
        return vec![NewEvent::new(scope, required)];
    }
    let asked = asked(&required);
    let requested = NewEvent::new(scope.clone(), crossing::requested(asked.clone(), &required));
    let forwarded = ChannelPermissionForwarded {
        direction: Direction::Inbound,
        requesting_peer: asked.by,
        subject: asked.subject,
        prompt: Some(prompt),
        channel_scoped: true,
        expires_at: None,
    };
    let forwarded = NewEvent::new(Scope { channel_id: delegation.channel_id(), ..scope.clone() }, forwarded);
    // The channel of an action is the one that alone may decide it.
    let bound = Scope { channel_id: delegation.decided_through.clone(), ..scope };
    vec![NewEvent::new(bound, required), requested, forwarded]
}

/// The peer that puts a question, and what it calls the task that the question is about.
pub(in super::super) fn asking_peer(required: &ActionRequired) -> Option<(&str, &str)> {
    let said = |name: &str| required.scope.get(name).and_then(Value::as_str);
    required.policy.as_deref().filter(|policy| *policy == POLICY)?;
    said(PEER).zip(said(REMOTE_TASK))
}

/// Who asks, and for what: always the peer, so there is no agent to name.
fn asked(required: &ActionRequired) -> Asked {
    Asked::of("", None, required)
}

/// Whether what the peer shows is the question that was asked here last: it is open, its answer is on its way, or the peer took the
/// answer and had no time yet to take it up. After that it is another one, also in the same words.
pub(in super::super) fn stands(delegation: &Delegation, news: &PeerNews, now: Timestamp) -> bool {
    let Some(asked) = &delegation.asked else { return false };
    if delegation.asks_another_kind(news.recovery) {
        return false;
    }
    // One that waits and says nothing shows what it showed before: some take the words out of the status once they are answered.
    let shown = news.question.as_deref().unwrap_or_default();
    let another = news.message.is_some() && differ(shown, asked, delegation);
    !another && delegation.answered_at.is_none_or(|at| now.duration_since(at) < TAKEN_UP_MAX)
}

/// Whether these are two questions, as far as the peer tells its questions apart.
pub(super) fn differ(shown: &str, asked: &str, delegation: &Delegation) -> bool {
    shown != asked && !are_times(shown, asked, delegation)
}

/// Whether both are known by the time of their status only, and nothing was answered yet. Some peers tell the time anew whenever
/// they are asked, so until then it tells no questions apart.
fn are_times(shown: &str, asked: &str, delegation: &Delegation) -> bool {
    let is_time = |name: &str| name.parse::<Timestamp>().is_ok();
    delegation.answered_at.is_none() && is_time(shown) && is_time(asked)
}

/// What of a peer's terms is kept: all of it, unless it is more than anybody asks for.
fn taken_over(terms: &Terms) -> Terms {
    let fits = |word: &&String| !word.is_empty() && word.chars().count() <= TERM_CHARS_MAX;
    let words = &terms.decisions;
    let all = words.len() <= DECISIONS_MAX && words.iter().all(|word| fits(&word));
    let small = |schema: &&Value| json_bytes(*schema) <= SCHEMA_BYTES_MAX;
    Terms {
        action_id: terms.action_id.as_ref().filter(fits).cloned(),
        tool_name: terms.tool_name.as_ref().filter(fits).cloned(),
        decisions: if all { words.clone() } else { Vec::new() },
        input_schema: terms.input_schema.as_ref().filter(small).cloned(),
    }
}

/// What goes back over the channel once somebody decided an authorization that a peer asked for.
pub(in super::super) fn returned(
    state: &SessionState,
    action: &OpenAction,
    verdict: Verdict,
    answer: &Answer<'_>,
    scope: &Scope,
) -> Vec<NewEvent> {
    let delegation = state.delegations.of_action(&action.action_id);
    delegation.map(|delegation| crossed(delegation, action, verdict, answer, Side::Local, scope)).unwrap_or_default()
}

/// What was decided of an authorization that a peer asked for, here and over its channel.
fn crossed(
    delegation: &Delegation,
    action: &OpenAction,
    verdict: Verdict,
    answer: &Answer<'_>,
    decided_on: Side,
    scope: &Scope,
) -> Vec<NewEvent> {
    if action.required.action_type != ActionType::Authorization {
        return Vec::new();
    }
    let asked = asked(&action.required);
    let scope = scope.clone().task_id(&delegation.task_id).run_id(&delegation.run_id);
    let resolved = crossing::resolved(asked.subject.clone(), &action.action_id, verdict, answer);
    let resolved = resolved.map(|resolved| NewEvent::new(scope.clone(), resolved));
    let fact = ChannelPermissionReturned {
        direction: if decided_on == Side::Remote { Direction::Inbound } else { Direction::Outbound },
        requesting_peer: asked.by,
        subject: asked.subject,
        decision: crossing::decided(verdict, answer.source),
        decided_by: answer.by.to_owned(),
        decided_on,
        source: answer.source,
        channel_scoped: true,
    };
    let returned = NewEvent::new(Scope { channel_id: delegation.channel_id(), ..scope }, fact);
    resolved.into_iter().chain([returned]).collect()
}

/// The question of a run that is over, or that the peer does not ask any more: nobody has to answer it. `decided_on` is the
/// side that made it so.
pub(in super::super) fn superseded(
    state: &SessionState,
    delegation: &Delegation,
    by: &str,
    decided_on: Side,
) -> Vec<NewEvent> {
    let Some(action) = delegation.action.as_ref().and_then(|action_id| state.action(action_id)) else {
        return Vec::new();
    };
    let scope = Scope::default().thread_id(&action.thread_id).action_id(&action.action_id);
    let mut scope = scope.task_id(&delegation.task_id).run_id(&delegation.run_id);
    scope.session_id = state.shell.as_ref().map(|shell| shell.session_id.clone());
    let source = ResolutionSource::Superseded;
    let fact = ActionResolved {
        action_type: action.required.action_type,
        decision: "superseded".to_owned(),
        payload: None,
        resolved_by: by.to_owned(),
        source,
        allowed: false,
        arguments_digest: None,
    };
    let answer = Answer { decision: "superseded", payload: None, by, source };
    let mut events = vec![NewEvent::new(scope.clone(), fact)];
    events.extend(crossed(delegation, action, Verdict::Deny, &answer, decided_on, &scope));
    events
}
