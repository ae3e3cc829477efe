//! Answers in the official types. In protocol buffers nothing is missing, it is empty; what must be there is asked for
//! before the conversion makes something up.

use a2a::{ListTasksResponse, SendMessageResponse, StreamResponse, Task};
use a2a_pb::pbconv;
use a2a_pb::proto::{self, send_message_response, stream_response};

use super::super::failure::Failure;
use super::super::native;

pub(super) fn sent(answer: &proto::SendMessageResponse) -> Result<SendMessageResponse, Failure> {
    match &answer.payload {
        Some(send_message_response::Payload::Task(of)) => Ok(SendMessageResponse::Task(task(of)?)),
        _ => pbconv::from_proto_send_message_response(answer)
            .ok_or_else(|| Failure::malformed("neither a task nor a message")),
    }
}

pub(super) fn task(task: &proto::Task) -> Result<Task, Failure> {
    let unknown = check_task(task)?;
    let mut task = pbconv::from_proto_task(task);
    native::keep_number(&mut task, unknown);
    Ok(task)
}

pub(super) fn tasks(page: &proto::ListTasksResponse) -> Result<ListTasksResponse, Failure> {
    let tasks: Vec<Task> = page.tasks.iter().map(task).collect::<Result<_, _>>()?;
    Ok(ListTasksResponse { tasks, ..pbconv::from_proto_list_tasks_response(page) })
}

pub(super) fn item(item: &proto::StreamResponse) -> Result<StreamResponse, Failure> {
    let unknown = match &item.payload {
        Some(stream_response::Payload::Task(task)) => check_task(task)?,
        Some(stream_response::Payload::StatusUpdate(update)) => check_status(update.status.as_ref())?,
        Some(stream_response::Payload::ArtifactUpdate(update)) if update.artifact.is_none() => {
            return Err(Failure::malformed("an update of an artifact without one"));
        }
        Some(_) | None => None,
    };
    let read = pbconv::from_proto_stream_response(item);
    let mut read = read.ok_or_else(|| Failure::malformed("an item of a stream with nothing in it"))?;
    native::keep_number_of(&mut read, unknown);
    Ok(read)
}

/// Gives the number of a state that nobody knows.
fn check_task(task: &proto::Task) -> Result<Option<i32>, Failure> {
    if task.id.is_empty() {
        return Err(Failure::malformed("a task without an id"));
    }
    check_status(task.status.as_ref())
}

fn check_status(status: Option<&proto::TaskStatus>) -> Result<Option<i32>, Failure> {
    let Some(status) = status else { return Err(Failure::malformed("a task without a status")) };
    Ok(proto::TaskState::try_from(status.state).is_err().then_some(status.state))
}
