"""The AdCP client: what was asked and what really came back, which its own activities do not say.

Those have no payload and no task id, call work completed that was only submitted, and are missing where a call failed.
Where the awaited call can be seen, it is told instead of them; pushes, which nobody awaits, are told as they are.
"""

import inspect
import logging
import time
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

from ramify.capture.instruments.carrier import Carrier, carrier
from ramify.capture.instruments.patches import Function, Patches
from ramify.emit import Call, Emitter, current
from ramify.emit.call import OPEN, is_id, told
from ramify.emit.place import place_of

log = logging.getLogger("ramify")
SNAPSHOTS = {"get_task_status": "poll", "tasks_get": "poll", "list_tasks": "listing", "tasks_list": "listing"}
STEPS = ("wait_for", "_verified")  # methods that are made of several calls: each of those is told
RESULT = ("status", "success", "error", "adcp_error", "metadata", "data", "message")
ENDED = ("completed", "failed", "canceled", "rejected")


def install(patches: Patches, module: ModuleType, emitter: Emitter) -> None:
    client = module.ADCPClient
    calls = AdcpCalls(emitter)
    patches.wrap(client, "__init__", calls.initialising)
    for name in asking(client):
        patches.wrap(client, name, calls.around)


def asking(client: type) -> list[str]:
    """The methods that send a request to the agent: each takes a `request`."""
    return [
        name
        for name, method in vars(client).items()
        if not name.startswith("_")
        and not any(step in name for step in STEPS)
        and inspect.iscoroutinefunction(method)
        and "request" in inspect.signature(method).parameters
    ]


class AdcpCalls:
    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    # -- activities ---------------------------------------------------------------------------------------------------

    def initialising(self, original: Function) -> Function:
        def initialise(client: Any, *given: Any, **named: Any) -> None:
            original(client, *given, **named)
            client.on_activity = self._chained(getattr(client, "on_activity", None))

        return initialise

    def _chained(self, theirs: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
        """Before the program's own, which may raise: that is between it and its library."""

        def on_activity(activity: Any) -> Any:
            if carrier.get() is None:
                self._emitter.tell(lambda: {"kind": "activity", "activity": plain(activity)})
            return theirs(activity) if theirs is not None else None

        return on_activity

    # -- calls --------------------------------------------------------------------------------------------------------

    def around(self, original: Function) -> Function:
        signature = inspect.signature(original)

        async def ask(client: Any, *given: Any, **named: Any) -> Any:
            upper = carrier.get()
            if not self._emitter.is_heard or (upper is not None and upper.client is client):
                return await original(client, *given, **named)
            try:
                bound = signature.bind(client, *given, **named)
            except TypeError:
                return await original(client, *given, **named)  # which says what is wrong
            method = str(bound.arguments.get("task_name") or original.__name__).removesuffix("_legacy")
            call = None if method in SNAPSHOTS else self._call(client, method, bound.arguments)
            token = carrier.set(Carrier(client, call))
            try:
                if call is None:
                    return await self._snapshot(client, method, lambda: original(client, *given, **named))
                return await awaited(call, lambda: original(*bound.args, **bound.kwargs))
            finally:
                carrier.reset(token)

        return ask

    def _call(self, client: Any, method: str, asked: dict[str, Any]) -> Call:
        config = getattr(client, "agent_config", None)
        fields = {"protocol": protocol_of(config), "agent_uri": place_of(getattr(config, "agent_uri", None))}
        call = self._emitter.call(agent_of(client), method, **fields)
        asked["request"] = addressed(asked.get("request"), call.operation)
        call.ask(plain(asked["request"]))
        return call

    async def _snapshot(self, client: Any, method: str, ask: Callable[[], Awaitable[Any]]) -> Any:
        """Somebody looked how work stands: no work of its own."""
        began = time.perf_counter()
        record = {"kind": SNAPSHOTS[method], "agent": agent_of(client), "method": method, "op": current().operation}

        def ms() -> dict[str, float]:
            return {"ms": round((time.perf_counter() - began) * 1000, 3)}

        try:
            result = await ask()
        except BaseException as problem:
            seen = told(problem)
            self._emitter.emit(record | ms() | {"raised": seen["raised"], "message": seen["error"]})
            raise
        self._emitter.tell(lambda: record | ms() | {name: plain(getattr(result, name, None)) for name in RESULT})
        return result


async def awaited(call: Call, ask: Callable[[], Awaitable[Any]]) -> Any:
    call.begin()
    call.enter()
    try:
        result = await ask()
    except BaseException as problem:  # a dead agent comes out of some versions as a cancellation
        call.fail(problem)
        raise
    finally:
        call.leave()
    try:
        call.answer(plain(getattr(result, "data", result)), **answered(result))
    except Exception as problem:  # another version's result, which is told as it is
        log.debug("cannot read an answer class=%s: %r", type(result).__name__, problem)
        call.answer(result)
    call.end(None)
    return result


def answered(result: Any) -> dict[str, Any]:
    """How the work stands, and the ids: the work's own in the data, the transport's in the metadata."""
    data, metadata = plain(getattr(result, "data", None)), plain(getattr(result, "metadata", None)) or {}
    data = data if isinstance(data, dict) else {}
    failed = getattr(result, "success", True) is False or getattr(result, "adcp_error", None) is not None
    own, transport = word(data.get("status")), word(metadata.get("status"))
    said = word(getattr(result, "status", None)) or "completed"
    status = own if own in OPEN else transport or ("failed" if failed else said)
    work, carrier, context = (value if is_id(value) else None for value in (data.get("task_id"), metadata.get("task_id"), metadata.get("context_id")))
    if work is None and carrier is not None and status not in ENDED:
        work = carrier  # the transport's task is the work
    found = {
        "status": status, "agent_task_id": work, "transport_task_id": carrier, "context_id": context,
        "metadata": metadata, "success": getattr(result, "success", None), "error": getattr(result, "error", None),
        "adcp_error": getattr(result, "adcp_error", None),
    }
    return {name: value for name, value in found.items() if value not in (None, {})}


def addressed(request: Any, operation: str) -> Any:
    """With our operation where pushes are asked for, so that they say it. The program's own object stays as it is."""
    try:
        config = getattr(request, "push_notification_config", None)
        if config is None or getattr(config, "operation_id", None) is not None:
            return request
        named = config.model_copy(update={"operation_id": operation})
        return request.model_copy(update={"push_notification_config": named})
    except Exception as problem:
        log.debug("cannot put an operation into a request class=%s: %r", type(request).__name__, problem)
        return request


def plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", exclude_none=True) if callable(dump) else value


def word(status: Any) -> str:
    """A status in our spelling; empty for none. The client has an enumeration, agents have text."""
    text = getattr(status, "value", status)
    text = text.lower().replace("_", "-").removeprefix("task-state-") if isinstance(text, str) else ""
    return {"needs-input": "input-required", "cancelled": "canceled"}.get(text, text)


def agent_of(client: Any) -> str:
    return str(getattr(getattr(client, "agent_config", None), "id", None) or "adcp")[:255]


def protocol_of(config: Any) -> str | None:
    found = getattr(config, "protocol", None)
    found = getattr(found, "value", found)
    return found if isinstance(found, str) else None
