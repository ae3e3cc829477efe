//! `create_job`: a batch with all its items. It starts in the same commit.

use std::collections::BTreeSet;

use factum_model::commands::{CreateJob, CreateJobResult, NewJobItem};
use factum_model::events::{DelegateKind, JobCreated, JobStarted};
use factum_model::id::{JobId, SessionId};
use factum_model::job::{JobItemInput, JobStatus};
use factum_model::task::{Execution, TaskRow};
use factum_model::value::Metadata;
use factum_model::{NewEvent, Refusal, Scope};

use super::super::create_session::begin;
use super::super::state::SessionState;
use super::super::tasks::{delegated, require_takes_helpers};
use super::apply::input_bytes;
use super::check::check_refs;
use super::hand_out::hand_out;
use super::state::Job;
use crate::context::{Context, Decision, check};

/// Items at work at once where nobody says how many.
pub(super) const CONCURRENCY_DEFAULT: u32 = 8;

/// `session_id` is the stream the shell chose: the named session, or a new one. `agent` is the one that works where no
/// queue is named; it is resolved and known. `recalled` is the row of the task that the command names, if there is one.
pub fn create_job(
    state: &SessionState,
    session_id: &SessionId,
    agent: &str,
    recalled: &[TaskRow],
    command: &CreateJob,
    context: &mut Context<'_>,
) -> Result<Decision<CreateJobResult>, Refusal> {
    require_takes_helpers(state, recalled, command.task_id.as_ref())?;
    let job_id = command.job_id.clone().unwrap_or_else(|| context.job_id());
    let fact = created(agent, command, context)?;
    let mut events = Vec::new();
    if state.shell.is_none() {
        begin(session_id, agent, command.title.clone(), Metadata::new(), context, &mut events);
    }
    let items_total = fact.items.len() as u64;
    let mut scope = Scope::default().session_id(session_id).job_id(&job_id);
    scope.task_id = command.task_id.clone();
    open_job(state, scope.clone(), fact, context, &mut events)?;
    if command.task_id.is_some() {
        let fact = delegated(DelegateKind::Job, job_id.as_str().to_owned(), context.caller.to_owned());
        events.push(NewEvent::new(scope, fact));
    }
    let sequence = context.sequence_after(state.sequence, &events);
    let (session_id, task_id, status) = (session_id.clone(), command.task_id.clone(), JobStatus::Running);
    Ok(Decision { events, output: CreateJobResult { job_id, session_id, task_id, status, items_total, sequence } })
}

/// The facts of a new job at work; also of one that a schedule makes.
pub(super) fn open_job(
    state: &SessionState,
    scope: Scope,
    fact: JobCreated,
    context: &mut Context<'_>,
    events: &mut Vec<NewEvent>,
) -> Result<JobId, Refusal> {
    let jobs = &state.jobs;
    // Only for this decision: the state gets its own from the fact, with the fact's sequence.
    let job = Job::created(&scope, &fact, context.now, 0).ok_or_else(Refusal::not_found)?;
    let job_id = job.record.job_id.clone();
    if jobs.is_open(&job_id) {
        return Err(Refusal::conflict("a job with this id exists already").with("job_id", job_id.as_str()));
    }
    check("jobs_open", jobs.open.len() + 1, context.limits.jobs_open_max)?;
    let bytes = jobs.open.iter().map(|job| job.input_bytes).sum::<usize>().saturating_add(job.input_bytes);
    check("job_input_bytes", bytes, context.limits.job_input_bytes_max)?;
    events.push(NewEvent::new(scope.clone(), fact));
    events.push(NewEvent::new(scope, JobStarted { status: JobStatus::Running, worker: None }));
    hand_out(state, &job, None, context, events)?;
    Ok(job_id)
}

