"""One call of an agent: a request, then a response or an error, with one id and the time between them."""

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from ramify.emit.around import around
from ramify.emit.item import NAMES, ids
from ramify.emit.scope import current
from ramify.emit.trace import traceparent

if TYPE_CHECKING:
    from ramify.emit.emitter import Emitter

Function = TypeVar("Function", bound=Callable[..., Any])
ASKED = ("params", "headers")
LONGEST_ID = 255
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
        self._scope = current()
        self._began = 0.0

    def ask(self, params: Any) -> None:
        """What is asked, where it was not known when the call was made."""
        self._fields = self._fields | {"params": params}

    def answer(self, payload: Any = None, **fields: Any) -> None:
        """What the agent answered: also `status` and `agent_task_id`, where the payload does not say them."""
        self._answer = payload, fields

    @property
    def operation(self) -> str:
        return self._fields.get("operation_id") or self._scope.operation or f"op_{self.id}"

    def traceparent(self, given: str | None = None) -> str:
        """To send along with the request, which then says so: the caller's own, else one that is the same each time."""
        found: str = given or self._fields.get("traceparent") or traceparent(self.operation, self.id)
        self._fields = self._fields | {"traceparent": found}
        return found

    # -- what happens to it -------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._began = time.perf_counter()
        self._tell("protocol_request", lambda: self._rest() | asked(self._fields))

    def end(self, result: Any) -> None:
        payload, fields = self._answer
        payload = result if payload is None else payload
        answer = {"payload": payload, "status": "completed"}
        self._tell("protocol_response", lambda: self._common() | answer | read(payload) | fields)

    def fail(self, problem: BaseException, **fields: Any) -> None:
        self._tell("protocol_error", lambda: self._common() | told(problem) | fields)

    def _tell(self, kind: str, make: Callable[[], dict[str, Any]]) -> None:
        """In the scope in which it was made: a generator may end wherever the collector finds it."""
        own: dict[str, Any] = {"eventType": kind, "agentId": self.agent_id, "taskType": self.task_type, "method": self.task_type, "callId": self.id}
        self._emitter.tell(lambda: own | {NAMES.get(name, name): value for name, value in make().items()}, self._scope)

    def _common(self) -> dict[str, Any]:
        took = round((time.perf_counter() - self._began) * 1000, 3)
        return self._rest() | self.notes | {"duration_ms": took}

    def _rest(self) -> dict[str, Any]:
        return {name: value for name, value in self._fields.items() if name not in (*ASKED, "call_id")}

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


def asked(fields: dict[str, Any]) -> dict[str, Any]:
    return {"payload": {"params": None} | {name: fields[name] for name in ASKED if fields.get(name) is not None}}


def told(problem: BaseException | str) -> dict[str, Any]:
    """Of a group of exceptions, the first that is none: its name says whether the agent can have heard the request."""
    if isinstance(problem, str):
        return {"error": problem}
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return {"raised": type(problem).__name__, "error": words_of(problem)[:2000]}


def words_of(problem: BaseException) -> str:
    try:
        return str(problem) or type(problem).__name__
    except Exception:
        return type(problem).__name__


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
    found: dict[str, Any] = {"status": status} if status in OPEN else {}
    is_task = found or payload.get("resultType") == "task"  # of MCP; what somebody's project calls a task is none
    task = payload.get("task_id") or (payload.get("taskId") if is_task else None)
    return found | ({"agent_task_id": task} if is_id(task) else {})


def is_id(value: Any) -> bool:
    """Whether an event may have it: with any other, a server would refuse the whole answer."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_ID
