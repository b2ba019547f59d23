"""Scripted agents that speak A2A 1.0: they stream, ask each other, produce artifacts and wait for a person's word."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import aiohttp
from aiohttp import web

Json = dict[str, Any]
HEADERS = {"a2a-version": "1.0"}


@dataclass(frozen=True)
class Step:
    """One thing that an agent does. `after` is how long it takes, in seconds at pace 1."""

    after: float = 0.4
    say: str = ""
    artifact: Json | None = None
    hand: tuple[str, str, str] | None = None  # to which agent, what, and what the work is called
    ask: Json | None = None  # a question: its text, and the schema of what it wants to know
    end: str = ""


@dataclass
class Work:
    """A task of one agent: who listens to it hears everything from then on."""

    id: str
    context: str
    prompt: Json
    state: str = "TASK_STATE_SUBMITTED"
    message: Json | None = None
    history: list[Json] = field(default_factory=list)
    artifacts: dict[str, Json] = field(default_factory=dict)
    listeners: list[asyncio.Queue[Json | None]] = field(default_factory=list)
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    def shown(self) -> Json:
        history = [*self.history, *([self.message] if self.message else [])]
        return {"id": self.id, "contextId": self.context, "status": self.status(), "history": history, "artifacts": list(self.artifacts.values())}

    def status(self) -> Json:
        return {"state": self.state, "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"), **({"message": self.message} if self.message else {})}

    def tell(self, event: Json | None) -> None:
        for listener in self.listeners:
            listener.put_nowait(event)


class Agent:
    """`reach` says where the others are, which need not be where they listen: whoever watches stands in between."""

    def __init__(self, name: str, plan: Mapping[str, tuple[Step, ...]], pace: float, seed: str) -> None:
        self.name = name
        self.reach: dict[str, str] = {}
        self._plan = plan
        self._pace = pace
        self._seed = seed
        self._works: dict[str, Work] = {}
        self._count = 0
        self._running: set[asyncio.Task[Any]] = set()

    def _new_id(self) -> str:
        self._count += 1
        return str(uuid5(NAMESPACE_URL, f"{self._seed}/{self.name}/{self._count}"))

    # -- what it answers -----------------------------------------------------------------------------------------------

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            return web.json_response(self._card(str(request.url.origin())))
        asked = await request.json()
        match asked.get("method"):
            case "SendStreamingMessage":
                return await self._stream(request, asked["id"], self._taken(asked["params"]["message"]))
            case "SendMessage":
                return self._answer(asked["id"], {"task": self._taken(asked["params"]["message"]).shown()})
            case "GetTask" if asked["params"].get("id") in self._works:
                return self._answer(asked["id"], self._works[asked["params"]["id"]].shown())
            case "GetTask":
                return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32001, "message": "Task not found"}})
            case _:
                return web.json_response({"jsonrpc": "2.0", "id": asked.get("id"), "error": {"code": -32601, "message": "Method not found"}})

    def _card(self, address: str) -> Json:
        interface = {"url": f"{address}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        return {"name": self.name, "description": "plays a part", "version": "1.0", "supportedInterfaces": [interface],
                "capabilities": {"streaming": True}, "defaultInputModes": ["text"], "defaultOutputModes": ["text"], "skills": []}

    def _answer(self, id: Any, result: Json) -> web.Response:
        return web.json_response({"jsonrpc": "2.0", "id": id, "result": result})

    async def _stream(self, request: web.Request, id: Any, work: Work) -> web.StreamResponse:
        heard: asyncio.Queue[Json | None] = asyncio.Queue()
        heard.put_nowait({"task": work.shown()})
        work.listeners.append(heard)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        with suppress(ConnectionError):  # somebody ends the demo while it plays
            while (event := await heard.get()) is not None:
                await response.write(b"data: " + json.dumps({"jsonrpc": "2.0", "id": id, "result": event}).encode() + b"\r\n\r\n")
        return response

    # -- what it does --------------------------------------------------------------------------------------------------

    def _taken(self, message: Json) -> Work:
        known = self._works.get(message.get("taskId", ""))
        if known is not None:
            known.history.append(message)
            known.answered.set()
            return known
        work = Work(self._new_id(), message.get("contextId") or self._new_id(), message)
        work.history.append({**message, "taskId": work.id, "contextId": work.context})
        self._works[work.id] = work
        running = asyncio.create_task(self._work(work))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return work

    async def _work(self, work: Work) -> None:
        text = work.prompt["parts"][0].get("text", "")
        for step in self._plan.get(text, (Step(end="Done."),)):
            await asyncio.sleep(step.after * self._pace)
            await self._do(work, step)
        work.tell(None)

    async def _do(self, work: Work, step: Step) -> None:
        if step.artifact is not None:
            self._grow(work, step.artifact)
        elif step.hand is not None:
            child = await self._hand(*step.hand)
            self._move(work, "TASK_STATE_WORKING", f"Handed on: {step.hand[2]}",
                       {"referenceTaskIds": [child], "metadata": {"referencedWorkflow": {"workflowName": step.hand[2]}}})
        elif step.ask is not None:
            work.answered.clear()
            self._move(work, "TASK_STATE_INPUT_REQUIRED", step.ask["text"], {"metadata": {"schema": step.ask["schema"]}})
            await work.answered.wait()
            self._move(work, "TASK_STATE_WORKING", "Thank you, going on.")
        else:
            self._move(work, "TASK_STATE_COMPLETED" if step.end else "TASK_STATE_WORKING", step.end or step.say)

    def _move(self, work: Work, state: str, words: str, more: Json | None = None) -> None:
        if work.message:
            work.history.append(work.message)
        work.state = state
        work.message = {"messageId": self._new_id(), "taskId": work.id, "contextId": work.context, "role": "ROLE_AGENT",
                        "parts": [{"text": words}], **(more or {})}
        work.tell({"statusUpdate": {"taskId": work.id, "contextId": work.context, "status": work.status()}})

    def _grow(self, work: Work, update: Json) -> None:
        artifact, append = update["artifact"], update.get("append", False)
        known = work.artifacts.setdefault(artifact["artifactId"], {**artifact, "parts": []})
        known["parts"] = [*(known["parts"] if append else []), *artifact["parts"]]
        work.tell({"artifactUpdate": {"taskId": work.id, "contextId": work.context, **update}})

    async def _hand(self, agent: str, words: str, name: str) -> str:
        """Asks another agent, goes on listening to it, and gives the id of its task."""
        begun: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        listening = asyncio.create_task(listen(self.reach[agent], words, self._new_id(), begun))
        self._running.add(listening)
        listening.add_done_callback(self._running.discard)
        return await begun

    async def close(self) -> None:
        for running in list(self._running):
            running.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


async def listen(address: str, words: str, id: str, begun: "asyncio.Future[str] | None" = None) -> Json:
    """Sends a message, hears its stream to the end, and gives the task as it was last seen."""
    message = {"messageId": id, "role": "ROLE_USER", "parts": [{"text": words}]}
    call = {"jsonrpc": "2.0", "id": id, "method": "SendStreamingMessage", "params": {"message": message}}
    last: Json = {}
    with suppress(aiohttp.ClientError):  # the same: nobody is told, for nobody is left
        async with aiohttp.ClientSession() as http, http.post(address, json=call, headers=HEADERS) as response:
            async for line in response.content:
                if line.startswith(b"data:"):
                    last = json.loads(line[5:])["result"]
                    if begun is not None and not begun.done():
                        begun.set_result(last["task"]["id"])
    return last


async def answer(address: str, task: str, context: str, value: Json, id: str) -> None:
    message = {"messageId": id, "taskId": task, "contextId": context, "role": "ROLE_USER", "parts": [{"data": value}]}
    call = {"jsonrpc": "2.0", "id": id, "method": "SendMessage", "params": {"message": message, "configuration": {"returnImmediately": True}}}
    async with aiohttp.ClientSession() as http, http.post(address, json=call, headers=HEADERS) as response:
        await response.read()


@asynccontextmanager
async def at_work(agents: list[Agent]) -> AsyncIterator[dict[str, str]]:
    """Their addresses, on this machine only, while they listen."""
    runners: list[web.AppRunner] = []
    found: dict[str, str] = {}
    try:
        for agent in agents:
            application = web.Application()
            application.router.add_route("*", "/{path:.*}", agent.handle)
            runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
            runners.append(runner)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            found[agent.name] = "http://{}:{}".format(*runner.addresses[0][:2])
        yield found
    finally:
        for agent in agents:
            await agent.close()
        for runner in runners:
            await runner.cleanup()
