//! The permission bridge: makes what the channels that decide were asked agree with what a session has open. It looks at
//! where things stand, not at what just happened, so it may run late, twice, or for the first time after a crash.

use std::collections::BTreeSet;
use std::sync::Arc;

use factum_engine::peers::{PeerState, Question, forward_permission, keys, refuse_permission, return_permission};
use factum_engine::session::{
    ActionRow, CHANNEL_SCOPED, SessionState, keys as session_keys, open_questions, refuse_for_closed_channel,
};
use factum_engine::{Context, Decision};
use factum_model::events::ActionResolved;
use factum_model::id::{ActionId, ChannelId, SessionId};
use factum_model::{Event, Fact, Refusal, Trace};
use factum_store::{Direction, ReadLimit, Scan};

use crate::aggregate::Aggregate;
use crate::caller::Caller;
use crate::commit::{Accept, Actor};
use crate::error::read_refusal;
use crate::runtime::Runtime;
use crate::session::SessionCell;

/// Who asks and tells.
const BRIDGE: &str = "runtime://bridge";

/// Channels that are asked about one session at most.
const DECIDERS_MAX: usize = 1_000;

impl Runtime {
    /// Asks and tells in the background, where facts may have opened or closed an action.
    pub(crate) fn bridge_later(&self, cell: &Arc<SessionCell>, events: &[Event]) {
        let about = |event: &Event| matches!(event.fact, Fact::ActionRequired(_) | Fact::ActionResolved(_));
        if !events.iter().any(about) {
            return;
        }
        let (runtime, account, session_id) = (self.clone(), cell.account.clone(), cell.id.clone());
        self.spawn(async move { runtime.bridge_all(&account, &[session_id]).await });
    }

    /// Asks and tells a channel that comes back, in the background: whatever opened or closed while nobody could bring it there.
    pub(super) fn bridge_back(&self, account: &Arc<str>, sessions: Vec<SessionId>) {
        if sessions.is_empty() {
            return;
        }
        let (runtime, account) = (self.clone(), account.clone());
        self.spawn(async move { runtime.bridge_all(&account, &sessions).await });
    }

    /// Asks and tells now. What fails is tried again when the channel comes back.
    pub(crate) async fn bridge_all(&self, account: &Arc<str>, sessions: &[SessionId]) {
        for session_id in sessions {
            if let Err(error) = self.bridge(account, session_id).await {
                tracing::warn!(%session_id, %error, "permission questions could not be brought to their channels");
            }
        }
    }

    async fn bridge(&self, account: &Arc<str>, session_id: &SessionId) -> Result<(), Refusal> {
        // One at a time for a session, so that a question that is closed meanwhile is found by the next one.
        let prefix = keys::deciders_of(account, session_id);
        let alone = Accept::holding(self.0.keyed.lock(vec![prefix.clone()]).await);
        let open = |state: &SessionState| Ok(open_questions(state));
        let (questions, _) = self.look(account, session_id, open).await?;
        let mut channels: BTreeSet<ChannelId> = questions.iter().filter_map(|(_, channel)| channel.clone()).collect();
        let scan = Scan {
            prefix: prefix.into(),
            after: None,
            until: None,
            direction: Direction::Forward,
            limit: DECIDERS_MAX,
        };
        let rows = self.0.store.scan(scan).await.map_err(|error| read_refusal(&error))?;
        channels.extend(rows.iter().filter_map(|(key, _)| keys::read_decider(key)));
        for channel_id in channels {
            self.bridge_channel(account, session_id, &channel_id, &questions, &alone).await?;
        }
        Ok(())
    }

