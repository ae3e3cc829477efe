"""The official Python client (a2a-sdk 1.x) as a user would use it: python_1.py URL BINDING TOKEN

BINDING is JSONRPC, HTTP+JSON or GRPC. Ends with 0 where everything is as it should be.
"""

import asyncio
import sys
import uuid

import grpc
import httpx
from a2a.client import AuthInterceptor, ClientConfig, CredentialService, create_client
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import A2AError, TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError


class Token(CredentialService):
    def __init__(self, token):
        self.token = token

    async def get_credentials(self, security_scheme_name, context):
        return self.token


def config(binding, streaming=True, polling=False):
    return ClientConfig(
        streaming=streaming,
        polling=polling,
        httpx_client=httpx.AsyncClient(timeout=30, trust_env=False),
        grpc_channel_factory=grpc.aio.insecure_channel,
        supported_protocol_bindings=[binding],
    )


def request(text, task=None):
    message = pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=[pb.Part(text=text)])
    if task is not None:
        message.task_id, message.context_id = task.id, task.context_id
    return pb.SendMessageRequest(message=message)


async def sent(client, text, task=None):
    """The last event of sending a message: the answer, where the client does not stream."""
    last = None
    async for event in client.send_message(request(text, task)):
        last = event
    return last


async def refused(error, call):
    try:
        await call
    except error:
        return
    except A2AError as other:
        raise AssertionError(f"expected {error.__name__}, got {other!r}") from other
    raise AssertionError(f"expected {error.__name__}, got an answer")


def folded(events):
    """A task as a client puts it together from a stream."""
    task = pb.Task()
    for event in events:
        if event.HasField("task"):
            task.CopyFrom(event.task)
        elif event.HasField("status_update"):
            task.status.CopyFrom(event.status_update.status)
        elif event.HasField("artifact_update"):
            update = event.artifact_update
            known = [a for a in task.artifacts if a.artifact_id == update.artifact.artifact_id]
            if known and update.append:
                known[0].parts.extend(update.artifact.parts)
            elif known:
                known[0].CopyFrom(update.artifact)
            else:
                task.artifacts.append(update.artifact)
    return task


def texts(task):
    return ["".join(part.text for part in artifact.parts) for artifact in task.artifacts]


async def sends(plain, streaming, _):
    answer = (await sent(plain, "tck-complete-task hello")).task
    assert answer.status.state == pb.TASK_STATE_COMPLETED, answer
    assert "hello" in texts(answer)[0], answer
    message = (await sent(plain, "tck-message-response hello")).message
    assert message.role == pb.ROLE_AGENT and message.parts[0].text, message


async def streams(plain, streaming, _):
    events = [event async for event in streaming.send_message(request("tck-stream-basic a b c"))]
    task = folded(events)
    assert task.status.state == pb.TASK_STATE_COMPLETED, events
    assert sum(event.HasField("artifact_update") for event in events) >= 2, events
    stored = await plain.get_task(pb.GetTaskRequest(id=task.id))
    assert texts(stored) == texts(task), (stored, task)


async def subscribes(plain, streaming, polling):
    task = (await sent(polling, "tck-long-running")).task
    assert task.status.state in (pb.TASK_STATE_SUBMITTED, pb.TASK_STATE_WORKING), task
    first = streaming.subscribe(pb.SubscribeToTaskRequest(id=task.id))
    snapshot = await anext(first)
    assert snapshot.task.id == task.id, snapshot
    await first.aclose()
    events = [event async for event in streaming.subscribe(pb.SubscribeToTaskRequest(id=task.id))]
    assert events[0].task.id == task.id, events
    ended = folded(events)
    assert ended.status.state == pb.TASK_STATE_COMPLETED, events
    assert texts(ended) == texts(await plain.get_task(pb.GetTaskRequest(id=task.id))), events
    late = streaming.subscribe(pb.SubscribeToTaskRequest(id=task.id))
    await refused(UnsupportedOperationError, anext(late))


