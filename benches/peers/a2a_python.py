"""A server written with the official Python SDK, for `factum bench a2a`: a2a_python.py PORT

It keeps tasks in memory, and its agent answers at once: a task, what was said as an artifact, done.
"""

import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as pb
from starlette.applications import Starlette


class Echo(AgentExecutor):
    async def execute(self, context, event_queue):
        task = pb.Task(id=context.task_id, context_id=context.context_id, history=[context.message])
        task.status.state = pb.TASK_STATE_WORKING
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.add_artifact([pb.Part(text=context.get_user_input())], artifact_id="response")
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def main():
    port = int(sys.argv[1])
    interface = pb.AgentInterface(url=f"http://127.0.0.1:{port}/", protocol_binding="JSONRPC", protocol_version="1.0")
    card = pb.AgentCard(name="echo", description="Answers at once.", version="1", supported_interfaces=[interface])
    card.capabilities.streaming = True
    handler = DefaultRequestHandler(Echo(), InMemoryTaskStore(), card)
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="info", access_log=False)


main()
