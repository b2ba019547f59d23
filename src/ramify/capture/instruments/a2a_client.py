"""A2A clients, 0.3 and 1.x: each message that is sent as a request and its answer, with what was streamed in between.

Looking how a task stands is told as what it is, and is no work. Inside an agent's own task only calls that belong to an
operation are told: the others stand on the wire already, with the task that they are for.
"""

import inspect
from collections.abc import AsyncGenerator, Callable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from ramify.capture.instruments.carrier import carrier
from ramify.capture.instruments.patches import Function, Patches
from ramify.emit import Call, Emitter, current
from ramify.emit.around import async_stepped, awaited
from ramify.emit.call import told
from ramify.emit.place import place_of

SENDING = {"BaseClient": ("send_message",), "A2AClient": ("send_message", "send_message_streaming")}
LOOKING = {
    "get_task": ("poll", "GetTask"), "cancel_task": ("poll", "CancelTask"), "list_tasks": ("listing", "ListTasks"),
    "subscribe": ("stream", "SubscribeToTask"), "resubscribe": ("stream", "SubscribeToTask"),
}  # fmt: skip
SAYING = ("task", "statusUpdate", "message", "status-update")
Events = AsyncGenerator[Any, None]
Ask = Callable[[], Events]


def install(patches: Patches, module: ModuleType, emitter: Emitter) -> None:
    calls = A2aCalls(emitter)
    for name, methods in SENDING.items():
        owner = vars(module).get(name)
        if owner is None or owner.__module__ != module.__name__:
            continue
        for method in methods:
            patches.wrap(owner, method, calls.sending)
        for method in LOOKING:
            if hasattr(owner, method):
                patches.wrap(owner, method, calls.looking)


class A2aCalls:
    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    @property
    def _is_told(self) -> bool:
        scope = current()
        mine = scope.operation is not None or scope.parent_task is None
        return self._emitter.is_heard and mine and carrier.get() is None

    # -- work ---------------------------------------------------------------------------------------------------------

    def sending(self, original: Function) -> Function:
        def send(client: Any, *given: Any, **named: Any) -> Any:
            if not self._is_told:
                return original(client, *given, **named)
            asked = plain(given[0] if given else named.get("request"))
            call = self._emitter.call(agent_of(client), skill_of(asked), **about(client, asked))
            ask = partial(original, client, *given, **named)
            if inspect.iscoroutinefunction(original):
                return awaited(partial(answered, call, ask), lambda given, named: call)()
            observe = self._streamed if is_streaming(client) else only_answered
            return async_stepped(partial(observe, call, ask), lambda given, named: call)()

        return send

    async def _streamed(self, call: Call, ask: Ask) -> Events:
        events = ask()
        try:
            async for event in events:
                seen = plain(event)
                if says_something(seen):
                    call.answer(seen, **standing(seen))
                    self._emitter.emit(
                        {
                            "eventType": "status_update", "source": "stream", "operationId": call.operation, "agentId": call.agent_id,
                            "taskType": call.task_type, "callId": call.id, "protocol": "a2a", "payload": seen, **standing(seen),
                        }
                    )  # fmt: skip
                yield event
        finally:
            await events.aclose()

    # -- looking ------------------------------------------------------------------------------------------------------

    def looking(self, original: Function) -> Function:
        kind, method = LOOKING[original.__name__]

        def look(client: Any, *given: Any, **named: Any) -> Any:
            ask = partial(original, client, *given, **named)
            if not self._emitter.is_heard or carrier.get() is not None:
                return ask()
            record = {"kind": kind, "agent": agent_of(client), "method": method, "op": current().operation, "protocol": "a2a"}
            return self._followed(record, ask) if kind == "stream" else self._looked(record, ask)

        return look

    async def _looked(self, record: dict[str, Any], ask: Callable[[], Any]) -> Any:
        try:
            found = await ask()
        except BaseException as problem:
            seen = told(problem)
            self._emitter.emit(record | {"raised": seen["raised"], "message": seen["error"]})
            raise
        self._emitter.tell(lambda: record | {"success": True, "data": plain(found)})
        return found

    async def _followed(self, record: dict[str, Any], ask: Ask) -> Events:
        events = ask()
        try:
            async for event in events:
                seen = plain(event)
                if says_something(seen):
                    self._emitter.emit(record | {"event": seen})
                yield event
        finally:
            await events.aclose()


