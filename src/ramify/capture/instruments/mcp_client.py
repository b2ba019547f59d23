"""MCP clients: every call of a tool as a request and its answer, with its progress, and a trace for the server.

`Client` (2.x) calls its `ClientSession`, which older programs use themselves; either is told once. Calls that only carry
those of another library are told by that one.
"""

import inspect
import logging
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from types import ModuleType
from typing import Any

from ramify.capture.instruments.carrier import carrier
from ramify.capture.instruments.patches import Function, Patches
from ramify.emit import Call, Emitter
from ramify.emit.call import current_call, read
from ramify.emit.place import place_of

log = logging.getLogger("ramify")
CONNECTION_CLOSED, REQUEST_TIMEOUT = -32000, (-32001, 408)
_under_way: ContextVar[tuple[int, object] | None] = ContextVar("ramify_mcp", default=None)


def install(patches: Patches, module: ModuleType, emitter: Emitter) -> None:
    for name in ("Client", "ClientSession"):
        owner = vars(module).get(name)
        if owner is not None and owner.__module__ == module.__name__:
            patches.wrap(owner, "call_tool", ToolCalls(emitter).around)


class ToolCalls:
    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def around(self, original: Function) -> Function:
        signature = inspect.signature(original)

        async def call_tool(client: Any, *given: Any, **named: Any) -> Any:
            try:
                bound = signature.bind(client, *given, **named)
            except TypeError:
                return await original(client, *given, **named)  # which says what is wrong
            name = bound.arguments.get("name")
            if not self._emitter.is_heard:
                return await original(client, *given, **named)
            if _under_way.get() == (id(client), name):
                return self._noted(await original(client, *given, **named))
            upper = carrier.get()
            call = self._call(client, bound.arguments) if upper is None else upper.call
            if call is not None:
                self._add(call, bound.arguments, signature)
            token = _under_way.set((id(session_of(client)), name))
            try:
                ask = partial(original, *bound.args, **bound.kwargs)
                return await (told(call, ask) if call is not None and upper is None else ask())
            finally:
                _under_way.reset(token)

        return call_tool

    def _call(self, client: Any, asked: dict[str, Any]) -> Call:
        uri = place_of(getattr(client, "server", None))
        named = {"protocol": "mcp", "method": "tools/call", "params": asked.get("arguments")}
        return self._emitter.call(agent_of(client), str(asked.get("name")), **named, **({"agent_uri": uri} if uri else {}))

    def _add(self, call: Call, asked: dict[str, Any], signature: inspect.Signature) -> None:
        """To the request: a trace, unless it has one, and somebody who listens to progress, unless there is one."""
        if "meta" in signature.parameters and isinstance(asked.get("meta") or {}, dict):
            meta = dict(asked.get("meta") or {})
            given = meta.get("traceparent")
            asked["meta"] = meta | {"traceparent": call.traceparent(given if isinstance(given, str) else None)}
        if "progress_callback" in signature.parameters and asked.get("progress_callback") is None:
            asked["progress_callback"] = self._progress(call)

    def _noted(self, result: Any) -> Any:
        """A task is the answer, which the caller does not see: an extension of the client waits for its end."""
        call = current_call()
        if call is not None and is_task(result):
            payload, _ = answered(result)
            call.notes["transport_task_id"] = payload["taskId"]
            self._emitter.emit(
                {
                    "eventType": "status_update", "source": "stream", "operationId": call.operation, "agentId": call.agent_id,
                    "taskType": call.task_type, "callId": call.id, "protocol": "mcp", "transportTaskId": payload["taskId"],
                    "status": payload["status"],
                }
            )  # fmt: skip
        return result

    def _progress(self, call: Call) -> Callable[..., Awaitable[None]]:
        async def progress(progress: float, total: float | None = None, message: str | None = None) -> None:
            self._emitter.emit(
                {
                    "eventType": "progress", "operationId": call.operation, "agentId": call.agent_id, "taskType": call.task_type,
                    "callId": call.id, "protocol": "mcp", "progress": progress, "total": total, "message": message,
                }
            )

        return progress


async def told(call: Call, ask: Callable[[], Awaitable[Any]]) -> Any:
    call.begin()
    call.enter()
    try:
        result = await ask()
    except BaseException as problem:  # a cancellation is one
        claimed = getattr(problem, "result", None)
        if is_task(claimed):  # the agent has answered, and goes on; it is the caller who cannot take a task for an answer
            tell_answer(call, claimed)
        else:
            call.fail(problem, **reason(problem))
        raise
    finally:
        call.leave()
    tell_answer(call, result)
    return result


def tell_answer(call: Call, result: Any) -> None:
    try:
        payload, fields = answered(result)
        call.answer(payload, **fields)
    except Exception as problem:  # another version's result, which is told as it is
        log.debug("cannot read an answer class=%s: %r", type(result).__name__, problem)
        call.answer(result)
    call.end(None)


def is_task(result: Any) -> bool:
    return getattr(result, "result_type", None) == "task" and isinstance(getattr(result, "task_id", None), str)


def answered(result: Any) -> tuple[Any, dict[str, Any]]:
    """The answer as it was on the wire, and how the work stands by it."""
    payload = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    if payload.get("isError"):
        return payload, {"status": "failed"}
    kind = str(payload.get("resultType", "")).replace("_", "-")
    if kind == "input-required":
        return payload, {"status": kind}
    return payload, read(payload if kind == "task" else payload.get("structuredContent"))


def reason(problem: BaseException) -> dict[str, Any]:
    """The SDK has one class for everything; whether the server can have heard the request stands in its code."""
    code = getattr(problem, "code", None) or getattr(getattr(problem, "error", None), "code", None)
    name = type(problem).__name__
    if code in REQUEST_TIMEOUT:
        return {"raised": f"{name}.RequestTimeout", "status": "unknown", "error_code": code}
    if code == CONNECTION_CLOSED:
        return {"raised": f"{name}.ConnectionReset", "status": "unknown", "error_code": code}
    return {"error_code": code} if isinstance(code, int) else {}


def session_of(client: Any) -> Any:
    try:
        return getattr(client, "session", client)
    except Exception:  # a client that was never entered: its call will say so
        return client


def agent_of(client: Any) -> str:
    """How the server calls itself; where it said nothing, where it is."""
    session = session_of(client)
    told = (session, getattr(session, "initialize_result", None), getattr(session, "_initialize_result", None))
    for place in told:
        info = getattr(place, "server_info", None) or getattr(place, "serverInfo", None)
        name = getattr(info, "name", None)
        if isinstance(name, str) and name:
            return name[:255]
    return (place_of(getattr(client, "server", None)) or "mcp")[:255]
