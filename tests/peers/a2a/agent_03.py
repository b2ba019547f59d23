"""A sample agent on version 0.3 of the SDK: JSON-RPC, and HTTP+JSON below `/v1`.

    python agent_03.py PORT [--children URL]
"""

import argparse
import asyncio
from collections.abc import Sequence
from uuid import uuid4

import httpx
import uvicorn
from a2a.client import ClientConfig, ClientFactory
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    FilePart,
    FileWithBytes,
    Message,
    Part,
    Role,
    TaskState,
    TextPart,
)
from a2a.utils import new_task
from plan import Child, Plan, carry_out, go_on, read_plan
from starlette.applications import Starlette

ENDS = {"completed": TaskState.completed, "failed": TaskState.failed, "rejected": TaskState.rejected}
WAITS = {"input": TaskState.input_required, "auth": TaskState.auth_required}


def text_part(text: str) -> Part:
    return Part(root=TextPart(text=text))


class Voice:
    def __init__(self, updater: TaskUpdater) -> None:
        self._updater = updater

    def _message(self, text: str, refers: Sequence[str] = (), workflow: str = "") -> Message:
        metadata = {"referencedWorkflow": {"workflowName": workflow, "description": "given away"}} if workflow else None
        message = self._updater.new_agent_message([text_part(text)], metadata)
        message.reference_task_ids = list(refers) or None
        return message

    async def working(self, text: str, refers: Sequence[str] = (), workflow: str = "") -> None:
        await self._updater.update_status(TaskState.working, self._message(text, refers, workflow))

    async def artifact(self, name: str, text: str, append: bool, last: bool) -> None:
        await self._updater.add_artifact([text_part(text)], artifact_id=name, name=name, append=append, last_chunk=last)

    async def large(self, name: str, size: int) -> None:
        part = Part(root=FilePart(file=FileWithBytes(bytes="Bw" * (size * 2 // 3), name=name)))
        await self._updater.add_artifact([part], artifact_id=name, name=name, last_chunk=True)

    async def wait_for(self, what: str, text: str) -> None:
        await self._updater.update_status(WAITS[what], self._message(text), final=True)

    async def end(self, how: str, text: str, refers: Sequence[str] = ()) -> None:
        await self._updater.update_status(ENDS[how], self._message(text, refers), final=True)


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
            parts = [text_part(f"{plan.title}: at once")]
            reply = Message(role=Role.agent, parts=parts, message_id=str(uuid4()), context_id=context.context_id)
            await event_queue.enqueue_event(reply)
            return
        task = context.current_task
        if task is None:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
        voice = Voice(TaskUpdater(event_queue, task.id, task.context_id))
        if context.current_task is not None:
            await go_on(self._plans[task.id], text, voice)
            return
        self._plans[task.id] = plan
        own = task.context_id if plan.context == "same" else None

        async def spawn(address: str, child: Plan) -> Child:
            return await self._spawn(address, child, own)

        await carry_out(plan, voice, spawn, self._children_at)

    async def _spawn(self, address: str, plan: Plan, context: str | None) -> Child:
        http = httpx.AsyncClient(timeout=None)
        client = await ClientFactory.connect(address, ClientConfig(httpx_client=http))
        message = Message(role=Role.user, parts=[text_part(plan.text())], message_id=str(uuid4()), context_id=context)
        events = client.send_message(message)
        first = await anext(events)
        over = asyncio.ensure_future(read_out(events, http))
        self._following.add(over)
        over.add_done_callback(self._following.discard)
        return Child(first[0].id if isinstance(first, tuple) else "", over)

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
    return AgentCard(
        name="Sample agent 0.3",
        description="Does as it is told.",
        version="1",
        url=f"{url}/",
        preferred_transport="JSONRPC",
        additional_interfaces=[AgentInterface(url=f"{url}/", transport="JSONRPC"), AgentInterface(url=url, transport="HTTP+JSON")],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        supports_authenticated_extended_card=True,
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="plan", name="Plan", description="Carries out a plan", tags=["plan"])],
    )


def make_app(url: str, children_at: str) -> Starlette:
    card = make_card(url)
    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        Executor(children_at),
        InMemoryTaskStore(),
        push_config_store=configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs),
    )
    app = A2AStarletteApplication(card, handler, extended_agent_card=card).build()
    app.mount("/", A2ARESTFastAPIApplication(card, handler, extended_agent_card=card).build())
    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--children", default="")
    given = parser.parse_args()
    address = f"http://127.0.0.1:{given.port}"
    uvicorn.run(make_app(address, given.children or address), host="127.0.0.1", port=given.port, log_level="warning")
