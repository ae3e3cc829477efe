//! Playing the tests: each step is asked, compared, and what it captured is there for the next.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use futures::StreamExt;
use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::binding::{self, Answer, Binding, Events, Operation};
use crate::fault::Fault;
use crate::matcher::{self, shown};
use crate::receiver::Receiver;
use crate::suite::{Assertion, Level, Step, Suite, Test};
use crate::target::Target;
use crate::template::Variables;
use crate::{client, path, special, stream, until};

/// How many tests are under way at once. Some of them mostly wait.
const TESTS_AT_ONCE_MAX: usize = 8;
/// How long a stream may go on where the suite does not say.
const STREAM_WAIT_MAX: Duration = Duration::from_secs(30);

/// How one test went over one binding.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub suite: String,
    pub id: String,
    pub level: Level,
    pub binding: Binding,
    pub verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Passed,
    Failed(String),
    Skipped(String),
}

/// What all tests share.
pub(crate) struct Ground<'g> {
    pub target: &'g Target,
    pub receiver: Receiver,
    /// A task of somebody else's, where the server tells people apart.
    pub other_task_id: Option<String>,
}

impl Outcome {
    pub(crate) fn is_skipped(&self) -> bool {
        matches!(self.verdict, Verdict::Skipped(_))
    }
}

/// Every test that was asked for, over every binding it is for.
pub(crate) async fn all(suites: &[Suite], target: &Target, args: &Args) -> Result<Vec<Outcome>> {
    some(suites, target, args, |_, _| true).await
}

/// Those that were skipped, again: another server may be what they are about.
pub(crate) async fn skipped(outcomes: &mut [Outcome], suites: &[Suite], target: &Target, args: &Args) -> Result<()> {
    let was_skipped = |id: &str, binding: Binding| {
        outcomes.iter().any(|outcome| outcome.is_skipped() && outcome.id == id && outcome.binding == binding)
    };
    for again in some(suites, target, args, was_skipped).await? {
        let before = outcomes.iter_mut().find(|outcome| outcome.id == again.id && outcome.binding == again.binding);
        before.into_iter().for_each(|outcome| outcome.verdict = again.verdict.clone());
    }
    Ok(())
}

async fn some(
    suites: &[Suite],
    target: &Target,
    args: &Args,
    wanted: impl Fn(&str, Binding) -> bool,
) -> Result<Vec<Outcome>> {
    let other_task_id = special::task_of_somebody_else(target).await.context("a task of somebody else's")?;
    let ground = Ground { target, receiver: Receiver::start().await?, other_task_id };
    let runs = suites.iter().flat_map(|suite| suite.tests.iter().map(move |test| (suite, test)));
    let runs = runs.filter(|(_, test)| args.takes(&test.id));
    let runs = runs.flat_map(|(suite, test)| args.bindings.iter().map(move |binding| (suite, test, *binding)));
    let runs = runs.filter(|(_, test, binding)| test.is_for(*binding) && wanted(&test.id, *binding));
    let runs: Vec<_> = runs.collect();
    let played = runs.into_iter().map(|(suite, test, binding)| one(&ground, suite, test, binding));
    Ok(futures::stream::iter(played).buffered(TESTS_AT_ONCE_MAX).collect().await)
}

async fn one(ground: &Ground<'_>, suite: &Suite, test: &Test, binding: Binding) -> Outcome {
    let verdict = match ground.target.lacks(test) {
        Some(lack) if !test.is_of_client() => Verdict::Skipped(lack),
        _ => match Play::new(ground, suite, test, binding).all().await {
            Ok(()) => Verdict::Passed,
            Err(error) => Verdict::Failed(format!("{error:#}")),
        },
    };
    Outcome { suite: suite.id.clone(), id: test.id.clone(), level: test.level, binding, verdict }
}

/// One test under way.
pub(crate) struct Play<'p> {
    pub ground: &'p Ground<'p>,
    pub test: &'p Test,
    pub binding: Binding,
    pub variables: Variables,
    /// Where its webhook is.
    pub hook: String,
    /// The headers and bodies that steps got, by id.
    pub got: BTreeMap<String, Got>,
}

/// What a step got, apart from streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Got {
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

