"""The official Python client that speaks A2A 0.3 (a2a-sdk 0.3.x) as a user would use it: python_03.py URL TRANSPORT
TOKEN

TRANSPORT is JSONRPC or HTTP+JSON. Ends with 0 where everything is as it should be.
"""

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import (
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TextPart,
)


def message(text, task=None):
    named = {} if task is None else {"task_id": task.id, "context_id": task.context_id}
    return Message(message_id=str(uuid.uuid4()), role=Role.user, parts=[Part(root=TextPart(text=text))], **named)


async def sent(client, text, task=None):
    """What the client holds of the task when the stream of answers has ended, or the message."""
    last = None
    async for event in client.send_message(message(text, task)):
        last = event if isinstance(event, Message) else event[0]
    return last


async def refused(call):
    try:
        await call
    except A2AClientError:
        return
    raise AssertionError("expected to be refused, got an answer")


def texts(task):
    return ["".join(part.root.text for part in artifact.parts) for artifact in task.artifacts or []]


async def sends(plain, streaming, _):
    answer = await sent(plain, "tck-complete-task hello")
    assert answer.status.state == TaskState.completed and "hello" in texts(answer)[0], answer
    said = await sent(plain, "tck-message-response hello")
    assert isinstance(said, Message) and said.role == Role.agent, said


async def streams(plain, streaming, _):
    task, updates = None, 0
    async for event in streaming.send_message(message("tck-stream-basic a b c")):
        task, updates = event[0], updates + 1
    assert task.status.state == TaskState.completed and updates >= 3, task
    stored = await plain.get_task(TaskQueryParams(id=task.id))
    assert texts(stored) == texts(task), (stored, task)


async def resubscribes(plain, streaming, polling):
    task = await sent(polling, "tck-long-running")
    assert task.status.state in (TaskState.submitted, TaskState.working), task
    first = streaming.resubscribe(TaskIdParams(id=task.id))
    seen, _ = await anext(first)
    assert seen.id == task.id, seen
    await first.aclose()
    ended = None
    async for seen, _ in streaming.resubscribe(TaskIdParams(id=task.id)):
        ended = seen
    assert ended.status.state == TaskState.completed, ended
    assert texts(ended) == texts(await plain.get_task(TaskQueryParams(id=task.id))), ended


async def asks(plain, streaming, _):
    task = await sent(plain, "tck-multi-turn start")
    assert task.status.state == TaskState.input_required and task.status.message.parts, task
    done = await sent(plain, "done", task)
    assert (done.id, done.status.state) == (task.id, TaskState.completed), done
    await refused(sent(plain, "too late", task))


async def cancels(plain, streaming, polling):
    task = await sent(polling, "tck-cancel")
    canceled = await plain.cancel_task(TaskIdParams(id=task.id))
    assert (canceled.id, canceled.status.state) == (task.id, TaskState.canceled), canceled
    await refused(plain.cancel_task(TaskIdParams(id=task.id)))
    await refused(plain.get_task(TaskQueryParams(id="nothing-like-this")))


async def configures_push(plain, streaming, polling):
    task = await sent(polling, "tck-cancel")
    authentication = PushNotificationAuthenticationInfo(schemes=["Bearer"], credentials="secret")
    config = PushNotificationConfig(url="https://example.com/hook", token="once", authentication=authentication)
    made = await plain.set_task_callback(TaskPushNotificationConfig(task_id=task.id, push_notification_config=config))
    assert made.push_notification_config.id and made.push_notification_config.url == config.url, made
    named = {"id": task.id, "push_notification_config_id": made.push_notification_config.id}
    read = await plain.get_task_callback(GetTaskPushNotificationConfigParams(**named))
    kept = read.push_notification_config
    assert kept.url == config.url and not (kept.authentication and kept.authentication.credentials), read
    await plain.cancel_task(TaskIdParams(id=task.id))


async def main(url, transport, token):
    checks = [sends, streams, resubscribes, asks, cancels, configures_push]
    # Over HTTP+JSON this client passes no credential of an interceptor on, so it is a header of every request.
    credential = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(timeout=30, trust_env=False, headers=credential) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        how = [{"streaming": False}, {"streaming": True}, {"streaming": False, "polling": True}]
        configs = [ClientConfig(httpx_client=http, supported_transports=[transport], **kind) for kind in how]
        clients = [ClientFactory(config).create(card) for config in configs]
        for check in checks:
            await check(*clients)
            print(f"0.3 {transport}: {check.__name__}", flush=True)


asyncio.run(main(*sys.argv[1:]))