async def only_answered(call: Call, ask: Ask) -> Events:
    """A generator all the same: the SDK makes one of a single answer."""
    events = ask()
    try:
        async for event in events:
            call.answer(plain(event), **standing(plain(event)))
            yield event
    finally:
        await events.aclose()


async def answered(call: Call, ask: Callable[[], Any]) -> Any:
    result = await ask()
    seen = plain(result)
    call.answer(seen, **standing(seen))
    return result


def standing(seen: Any) -> dict[str, Any]:
    """How the task stands by this, and its id."""
    inner = seen.get("result", seen) if isinstance(seen, dict) else {}
    for name in ("task", "statusUpdate", "artifactUpdate"):
        inner = inner[name] if isinstance(inner.get(name), dict) else inner
    status = inner.get("status")
    state = status.get("state") if isinstance(status, dict) else None
    task = inner.get("taskId") or (inner.get("id") if isinstance(status, dict) else None)
    word = state.lower().removeprefix("task_state_").replace("_", "-") if isinstance(state, str) else None
    return {name: value for name, value in (("status", word), ("transportTaskId", task)) if value}


def about(client: Any, asked: Any) -> dict[str, Any]:
    message = message_of(asked)
    found = {
        "protocol": "a2a", "method": "SendMessage", "params": asked, "agent_uri": place_of(address_of(client)),
        "context_id": message.get("contextId"),
    }  # fmt: skip
    return {name: value for name, value in found.items() if value}


def says_something(seen: Any) -> bool:
    """Pieces of artifacts are long, many, and say nothing of how the task stands, unless they are data."""
    if not isinstance(seen, dict):
        return False
    if any(name in seen for name in SAYING) or seen.get("kind") in SAYING:
        return True
    artifact = seen.get("artifactUpdate", seen)
    parts = artifact.get("artifact", {}).get("parts") if isinstance(artifact, dict) else None
    return any("data" in part for part in parts or () if isinstance(part, dict))


def plain(value: Any) -> Any:
    """As it stands on the wire. Of the pairs that 0.3 gives, the update, which is what came."""
    if isinstance(value, tuple) and len(value) == 2:
        return plain(value[1] if value[1] is not None else value[0])
    if hasattr(value, "DESCRIPTOR"):  # 1.x: protobuf, whose own module is there with it
        return import_module("google.protobuf.json_format").MessageToDict(value)
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_none=True) if callable(dump) else value


def message_of(asked: Any) -> dict[str, Any]:
    found = asked if isinstance(asked, dict) else {}
    for name in ("params", "message"):
        found = found[name] if isinstance(found.get(name), dict) else found
    return found


def skill_of(asked: Any) -> str:
    """The skill that a data part names, as AdCP does; other messages are what they are."""
    for part in message_of(asked).get("parts") or ():
        data = part.get("data") if isinstance(part, dict) else None
        skill = data.get("skill") if isinstance(data, dict) else None
        if isinstance(skill, str) and skill:
            return skill[:255]
    return "message"


def is_streaming(client: Any) -> bool:
    config, capabilities = getattr(client, "_config", None), getattr(card_of(client), "capabilities", None)
    return bool(getattr(config, "streaming", True) and getattr(capabilities, "streaming", True))


def card_of(client: Any) -> Any:
    return getattr(client, "_card", None) or getattr(getattr(client, "_transport", None), "agent_card", None)


def address_of(client: Any) -> object:
    card = card_of(client)
    interfaces = getattr(card, "supported_interfaces", None)
    if interfaces:
        return next((one.url for one in interfaces if one.protocol_binding == "JSONRPC"), interfaces[0].url)
    return getattr(card, "url", None) or getattr(getattr(client, "_transport", None), "url", None)


def agent_of(client: Any) -> str:
    """How the agent calls itself; where it said nothing, where it is."""
    name = getattr(card_of(client), "name", None)
    return str(name or place_of(address_of(client)) or "a2a")[:255]
