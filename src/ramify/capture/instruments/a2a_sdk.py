"""The A2A SDK, 0.3 and 1.x: the task on which an agent works is known while it does, and stands in what it asks of others.

Which request made an agent call another one is nowhere on the wire. Inside the process it is known: so each new task that
is asked for carries `metadata.parentTaskId`, which its agent keeps, and a `traceparent`. Nothing is recorded here.
"""

import hashlib
import logging
import sys
from contextlib import nullcontext
from types import ModuleType
from typing import Any

from ramify.capture.instruments.patches import Function, Patches
from ramify.emit import Emitter
from ramify.emit.scope import current, parent_task

log = logging.getLogger("ramify")
STAMP, TRACE = "parentTaskId", "traceparent"
HANDLERS = ("DefaultRequestHandler", "DefaultRequestHandlerV2", "LegacyRequestHandler")


# -- agents: which task is worked on ------------------------------------------------------------------------------------


def install_server(patches: Patches, module: ModuleType, emitter: Emitter) -> None:
    executors = Executors(patches)
    for name in HANDLERS:
        owner = vars(module).get(name)
        if owner is not None and owner.__module__ == module.__name__:
            patches.wrap(owner, "__init__", executors.noticing)


class Executors:
    """The classes in which programs do their work: known when one of them is handed to the SDK."""

    def __init__(self, patches: Patches) -> None:
        self._patches = patches
        self._known: set[type] = set()

    def noticing(self, original: Function) -> Function:
        def init(handler: Any, *given: Any, **named: Any) -> None:
            original(handler, *given, **named)
            kind = type(getattr(handler, "agent_executor", None))
            if kind not in self._known:
                self._known.add(kind)
                self._patches.wrap(kind, "execute", working)

        return init


def working(original: Function) -> Function:
    async def execute(executor: Any, *given: Any, **named: Any) -> Any:
        context = given[0] if given else named.get("context")
        task = getattr(context, "task_id", None)
        with parent_task(task) if isinstance(task, str) and task else nullcontext():
            return await original(executor, *given, **named)

    return execute


# -- clients: the stamp ---------------------------------------------------------------------------------------------------


def install_client(patches: Patches, module: ModuleType, emitter: Emitter) -> None:
    """`BaseClient` in both versions; `A2AClient` is what programs on 0.3 used before."""
    stamping = Stamping(vars(module).get("ClientCallContext"))
    for name, methods in (("BaseClient", ("send_message",)), ("A2AClient", ("send_message", "send_message_streaming"))):
        owner = vars(module).get(name)
        for method in methods if owner is not None and owner.__module__ == module.__name__ else ():
            patches.wrap(owner, method, stamping.around)


class Stamping:
    def __init__(self, new_context: Any) -> None:
        self._new_context = new_context

    def around(self, original: Function) -> Function:
        def send(client: Any, *given: Any, **named: Any) -> Any:
            task = current().parent_task
            if task:
                given, named = self._stamped(task, given, named)
            return original(client, *given, **named)

        return send

    def _stamped(self, task: str, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """A program is not to fail, nor to send something else, because we do not know its version."""
        try:
            request = stamped(given[0] if given else named["request"], task)
            named = {**named, **self._trace(task, named)}
        except Exception as problem:
            log.warning("an A2A request is not stamped: %r", problem)
            return given, named
        return ((request, *given[1:]), named) if given else ((), {**named, "request": request})

    def _trace(self, task: str, named: dict[str, Any]) -> dict[str, Any]:
        """Only where the program gave no context of its own: that may be used for other calls, too."""
        if named.get("context") is not None or named.get("http_kwargs") is not None or self._new_context is None:
            return {}
        headers = {TRACE: traceparent(task)}
        if "service_parameters" in getattr(self._new_context, "model_fields", {}):
            return {"context": self._new_context(service_parameters=headers)}
        return {"context": self._new_context(state={"http_kwargs": {"headers": headers}})}


def stamped(request: Any, task: str) -> Any:
    """A copy: the program's own message stays as it is. What goes on with a task, or is stamped already, is left alone."""
    if hasattr(request, "CopyFrom"):  # 1.x: SendMessageRequest, a protobuf
        return stamped_protobuf(request, task)
    params = getattr(request, "params", None)
    if params is not None:  # 0.3: SendMessageRequest around parameters
        message = stamped_model(params.message, task)
        return request.model_copy(update={"params": params.model_copy(update={"message": message})})
    return stamped_model(request, task)


def stamped_protobuf(request: Any, task: str) -> Any:
    message = request.message
    if message.task_id or STAMP in message.metadata:
        return request
    copy = type(request)()
    copy.CopyFrom(request)
    copy.message.metadata.update({STAMP: task})
    return copy


def stamped_model(message: Any, task: str) -> Any:
    metadata = message.metadata or {}
    if message.task_id or STAMP in metadata:
        return message
    return message.model_copy(update={"metadata": {**metadata, STAMP: task}})


def traceparent(task: str) -> str:
    """Of the span that holds, where the program traces itself; else of one that is the task's own."""
    tracing = sys.modules.get("opentelemetry.trace")
    if tracing is not None:
        span = tracing.get_current_span().get_span_context()
        if span.is_valid:
            return f"00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags):02x}"
    digest = hashlib.sha256(task.encode("utf-8", "surrogatepass")).hexdigest()
    return f"00-{digest[:32]}-{digest[32:48]}-01"
