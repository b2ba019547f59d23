"""One call of an agent: a request, then a response or an error, with one id and the time between them."""

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from ramify.emit.around import around
from ramify.emit.item import ids

if TYPE_CHECKING:
    from ramify.emit.emitter import Emitter

Function = TypeVar("Function", bound=Callable[..., Any])
OPEN = ("submitted", "working", "input-required", "auth-required")

_calls: ContextVar[tuple["Call", ...]] = ContextVar("ramify_calls", default=())


def current_call() -> "Call | None":
    """The innermost call that is under way here."""
    calls = _calls.get()
    return calls[-1] if calls else None


class Call:
    """`with emitter.call(…) as call:` and, inside, `call.answer(…)`; or a decorator, which answers with the result."""

    def __init__(self, emitter: "Emitter", agent_id: str, task_type: str | None, fields: dict[str, Any]) -> None:
        self.id: str = fields.get("call_id") or ids.next("call")
        self.agent_id = agent_id
        self.task_type = task_type or "call"
        self.notes: dict[str, Any] = {}  # what others learned of this call while it was under way
        self._named = task_type is not None
        self._emitter = emitter
        self._fields = fields
        self._answer: tuple[Any, dict[str, Any]] = (None, {})
        self._began = 0.0

    def answer(self, payload: Any = None, **fields: Any) -> None:
        """What the agent answered: also `status` and `agent_task_id`, where the payload does not say them."""
        self._answer = payload, fields

    # -- what happens to it -------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._began = time.perf_counter()
        self._emitter.request(self.agent_id, self.task_type, **(self._fields | {"call_id": self.id}))

    def end(self, result: Any) -> None:
        payload, fields = self._answer
        payload = result if payload is None else payload
        self._emitter.response(self.agent_id, self.task_type, payload, **(read(payload) | self._common() | fields))

    def fail(self, problem: BaseException, **fields: Any) -> None:
        self._emitter.error(self.agent_id, self.task_type, problem, **(self._common() | fields))

    def _common(self) -> dict[str, Any]:
        rest = {name: value for name, value in self._fields.items() if name not in ("params", "headers")}
        took = round((time.perf_counter() - self._began) * 1000, 3)
        return rest | self.notes | {"call_id": self.id, "duration_ms": took}

    def enter(self) -> None:
        _calls.set((*_calls.get(), self))

    def leave(self) -> None:
        _calls.set(tuple(call for call in _calls.get() if call is not self))

    def __enter__(self) -> "Call":
        self.begin()
        self.enter()
        return self

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        self.leave()
        if problem is None:
            self.end(None)
        else:
            self.fail(problem)

    async def __aenter__(self) -> "Call":
        return self.__enter__()

    async def __aexit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        self.__exit__(kind, problem, trace)

    def __call__(self, function: Function) -> Function:
        name = self.task_type if self._named else getattr(function, "__name__", "call")

        def make(given: tuple[Any, ...], named: dict[str, Any]) -> Call:
            fields = self._fields if "params" in self._fields else self._fields | {"params": arguments(function, given, named)}
            return Call(self._emitter, self.agent_id, name, fields)

        return around(function, make)


def arguments(function: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """By name, without the object of a method."""
    import inspect

    try:
        bound = inspect.signature(function).bind(*given, **named).arguments
    except (TypeError, ValueError):  # it fits not, and the call itself will say so
        return {"args": list(given), **named}
    return {name: value for name, value in bound.items() if name not in ("self", "cls")}


def read(payload: Any) -> dict[str, Any]:
    """How the work stands, by an answer that says so: an agent that took a task names it."""
    if not isinstance(payload, Mapping):
        return {}
    status = str(payload.get("status") or "").lower().replace("_", "-")
    task = payload.get("task_id") or payload.get("taskId")
    found: dict[str, Any] = {"status": status} if status in OPEN else {}
    return found | ({"agent_task_id": task} if isinstance(task, str) else {})
