//! A shell in memory: the real engine decides, a vector is the log, and a crash is a dropped future.

use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use factum_agent::{
    Agent, Host, Progress, ProgressSink, Stopped, ToolInvocation, ToolOutput, Tools, Transcript, Turn, at_once,
    run_turn,
};
use factum_engine::session::{SessionState, apply, decide_report, expire_action, recover, respond_action, submit_turn};
use factum_engine::{Context, Decision, Limits, no_opening};
use factum_model::commands::{RespondAction, SubmitTurn};
use factum_model::events::{ActionRequired, ToolEntry};
use factum_model::id::*;
use factum_model::report::{ModelIntent, Report, Runner};
use factum_model::value::{Failure, Metadata, OutputRef, Part};
use factum_model::{Event, Fact, NewEvent, Refusal, SCHEMA_VERSION, Timestamp, Trace};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use uuid::Uuid;

/// More runs than any test turn needs: a turn that needs more hangs.
const RUNS_MAX: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The process dies before the n-th report is durable.
    Before(usize),
    /// It dies when the n-th report is durable and nobody has heard of it.
    After(usize),
}

pub(crate) struct World {
    inner: Mutex<Inner>,
    crashed: Notify,
}

struct Inner {
    state: SessionState,
    log: Vec<Event>,
    ids: Counted,
    now: Timestamp,
    turn_id: Option<TurnId>,
    reports: usize,
    cuts: Vec<Cut>,
    blobs: Vec<Bytes>,
    /// The commit that started the turn announced its first request, and no run has begun yet.
    opened: bool,
}

struct Counted(u128);

impl IdSource for Counted {
    fn next_uuid(&mut self) -> Uuid {
        self.0 += 1;
        Uuid::from_u128(self.0)
    }
}

impl Inner {
    fn decide<T>(
        &mut self,
        caller: &str,
        opening: &dyn Fn(&str) -> Option<ModelIntent>,
        decide: impl FnOnce(&SessionState, &mut Context<'_>) -> Result<Decision<T>, Refusal>,
    ) -> Result<(T, Vec<Event>), Refusal> {
        let limits = Limits::default();
        let Inner { state, ids, now, .. } = self;
        let mut context =
            Context { now: *now, ids, caller, account: "dev", through: None, limits: &limits, prelude: 0, opening };
        let decision = decide(state, &mut context)?;
        Ok((decision.output, self.commit(decision.events)))
    }

    fn commit(&mut self, facts: Vec<NewEvent>) -> Vec<Event> {
        let events: Vec<Event> = facts.into_iter().map(|fact| self.event(fact)).collect();
        self.log.extend(events.iter().cloned());
        events
    }

    fn event(&mut self, NewEvent { scope, fact, refs }: NewEvent) -> Event {
        let event = Event {
            event_id: EventId::from_uuid(self.ids.next_uuid()),
            timestamp: self.now,
            sequence: self.state.sequence + 1,
            schema_version: SCHEMA_VERSION.into(),
            runtime_id: "rt_test".parse().unwrap(),
            scope,
            trace: Trace::default(),
            fact,
            refs,
        };
        apply(&mut self.state, &event);
        event
    }
}

impl World {
    /// A session with one submitted turn.
    pub(crate) fn with_turn(input: &str) -> World {
        World::with_cuts(input, &[])
    }

    pub(crate) fn with_cuts(input: &str, cuts: &[Cut]) -> World {
        World::begun(input, cuts, &no_opening)
    }

    /// A turn whose first request was announced by the commit that started it.
    pub(crate) fn opened(input: &str, agent: &Agent, cuts: &[Cut]) -> World {
        World::begun(input, cuts, &|_| Some(agent.opening()))
    }

    fn begun(input: &str, cuts: &[Cut], opening: &dyn Fn(&str) -> Option<ModelIntent>) -> World {
        let mut inner = Inner {
            state: SessionState::default(),
            log: Vec::new(),
            ids: Counted(0),
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            turn_id: None,
            reports: 0,
            cuts: cuts.to_vec(),
            blobs: Vec::new(),
            opened: false,
        };
        let command = SubmitTurn {
            session_id: None,
            thread_id: None,
            turn_id: None,
            agent: None,
            input: vec![Part::Text { text: input.to_owned() }],
            on_busy: None,
            options: Map::from_iter([("colour".to_owned(), Value::from("blue"))]),
            metadata: Metadata::new(),
            idempotency_key: None,
        };
        let session_id: SessionId = "sess_1".parse().unwrap();
        let submitted = inner.decide("agent://user", opening, |state, context| {
            submit_turn(state, &session_id, "test", &command, context)
        });
        inner.turn_id = Some(submitted.unwrap().0.turn_id);
        inner.opened = opening("test").is_some();
        World { inner: Mutex::new(inner), crashed: Notify::new() }
    }