async def asks(plain, streaming, _):
    asked = (await sent(plain, "tck-input-required start")).task
    assert asked.status.state == pb.TASK_STATE_INPUT_REQUIRED and asked.status.message.parts[0].text, asked
    task = (await sent(plain, "tck-multi-turn start")).task
    assert task.status.state == pb.TASK_STATE_INPUT_REQUIRED, task
    again = (await sent(plain, "more", task)).task
    assert (again.id, again.status.state) == (task.id, pb.TASK_STATE_INPUT_REQUIRED), again
    done = (await sent(plain, "done", task)).task
    assert (done.id, done.status.state) == (task.id, pb.TASK_STATE_COMPLETED), done
    await refused(UnsupportedOperationError, sent(plain, "too late", task))


async def lists(plain, streaming, _):
    task = (await sent(plain, "tck-complete-task to be listed")).task
    page = await plain.list_tasks(pb.ListTasksRequest(context_id=task.context_id))
    assert [listed.id for listed in page.tasks] == [task.id] and not page.tasks[0].artifacts, page
    page = await plain.list_tasks(pb.ListTasksRequest(context_id=task.context_id, include_artifacts=True))
    assert texts(page.tasks[0]) == texts(task), page
    seen, token = [], ""
    for _ in range(100):
        page = await plain.list_tasks(pb.ListTasksRequest(page_size=2, page_token=token))
        assert len(page.tasks) <= 2, page
        seen += [listed.id for listed in page.tasks]
        token = page.next_page_token
        if not token:
            break
    assert task.id in seen and len(seen) == len(set(seen)), seen


async def cancels(plain, streaming, polling):
    task = (await sent(polling, "tck-cancel")).task
    canceled = await plain.cancel_task(pb.CancelTaskRequest(id=task.id))
    assert (canceled.id, canceled.status.state) == (task.id, pb.TASK_STATE_CANCELED), canceled
    await refused(TaskNotCancelableError, plain.cancel_task(pb.CancelTaskRequest(id=task.id)))
    await refused(TaskNotFoundError, plain.get_task(pb.GetTaskRequest(id="nothing-like-this")))


async def configures_push(plain, streaming, polling):
    task = (await sent(polling, "tck-cancel")).task
    wanted = pb.TaskPushNotificationConfig(task_id=task.id, url="https://example.com/hook", token="once")
    wanted.authentication.scheme, wanted.authentication.credentials = "Bearer", "secret"
    made = await plain.create_task_push_notification_config(wanted)
    assert made.id and made.url == wanted.url, made
    named = {"task_id": task.id, "id": made.id}
    read = await plain.get_task_push_notification_config(pb.GetTaskPushNotificationConfigRequest(**named))
    assert (read.id, read.url) == (made.id, wanted.url) and not read.authentication.credentials, read
    listing = pb.ListTaskPushNotificationConfigsRequest(task_id=task.id)
    listed = await plain.list_task_push_notification_configs(listing)
    assert [config.id for config in listed.configs] == [made.id], listed
    for _ in range(2):
        await plain.delete_task_push_notification_config(pb.DeleteTaskPushNotificationConfigRequest(**named))
    listed = await plain.list_task_push_notification_configs(listing)
    assert not listed.configs, listed
    await plain.cancel_task(pb.CancelTaskRequest(id=task.id))


async def main(url, binding, token):
    checks = [sends, streams, subscribes, asks, lists, cancels, configures_push]
    token = [AuthInterceptor(Token(token))]
    plain = await create_client(url, config(binding, streaming=False), token)
    streaming = await create_client(url, config(binding), token)
    polling = await create_client(url, config(binding, streaming=False, polling=True), token)
    for check in checks:
        await check(plain, streaming, polling)
        print(f"{binding}: {check.__name__}", flush=True)
    for client in (plain, streaming, polling):
        await client.close()


asyncio.run(main(*sys.argv[1:]))