    async fn bridge_channel(
        &self,
        account: &Arc<str>,
        session_id: &SessionId,
        channel_id: &ChannelId,
        questions: &[(Question, Option<ChannelId>)],
        alone: &Accept,
    ) -> Result<(), Refusal> {
        let asked = |state: &PeerState| {
            let bridge = state.peer.iter().flat_map(|peer| &peer.bridge);
            let here = bridge.filter(|bridged| bridged.entry.session_id.as_ref() == Some(session_id));
            let asked: Vec<_> = here.map(|it| (it.entry.action_id.clone(), it.entry.decision.is_none())).collect();
            let peer = state.peer.as_ref();
            Ok((asked, peer.is_some_and(|peer| peer.closed), peer.is_some_and(|peer| peer.decides_in(session_id))))
        };
        let ((asked, closed, decides), _) = self.look(account, channel_id, asked).await?;
        if closed {
            self.refuse_what_it_decides(account, session_id, channel_id, questions, alone).await?;
        }
        // What was refused just now is open no more, and the channel is told how it came out.
        let refused = |decided: &Option<ChannelId>| closed && decided.as_ref() == Some(channel_id);
        let questions: Vec<_> = questions.iter().filter(|(_, decided)| !refused(decided)).collect();
        let known = |question: &Question| {
            asked.iter().any(|(action_id, _)| Some(action_id) == question.scope.action_id.as_ref())
        };
        let theirs = |decided: &Option<ChannelId>| decided.as_ref().map_or(decides, |decided| decided == channel_id);
        for (question, _) in questions.iter().filter(|(question, decided)| theirs(decided) && !known(question)) {
            self.on_channel(account, channel_id, alone, |state, context| forward_permission(state, question, context))
                .await?;
        }
        let still = |id: &ActionId| questions.iter().any(|(question, _)| question.scope.action_id.as_ref() == Some(id));
        for (action_id, _) in asked.iter().filter(|(action_id, open)| *open && !still(action_id)) {
            let Some((resolved, through)) = self.resolution(account, session_id, action_id).await? else { continue };
            let through_channel = through.as_ref() == Some(channel_id);
            let give = |state: &PeerState, context: &mut Context<'_>| {
                return_permission(state, action_id, &resolved, through_channel, context)
            };
            self.on_channel(account, channel_id, alone, give).await?;
        }
        Ok(())
    }

    /// A channel that left for good decides nothing any more, and nobody else may in its place.
    async fn refuse_what_it_decides(
        &self,
        account: &Arc<str>,
        session_id: &SessionId,
        channel_id: &ChannelId,
        questions: &[(Question, Option<ChannelId>)],
        alone: &Accept,
    ) -> Result<(), Refusal> {
        let actor = Actor { principal: BRIDGE, trace: &Trace::default(), through: None };
        for (question, _) in questions.iter().filter(|(_, decided)| decided.as_ref() == Some(channel_id)) {
            let Some(action_id) = &question.scope.action_id else { continue };
            let refuse =
                |state: &SessionState, context: &mut Context<'_>| refuse_for_closed_channel(state, action_id, context);
            self.execute(account, session_id, &actor, alone, refuse).await?;
        }
        Ok(())
    }

    async fn on_channel(
        &self,
        account: &Arc<str>,
        channel_id: &ChannelId,
        alone: &Accept,
        decide: impl FnOnce(&PeerState, &mut Context<'_>) -> Result<Decision<u64>, Refusal>,
    ) -> Result<(), Refusal> {
        let actor = Actor { principal: BRIDGE, trace: &Trace::default(), through: None };
        self.execute(account, channel_id, &actor, alone, decide).await.map(drop)
    }

    /// How an action came out, and the channel its decision came through.
    async fn resolution(
        &self,
        account: &Arc<str>,
        session_id: &SessionId,
        action_id: &ActionId,
    ) -> Result<Option<(ActionResolved, Option<ChannelId>)>, Refusal> {
        let row = self.0.store.get(&session_keys::action(account, action_id)).await;
        let row = row.map_err(|error| read_refusal(&error))?;
        let row: Option<ActionRow> = row.and_then(|row| serde_json::from_slice(&row).ok());
        let Some(sequence) = row.and_then(|row| row.sequence) else { return Ok(None) };
        let stream = SessionState::stream(account, session_id);
        let records = self.0.store.read(&stream, sequence, ReadLimit::records(1)).await;
        let records = records.map_err(|error| read_refusal(&error))?;
        let event = records.first().and_then(|record| Event::decode(&record.bytes).ok());
        Ok(event.and_then(|event| match event.fact {
            Fact::ActionResolved(fact) => Some((*fact, event.scope.channel_id)),
            _ => None,
        }))
    }

    /// Records on the channel that decides that somebody decided elsewhere, if that is why an answer was refused.
    pub(crate) async fn record_if_private(
        &self,
        caller: &Caller,
        session_id: &SessionId,
        (action_id, decision): (&ActionId, &str),
        refusal: &Refusal,
    ) {
        if refusal.details.get("cause").and_then(|cause| cause.as_str()) != Some(CHANNEL_SCOPED) {
            return;
        }
        let record = async {
            let decider =
                |state: &SessionState| Ok(state.action(action_id).and_then(|action| action.decided_through.clone()));
            let (Some(channel_id), _) = self.look(&caller.account, session_id, decider).await? else { return Ok(()) };
            let actor = Actor { principal: &caller.principal, trace: &caller.trace, through: None };
            let refuse =
                |state: &PeerState, context: &mut Context<'_>| refuse_permission(state, action_id, decision, context);
            self.execute(&caller.account, &channel_id, &actor, &Accept::default(), refuse).await.map(drop)
        };
        let recorded: Result<(), Refusal> = record.await;
        if let Err(error) = recorded {
            tracing::warn!(action_id = %action_id, %error, "a decision elsewhere could not be recorded");
        }
        // A crash may have come between the end of the channel and the end of what it was to decide.
        self.bridge_all(&caller.account, std::slice::from_ref(session_id)).await;
    }
}
