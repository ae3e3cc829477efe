//! Answers in the official types. In protocol buffers nothing is missing, it is empty; what must be there is asked for
//! before the conversion makes something up.

use a2a::{ListTasksResponse, SendMessageResponse, StreamResponse, Task};
use a2a_pb::pbconv;
use a2a_pb::proto::{self, send_message_response, stream_response};

use super::super::failure::Failure;

pub(super) fn sent(answer: &proto::SendMessageResponse) -> Result<SendMessageResponse, Failure> {
    if let Some(send_message_response::Payload::Task(task)) = &answer.payload {
        check_task(task)?;
    }
    pbconv::from_proto_send_message_response(answer).ok_or_else(|| Failure::malformed("neither a task nor a message"))
}

pub(super) fn task(task: &proto::Task) -> Result<Task, Failure> {
    check_task(task)?;
    Ok(pbconv::from_proto_task(task))
}

pub(super) fn tasks(page: &proto::ListTasksResponse) -> Result<ListTasksResponse, Failure> {
    page.tasks.iter().try_for_each(check_task)?;
    Ok(pbconv::from_proto_list_tasks_response(page))
}

pub(super) fn item(item: &proto::StreamResponse) -> Result<StreamResponse, Failure> {
    match &item.payload {
        Some(stream_response::Payload::Task(task)) => check_task(task)?,
        Some(stream_response::Payload::StatusUpdate(update)) => check_status(update.status.as_ref())?,
        Some(stream_response::Payload::ArtifactUpdate(update)) if update.artifact.is_none() => {
            return Err(Failure::malformed("an update of an artifact without one"));
        }
        Some(_) | None => {}
    }
    pbconv::from_proto_stream_response(item).ok_or_else(|| Failure::malformed("an item of a stream with nothing in it"))
}

fn check_task(task: &proto::Task) -> Result<(), Failure> {
    if task.id.is_empty() {
        return Err(Failure::malformed("a task without an id"));
    }
    check_status(task.status.as_ref())
}

fn check_status(status: Option<&proto::TaskStatus>) -> Result<(), Failure> {
    let Some(status) = status else { return Err(Failure::malformed("a task without a status")) };
    match proto::TaskState::try_from(status.state) {
        Ok(_) => Ok(()),
        Err(_) => Err(Failure::malformed(format!("there is no state {} of a task", status.state))),
    }
}
