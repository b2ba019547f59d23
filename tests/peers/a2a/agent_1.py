"""A sample agent on version 1.x of the SDK: JSON-RPC and HTTP+JSON, version 1.0 of the protocol and 0.3 beside it.

    python agent_1.py PORT [--children URL] [--path /below]
"""

import argparse
import asyncio
from collections.abc import Sequence

import httpx
import uvicorn
from a2a.client import ClientConfig, ClientFactory
from a2a.helpers import new_message, new_raw_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Message,
    Role,
    SendMessageRequest,
    TaskState,
)
from plan import Child, Plan, carry_out, go_on, read_plan
from starlette.applications import Starlette

ENDS = {
    "completed": TaskState.TASK_STATE_COMPLETED,
    "failed": TaskState.TASK_STATE_FAILED,
    "rejected": TaskState.TASK_STATE_REJECTED,
}
WAITS = {"input": TaskState.TASK_STATE_INPUT_REQUIRED, "auth": TaskState.TASK_STATE_AUTH_REQUIRED}


class Voice:
    def __init__(self, updater: TaskUpdater) -> None:
        self._updater = updater

    def _message(self, text: str, refers: Sequence[str] = (), workflow: str = "") -> Message:
        metadata = {"referencedWorkflow": {"workflowName": workflow, "description": "given away"}} if workflow else None
        message = self._updater.new_agent_message([new_text_part(text)], metadata)
        message.reference_task_ids.extend(refers)
        return message

    async def working(self, text: str, refers: Sequence[str] = (), workflow: str = "") -> None:
        await self._updater.start_work(self._message(text, refers, workflow))

    async def artifact(self, name: str, text: str, append: bool, last: bool) -> None:
        await self._updater.add_artifact([new_text_part(text)], artifact_id=name, name=name, append=append, last_chunk=last)

    async def large(self, name: str, size: int) -> None:
        await self._updater.add_artifact([new_raw_part(b"\x07" * size)], artifact_id=name, name=name, last_chunk=True)

    async def wait_for(self, what: str, text: str) -> None:
        await self._updater.update_status(WAITS[what], self._message(text))

    async def end(self, how: str, text: str, refers: Sequence[str] = ()) -> None:
        await self._updater.update_status(ENDS[how], self._message(text, refers))


class Executor(AgentExecutor):
    def __init__(self, children_at: str) -> None:
        self._children_at = children_at
        self._plans: dict[str, Plan] = {}
        self._following: set[asyncio.Task[None]] = set()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        plan = read_plan(text)
        assert context.message is not None
        if context.current_task is None and plan.here(plan.bare):
            reply = new_message([new_text_part(f"{plan.title}: at once")], role=Role.ROLE_AGENT)
            reply.context_id = context.context_id or ""
            await event_queue.enqueue_event(reply)
            return
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        voice = Voice(TaskUpdater(event_queue, task.id, task.context_id))
        if context.current_task is not None:
            await go_on(self._plans[task.id], text, voice)
            return
        self._plans[task.id] = plan
        own = task.context_id if plan.context == "same" else ""

        async def spawn(address: str, child: Plan) -> Child:
            return await self._spawn(address, child, own)

        await carry_out(plan, voice, spawn, self._children_at)

    async def _spawn(self, address: str, plan: Plan, context: str) -> Child:
        """As any client: the child's stream is read to its end while the parent goes on."""
        http = httpx.AsyncClient(timeout=None)
        client = await ClientFactory(ClientConfig(httpx_client=http)).create_from_url(address)
        message = new_message([new_text_part(plan.text())], role=Role.ROLE_USER)
        message.context_id = context
        events = client.send_message(SendMessageRequest(message=message))
        first = await anext(events)
        over = asyncio.ensure_future(read_out(events, http))
        self._following.add(over)
        over.add_done_callback(self._following.discard)
        return Child(first.task.id or first.status_update.task_id, over)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


async def read_out(events: object, http: httpx.AsyncClient) -> None:
    try:
        async for _ in events:  # type: ignore[attr-defined]
            pass
    except Exception as error:  # a child that fails does not make its parent fail
        print(f"child: {error!r}", flush=True)
    await http.aclose()


def make_card(url: str) -> AgentCard:
    both = [(binding, version) for version in ("1.0", "0.3") for binding in ("JSONRPC", "HTTP+JSON")]
    return AgentCard(
        name="Sample agent 1",
        description="Does as it is told.",
        version="1",
        supported_interfaces=[
            AgentInterface(url=url if binding == "HTTP+JSON" else f"{url}/", protocol_binding=binding, protocol_version=version)
            for binding, version in both
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="plan", name="Plan", description="Carries out a plan", tags=["plan"])],
    )


def make_app(url: str, path: str, children_at: str) -> Starlette:
    card = make_card(url)
    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        Executor(children_at),
        InMemoryTaskStore(),
        card,
        push_config_store=configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs),
        extended_agent_card=card,
    )
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, f"{path}/", enable_v0_3_compat=True),
        *create_rest_routes(handler, enable_v0_3_compat=True, path_prefix=path),
    ]
    return Starlette(routes=routes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--children", default="")
    parser.add_argument("--path", default="")
    given = parser.parse_args()
    address = f"http://127.0.0.1:{given.port}{given.path}"
    uvicorn.run(make_app(address, given.path, given.children or address), host="127.0.0.1", port=given.port, log_level="warning")