impl<'p> Play<'p> {
    fn new(ground: &'p Ground<'p>, suite: &Suite, test: &'p Test, binding: Binding) -> Self {
        let hook = format!("/{}/{}", test.id, binding.name());
        let mut runner = BTreeMap::from([
            ("SUT_BASE_URL".to_owned(), ground.target.base.clone()),
            ("webhookUrl".to_owned(), ground.receiver.url(&hook)),
        ]);
        let credentials = &ground.target.credentials;
        runner.extend(credentials.insufficient.clone().map(|token| ("insufficientAuthToken".to_owned(), token)));
        runner.extend(ground.other_task_id.clone().map(|id| ("otherUserTaskId".to_owned(), id)));
        let mut document = suite.variables.clone();
        if special::needs_delivery(&test.id) {
            // A suite's own webhook is nobody's: only ours can tell what arrived.
            document.remove("webhookUrl");
        }
        Self { ground, test, binding, variables: Variables::new(document, runner), hook, got: BTreeMap::new() }
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.ground.target.credentials.own.as_deref()
    }

    async fn all(mut self) -> Result<()> {
        for step in &self.test.steps {
            self.step(step).await.with_context(|| format!("step {}", step.id))?;
        }
        self.test.assertions.iter().try_for_each(|assertion| self.assert(assertion))?;
        special::check(&self).await
    }

    async fn step(&mut self, step: &Step) -> Result<()> {
        if let Some(delay_ms) = step.delay_ms {
            pause(delay_ms).await;
        }
        if let Some(response) = &step.client_response {
            let parsed = client::parse(response)?;
            let expected = self.variables.fill(step.expect_parsed.as_ref().unwrap_or(&Value::Null))?;
            return matches(&expected, &parsed);
        }
        if let Some(assertion) = &step.assertion {
            return self.assert(assertion);
        }
        let got = match (&step.raw, &step.operation) {
            (Some(_), _) => self.raw(step).await?,
            (None, Some(name)) => {
                let params = self.variables.fill_map(&step.params)?;
                let operation = Operation::parse(name, &params)?;
                if operation.streams() {
                    return self.streamed(step, operation, params).await;
                }
                self.asked(step, operation, params).await?
            }
            (None, None) => bail!("there is nothing to do"),
        };
        for (name, at) in &step.capture {
            let at = at.as_str().context("a path is a text")?;
            let value = path::one(&got.body, at).with_context(|| format!("no {at} in {}", shown(Some(&got.body))))?;
            self.variables.capture(&step.id, name, value.clone());
        }
        self.variables.capture(&step.id, "response", got.body.clone());
        self.got.insert(step.id.clone(), got);
        step.assertions.iter().try_for_each(|assertion| self.assert(assertion))
    }

    /// Asks, once or until something holds.
    async fn asked(&self, step: &Step, operation: Operation, params: Map<String, Value>) -> Result<Got> {
        let mut attempt = 1;
        loop {
            let asked = binding::call(self.ground.target, self.binding, operation, params.clone(), self.token());
            let Answer { outcome, headers } = asked.await?;
            self.expected(step, &outcome)?;
            let body = outcome.unwrap_or_else(|fault| json!({ "error": fault.to_json() }));
            let Some(repeat) = &step.repeat else { return Ok(Got { headers, body }) };
            if until::holds(&repeat.until, &body)? {
                return Ok(Got { headers, body });
            }
            ensure!(attempt < repeat.max_attempts, "{} did not hold in {attempt} attempts", repeat.until);
            pause(repeat.pause_ms(attempt)).await;
            attempt += 1;
        }
    }

    /// Compares an answer with `expect` or `expect_error`.
    fn expected(&self, step: &Step, outcome: &Result<Value, Fault>) -> Result<()> {
        if let Some(expected) = &step.expect_error {
            let expected = self.variables.fill_map(expected)?.into();
            return match outcome {
                Err(fault) => matches(&expected, &fault.to_json()),
                Ok(value) => Err(anyhow!("expected to be refused with {expected}, got {}", shown(Some(value)))),
            };
        }
        let mut expected = self.variables.fill_map(step.expect.as_ref().unwrap_or(&Map::new()))?;
        let status = expected.remove("status");
        let body = expected.remove("body");
        let refused = status == Some(json!("error")) || expected.contains_key("error");
        match outcome {
            Err(fault) if !refused => bail!("refused with {fault}"),
            Ok(value) if refused => bail!("expected to be refused, got {}", shown(Some(value))),
            Err(fault) => matches(&expected.into(), &json!({ "error": fault.to_json() })),
            Ok(value) => {
                // An operation has no status of its own: 200 stands for success, whatever the binding.
                matches(&status.unwrap_or(json!(200)), &json!(200))?;
                if let Some(body) = body {
                    matches(&body, value)?;
                }
                matches(&expected.into(), value)
            }
        }
    }