/// What a command says a job is, checked.
fn created(agent: &str, command: &CreateJob, context: &mut Context<'_>) -> Result<JobCreated, Refusal> {
    let instruction_ref = match (&command.instruction, &command.instruction_ref) {
        (Some(text), None) => inline_ref(text),
        (None, Some(given)) => given.clone(),
        _ => return Err(Refusal::invalid("say what to do by either instruction or instruction_ref")),
    };
    // Before an id is made for each of them.
    check("job_items", command.items.len(), context.limits.job_items_max)?;
    let items = inputs(&command.items, context);
    let fact = JobCreated {
        status: JobStatus::Created,
        requested_by: context.caller.to_owned(),
        title: command.title.clone(),
        instruction_ref,
        instruction: command.instruction.clone(),
        input_refs: command.input_refs.clone(),
        output_schema_ref: command.output_schema_ref.clone(),
        max_runtime_ms: command.max_runtime_ms,
        max_concurrency: command.max_concurrency.unwrap_or(CONCURRENCY_DEFAULT),
        max_item_attempts: command.max_item_attempts.unwrap_or(1),
        execution: with_agent(&command.execution, agent),
        schedule_id: None,
        items,
        idempotency_key: command.idempotency_key.clone(),
    };
    check_created(&fact, context)?;
    Ok(fact)
}

/// Refuses what passes a bound or makes no sense; a schedule's template is held to the same.
pub(super) fn check_created(fact: &JobCreated, context: &Context<'_>) -> Result<(), Refusal> {
    let limits = context.limits;
    limits.check_title(fact.title.as_deref())?;
    check("job_items", fact.items.len(), limits.job_items_max)?;
    check("job_input_bytes", input_bytes(&fact.items), limits.job_input_bytes_max)?;
    let instruction = fact.instruction.as_ref().unwrap_or(&fact.instruction_ref);
    check("job_instruction_bytes", instruction.len(), limits.job_instruction_bytes_max)?;
    check("job_concurrency", fact.max_concurrency as usize, limits.job_concurrency_max as usize)?;
    check("job_item_attempts", fact.max_item_attempts as usize, limits.job_item_attempts_max as usize)?;
    if instruction.trim().is_empty() || fact.max_concurrency == 0 || fact.max_item_attempts == 0 {
        return Err(Refusal::invalid("a job needs an instruction, and at least one item at once and one attempt"));
    }
    if fact.max_runtime_ms == Some(0) {
        return Err(Refusal::invalid("max_runtime must be more than 0"));
    }
    if fact.items.is_empty() {
        return Err(Refusal::invalid("a job needs at least one item; leave items out for one without arguments"));
    }
    let distinct: BTreeSet<&str> = fact.items.iter().map(|item| item.job_item_id.as_str()).collect();
    if distinct.len() < fact.items.len() {
        return Err(Refusal::invalid("every item of a job needs its own job_item_id"));
    }
    let given = fact.output_schema_ref.iter().chain(&fact.input_refs);
    check_refs(given.chain(fact.items.iter().filter_map(|item| item.input_ref.as_ref())), limits)?;
    check("input_parts", fact.input_refs.len(), limits.input_parts_max)?;
    if fact.execution.peer.is_some() {
        return Err(Refusal::invalid("jobs are not given to peers; create a task for each item"));
    }
    crate::session::workers::check_execution(&fact.execution)
}

/// The ref of an instruction that came as text.
pub(super) fn inline_ref(text: &str) -> String {
    format!("inline:{}", crate::digest::sha256(text.as_bytes()))
}

pub(super) fn with_agent(execution: &Execution, agent: &str) -> Execution {
    let agent = execution.queue.is_none().then(|| agent.to_owned());
    Execution { agent: execution.agent.clone().or(agent), ..execution.clone() }
}

/// Items as they are kept, each with an id of its own.
pub(super) fn inputs(items: &[NewJobItem], context: &mut Context<'_>) -> Vec<JobItemInput> {
    let input = |item: &NewJobItem| JobItemInput {
        job_item_id: item.job_item_id.clone().unwrap_or_else(|| context.job_item_id()),
        arguments: item.arguments.clone(),
        input_ref: item.input_ref.clone(),
    };
    items.iter().map(input).collect()
}
