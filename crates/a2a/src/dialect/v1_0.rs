//! 1.0: the official types, right from the bytes and right to the bytes.

use a2a::A2AError;

use super::{loose, put};
use crate::operation::{Around, Name, Operation, Outcome};
use crate::params::read as fields;
use crate::server::Sent;

pub(super) fn read(name: Name, params: &str, around: Around) -> Result<Operation, A2AError> {
    Ok(match name {
        Name::SendMessage => Operation::SendMessage(sent(params, around)?),
        Name::StreamMessage => Operation::StreamMessage(sent(params, around)?),
        Name::GetTask => Operation::GetTask(fields(params)?),
        Name::ListTasks => Operation::ListTasks(fields(params)?),
        Name::CancelTask => Operation::CancelTask(fields(params)?),
        Name::Subscribe => Operation::Subscribe(fields(params)?, around.after),
        Name::CreatePushConfig => Operation::CreatePushConfig(loose::push_config(params)?),
        Name::GetPushConfig => Operation::GetPushConfig(fields(params)?),
        Name::ListPushConfigs => Operation::ListPushConfigs(fields(params)?),
        Name::DeletePushConfig => Operation::DeletePushConfig(fields(params)?),
        Name::ExtendedCard => Operation::ExtendedCard(fields(params)?),
    })
}

fn sent(params: &str, around: Around) -> Result<Box<Sent>, A2AError> {
    let request = loose::request(params)?;
    Ok(Box::new(Sent { request, own_task_id: None, idempotency_key: around.idempotency_key }))
}

pub(super) fn write(outcome: &Outcome, out: &mut Vec<u8>) {
    match outcome {
        Outcome::Sent(response) => put(response, out),
        Outcome::Task(task) => put(task, out),
        Outcome::Tasks(tasks) => put(tasks, out),
        Outcome::PushConfig(config) => put(config, out),
        // The types leave an empty list out, and a client that asks for one looks for it.
        Outcome::PushConfigs(configs) if configs.configs.is_empty() => out.extend_from_slice(br#"{"configs":[]}"#),
        Outcome::PushConfigs(configs) => put(configs, out),
        Outcome::Card(card) => put(card, out),
        // A stream is written item by item; what was deleted leaves an empty message.
        Outcome::Deleted | Outcome::Updates(_) => out.extend_from_slice(b"{}"),
    }
}
