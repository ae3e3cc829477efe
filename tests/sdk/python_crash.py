"""The official Python client on a server that is killed under it: python_crash.py URL BINDING

Streams, says `cut` when it has seen something, waits for a line on stdin while the server is killed and started again,
subscribes again and checks that it gets what it had not seen: nothing lost, nothing doubled.

Over HTTP the client remembers the id of the last event, as the standard of server-sent events has it, and sends it along.
gRPC has no such thing: there the stream begins with the task as it stands.
"""

import asyncio
import sys
import uuid

import grpc
import httpx
from a2a.client import ClientConfig, create_client
from a2a.types import a2a_pb2 as pb

SEEN_BEFORE_THE_CUT = 8


class Remembering(httpx.AsyncHTTPTransport):
    """Notes the ids of server-sent events as they go by."""

    def __init__(self):
        super().__init__()
        self.ids = []

    async def handle_async_request(self, request):
        response = await super().handle_async_request(request)
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = Noted(response.stream, self.ids)
        return response


class Noted(httpx.AsyncByteStream):
    def __init__(self, stream, ids):
        self.stream, self.ids, self.line = stream, ids, b""

    async def __aiter__(self):
        async for piece in self.stream:
            # One line at a time, so that an id is noted exactly when its event is seen.
            for line in piece.splitlines(keepends=True):
                self.line += line
                if line.endswith(b"\n"):
                    if self.line.startswith(b"id:"):
                        self.ids.append(int(self.line[3:]))
                    self.line = b""
                yield line

    async def aclose(self):
        await self.stream.aclose()


def fold(task, event):
    """One more event of a stream on top of what a client has."""
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


def shown(task):
    """What of a task has to be the same however it was put together."""
    texts = {a.artifact_id: "".join(part.text for part in a.parts) for a in task.artifacts}
    return task.id, pb.TaskState.Name(task.status.state), texts


async def main(url, binding):
    transport = Remembering()
    http = httpx.AsyncClient(transport=transport, timeout=60)
    config = ClientConfig(
        httpx_client=http,
        grpc_channel_factory=grpc.aio.insecure_channel,
        supported_protocol_bindings=[binding],
    )
    client = await create_client(url, config)
    message = pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER)
    message.parts.append(pb.Part(text="slow: a story that goes on while the server is killed"))

    task, count = pb.Task(), 0
    try:
        async for event in client.send_message(pb.SendMessageRequest(message=message)):
            fold(task, event)
            count += 1
            if count == SEEN_BEFORE_THE_CUT:
                print("cut", flush=True)
    except Exception as error:  # noqa: BLE001: each binding says it in its own way
        print(f"cut off: {type(error).__name__}", file=sys.stderr)
    assert task.status.state in (pb.TASK_STATE_SUBMITTED, pb.TASK_STATE_WORKING), task
    had = pb.Task()
    had.CopyFrom(task)
    seen = list(transport.ids)
    assert binding == "GRPC" or len(seen) >= SEEN_BEFORE_THE_CUT, seen
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)

    await client.close()
    http = httpx.AsyncClient(transport=transport, timeout=60)
    config.httpx_client = http
    client = await create_client(url, config)
    if binding != "GRPC":
        http.headers["Last-Event-ID"] = str(seen[-1])
    first = True
    async for event in client.subscribe(pb.SubscribeToTaskRequest(id=task.id)):
        if first and binding != "GRPC":
            # The task as this client had it: what comes next is what it had not seen.
            assert event.HasField("task") and shown(event.task) == shown(had), (event, had)
        elif first:
            task.CopyFrom(event.task)
        else:
            fold(task, event)
        first = False
    http.headers.pop("Last-Event-ID", None)
    ids = transport.ids
    assert all(one < next for one, next in zip(seen, seen[1:])), ids
    again = ids[len(seen) :]
    assert binding == "GRPC" or (again[0] >= seen[-1] and again[1:] and again[1] > seen[-1]), ids
    assert all(one < next for one, next in zip(again[1:], again[2:])), ids
    stored = await client.get_task(pb.GetTaskRequest(id=task.id))
    assert shown(task) == shown(stored), (shown(task), shown(stored))
    assert stored.status.state == pb.TASK_STATE_COMPLETED, stored
    assert "a story that goes on" in "".join(shown(stored)[2].values()), stored
    await client.close()


asyncio.run(main(*sys.argv[1:]))