    pub(crate) fn log(&self) -> Vec<Event> {
        self.inner.lock().log.clone()
    }

    pub(crate) fn facts(&self) -> Vec<Fact> {
        self.log().into_iter().map(|event| event.fact).collect()
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.facts().iter().map(Fact::type_name).collect()
    }

    pub(crate) fn reports(&self) -> usize {
        self.inner.lock().reports
    }

    pub(crate) fn blobs(&self) -> Vec<Bytes> {
        self.inner.lock().blobs.clone()
    }

    /// The turn as a shell would hand it out now.
    pub(crate) fn turn(&self) -> Turn {
        let mut inner = self.inner.lock();
        let opened = std::mem::take(&mut inner.opened);
        let turn_id = inner.turn_id.clone().unwrap();
        let of_turn = |event: &&Event| event.scope.turn_id.as_ref() == Some(&turn_id);
        let events: Vec<Event> = inner.log.iter().filter(of_turn).cloned().collect();
        let Fact::TurnSubmitted(submitted) = &events[0].fact else { panic!("the first fact is the submission") };
        let (input, options) = (submitted.input.clone(), submitted.options.clone());
        let mut transcript = Transcript::new(turn_id.clone());
        transcript.extend(&events);
        let thread = &inner.state.threads[0];
        let attempt = thread.active.as_ref().map_or(1, |active| active.attempt);
        let runner = Runner { thread_id: thread.thread_id.clone(), turn_id, attempt };
        Turn { runner, agent: "test".to_owned(), input, options, transcript, trace: Trace::default(), opened }
    }

    /// Records what the agent answers without a run, if it does.
    pub(crate) fn answer_at_once(&self, agent: &Agent) -> bool {
        let Turn { runner, input, options, transcript, .. } = self.turn();
        let Some(report) = at_once(agent, &input, &options, transcript) else { return false };
        let decide = |state: &SessionState, context: &mut Context<'_>| decide_report(state, &runner, report, context);
        self.inner.lock().decide("runtime://agent", &no_opening, decide).unwrap();
        true
    }

    /// One run. `None` is a crash.
    pub(crate) async fn run(&self, agent: &Agent) -> Option<Result<Progress, Stopped>> {
        self.run_as(agent, self.turn()).await
    }

    pub(crate) async fn run_as(&self, agent: &Agent, turn: Turn) -> Option<Result<Progress, Stopped>> {
        let host = Shell { world: self, runner: turn.runner.clone() };
        tokio::select! {
            biased;
            () = self.crashed.notified() => None,
            progress = run_turn(agent, Box::new(turn), &host) => Some(progress),
        }
    }