    async fn streamed(&mut self, step: &Step, operation: Operation, params: Map<String, Value>) -> Result<()> {
        let refused =
            step.expect_error.is_some() || step.expect.as_ref().is_some_and(|expect| expect.contains_key("error"));
        let opened = binding::stream(self.ground.target, self.binding, operation, params, self.token()).await?;
        let events = match opened {
            Err(fault) => return self.expected(step, &Err(fault)),
            Ok(events) => events,
        };
        let wait = step.expect_stream.as_ref().and_then(|expected| expected.timeout_ms);
        let wait = wait.map_or(STREAM_WAIT_MAX, Duration::from_millis);
        let events = match to_the_end(events, wait).await? {
            Err(fault) => return self.expected(step, &Err(fault)),
            Ok(events) => events,
        };
        ensure!(!refused, "expected to be refused, got {}", shown(Some(&events.into())));
        if let Some(expected) = &step.expect_stream {
            stream::check(expected, &events, false)
                .map_err(|why| anyhow!("{why}; all events: {}", Value::from(events.clone())))?;
        }
        self.variables.capture(&step.id, "response", events.into());
        Ok(())
    }

    async fn raw(&self, step: &Step) -> Result<Got> {
        let mut raw = step.raw.clone().context("there is no request")?;
        raw.headers = self.variables.fill_map(&raw.headers)?;
        raw.body = raw.body.map(|body| self.variables.fill(&body)).transpose()?;
        let token = self.token().filter(|_| !self.test.is_about_credentials());
        let answer = binding::send_raw(self.ground.target, self.binding, &raw, token).await?;
        if step.expect_error.is_some() {
            bail!("a raw request has no abstract error to expect");
        }
        let mut expected = self.variables.fill_map(step.expect.as_ref().unwrap_or(&Map::new()))?;
        if let Some(status) = expected.remove("status") {
            matches(&status, &json!(answer.status)).with_context(|| shown(Some(&answer.body)))?;
        }
        if let Some(body) = expected.remove("body") {
            matches(&body, &answer.body)?;
        }
        matches(&expected.into(), &answer.body)?;
        if let Some(expected) = &step.expect_stream {
            stream::check(expected, &answer.events, true).map_err(|why| anyhow!(why))?;
        }
        Ok(Got { headers: answer.headers, body: answer.body })
    }

    fn assert(&self, assertion: &Assertion) -> Result<()> {
        let source = self.variables.fill_text(&assertion.source)?;
        let source = path::one(&source, assertion.path.as_deref().unwrap_or_default()).cloned().unwrap_or_default();
        if let Some(expected) = &assertion.matches {
            matches(&self.variables.fill(expected)?, &source)?;
        }
        for (collection, what) in [(&assertion.any, "any"), (&assertion.all, "all"), (&assertion.none, "none")] {
            let Some(collection) = collection else { continue };
            let expected = self.variables.fill(&collection.matches)?;
            let found = path::at(&source, &collection.path);
            let fitting = found.iter().filter(|value| matcher::check(&expected, Some(value)).is_ok()).count();
            let holds = match what {
                "any" => fitting > 0,
                "all" => fitting == found.len(),
                _ => fitting == 0,
            };
            let (path, shown) = (&collection.path, shown(Some(&source)));
            ensure!(holds, "{what} of {path} should fit {expected}, {fitting} of {} do: {shown}", found.len());
        }
        Ok(())
    }
}

/// All events of a stream that ends by itself. What is refused on the way is a fault.
pub(crate) async fn to_the_end(mut events: Events, wait: Duration) -> Result<Result<Vec<Value>, Fault>> {
    let mut seen = Vec::new();
    let collect = async {
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => seen.push(event),
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    };
    match tokio::time::timeout(wait, collect).await {
        Ok(Ok(())) => Ok(Ok(seen)),
        Ok(Err(fault)) => Ok(Err(fault)),
        Err(_) => bail!("the stream did not end within {wait:?}; seen: {}", Value::from(seen)),
    }
}

fn matches(expected: &Value, actual: &Value) -> Result<()> {
    matcher::check(expected, Some(actual)).map_err(|mismatch| anyhow!("{mismatch}"))
}

/// A pause that a suite asks for, or that lies between two looks at something that announces itself to nobody.
pub(crate) async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