    /// Runs until the turn is over: recovers after crashes, lets `respond` decide what is open.
    pub(crate) async fn drive(
        &self,
        agent: &Agent,
        mut respond: impl FnMut(&ActionRequired) -> (&'static str, Option<Value>),
    ) {
        for _ in 0..RUNS_MAX {
            match self.run(agent).await {
                None => self.recover(),
                Some(Ok(Progress::Finished)) => return,
                Some(Ok(Progress::Waiting)) => {
                    let open = self.inner.lock().state.actions[0].clone();
                    let (decision, payload) = respond(&open.required);
                    self.respond(&open.action_id, decision, payload).unwrap();
                }
                Some(Err(stopped)) => panic!("{stopped}\n{:#?}", self.names()),
            }
        }
        panic!("the turn does not come to an end: {:#?}", self.names());
    }

    pub(crate) fn recover(&self) {
        self.inner.lock().decide("runtime://recovery", &no_opening, recover).unwrap();
    }

    pub(crate) fn open_actions(&self) -> Vec<(ActionId, ActionRequired)> {
        let inner = self.inner.lock();
        inner.state.actions.iter().map(|action| (action.action_id.clone(), action.required.clone())).collect()
    }

    pub(crate) fn respond(&self, action_id: &ActionId, decision: &str, payload: Option<Value>) -> Result<(), Refusal> {
        let (action_id, decision) = (action_id.clone(), decision.to_owned());
        let command = RespondAction { action_id, decision, payload, idempotency_key: None };
        self.inner
            .lock()
            .decide("agent://user", &no_opening, |state, context| respond_action(state, &command, context))?;
        Ok(())
    }

    /// Lets the open actions run out of time.
    pub(crate) fn expire_all(&self) {
        for (action_id, _) in self.open_actions() {
            let mut inner = self.inner.lock();
            inner.now = "2027-01-01T00:00:00Z".parse().unwrap();
            inner
                .decide("runtime://timer", &no_opening, |state, context| expire_action(state, &action_id, context))
                .unwrap();
        }
    }

    /// The text of all whole answers.
    pub(crate) fn said(&self) -> String {
        let texts = self.facts().into_iter().filter_map(|fact| match fact {
            Fact::ModelCompleted(completed) => completed.text,
            _ => None,
        });
        texts.collect()
    }

    /// The last fact of the turn, in short.
    pub(crate) fn ended(&self) -> String {
        match self.facts().last() {
            Some(Fact::TurnCompleted(fact)) => format!("completed: {}", fact.stop_reason),
            Some(Fact::TurnFailed(fact)) => format!("failed: {}: {}", fact.error.category, fact.error.message),
            other => format!("open: {:?}", other.map(Fact::type_name)),
        }
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.names().into_iter().filter(|other| *other == name).count()
    }
}

/// One run's view of the world.
struct Shell<'a> {
    world: &'a World,
    runner: Runner,
}

#[async_trait]
impl Host for Shell<'_> {
    async fn report(&self, report: Report) -> Result<Vec<Event>, Stopped> {
        // Becoming durable takes a moment.
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        let decided = {
            let mut inner = self.world.inner.lock();
            inner.reports += 1;
            let number = inner.reports;
            if inner.cuts.contains(&Cut::Before(number)) {
                None
            } else {
                let decide = inner.decide("runtime://agent", &no_opening, |state, context| {
                    decide_report(state, &self.runner, report, context)
                });
                (!inner.cuts.contains(&Cut::After(number))).then_some(decide)
            }
        };
        match decided {
            Some(Ok(((), events))) => Ok(events),
            Some(Err(refusal)) => Err(Stopped::new(refusal.message)),
            None => {
                self.world.crashed.notify_one();
                pending().await
            }
        }
    }

    async fn put_blob(&self, media_type: &str, bytes: Bytes) -> Result<OutputRef, Stopped> {
        let size = bytes.len() as u64;
        self.world.inner.lock().blobs.push(bytes);
        Ok(OutputRef {
            r#ref: "blob:test".to_owned(),
            owner: None,
            media_type: media_type.to_owned(),
            encoding: None,
            size: Some(size),
            digest: Some("sha256:test".to_owned()),
            preview: None,
            preview_dropped: 0,
            redacted: false,
            expires_at: None,
        })
    }
}

/// Tools that remember which calls were run, and how many at once.
pub(crate) struct Watched {
    tools: Arc<dyn Tools>,
    pub(crate) runs: Mutex<Vec<String>>,
    at_once: Mutex<(usize, usize)>,
}

impl Watched {
    pub(crate) fn agent(mut agent: Agent) -> (Agent, Arc<Watched>) {
        let watched =
            Arc::new(Watched { tools: agent.tools.clone(), runs: Mutex::default(), at_once: Mutex::default() });
        agent.tools = watched.clone();
        (agent, watched)
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.at_once.lock().1
    }
}

#[async_trait]
impl Tools for Watched {
    fn catalog(&self) -> Vec<ToolEntry> {
        self.tools.catalog()
    }

    async fn run(&self, call: &ToolInvocation<'_>, progress: &ProgressSink) -> Result<ToolOutput, Failure> {
        self.runs.lock().push(call.idempotency_key.to_owned());
        {
            let mut at_once = self.at_once.lock();
            at_once.0 += 1;
            at_once.1 = at_once.1.max(at_once.0);
        }
        let output = self.tools.run(call, progress).await;
        self.at_once.lock().0 -= 1;
        output
    }
}

/// An agent with one entry for any input.
pub(crate) fn scripted(steps: &str) -> Agent {
    let text = format!("name = \"test\"\n[[on]]\nany = true\nsteps = [{steps}]\n");
    Agent::from_script(factum_agent::Script::parse("test.toml", &text).unwrap_or_else(|error| panic!("{error}")))
}
