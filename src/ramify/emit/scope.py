"""Where a program stands: its session, its operation, and the task that gave it its work, in a context variable.

Tasks of asyncio and `to_thread` take the context along by themselves; `run_in_executor` and plain threads do not,
and `bind` is for them.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

from ramify.emit.around import around

Function = TypeVar("Function", bound=Callable[..., Any])


class Scope(NamedTuple):
    """What holds here. `owner` opened it, inside of `outer`."""

    session: str | None = None
    operation: str | None = None
    name: str | None = None
    parent_task: str | None = None
    outer: "Scope | None" = None
    owner: object = None


NOWHERE = Scope()
_scope: ContextVar[Scope] = ContextVar("ramify_scope", default=NOWHERE)
current = _scope.get
"""The scope that holds here, with `session`, `operation` and `parent_task`."""


def create_operation_id() -> str:
    from uuid import uuid4

    return f"op_{uuid4()}"


class Within:
    """What holds inside a `with` block, or inside each call of a function that it decorates, of any kind."""

    def __init__(
        self,
        session: str | None = None,
        operation: str | None = None,
        name: str | None = None,
        parent_task: str | None = None,
    ) -> None:
        self.session = session
        self.id = operation
        self.name = name
        self.parent_task = parent_task

    def __str__(self) -> str:
        return self.id or ""

    # No token of the variable is kept: one object may be entered by many tasks at once, and a generator may be closed
    # in another context than the one in which it began. Each context knows for itself what was opened in it.
    def enter(self) -> None:
        outer = _scope.get()
        operation = self.id or outer.operation
        name = self.name if self.id else outer.name
        _scope.set(
            Scope(self.session or outer.session, operation, name, self.parent_task or outer.parent_task, outer, self)
        )

    def leave(self) -> None:
        _scope.set(without(_scope.get(), self))

    def __enter__(self) -> "Within":
        self.enter()
        return self

    def __exit__(self, *problem: object) -> None:
        self.leave()

    async def __aenter__(self) -> "Within":
        self.enter()
        return self

    async def __aexit__(self, *problem: object) -> None:
        self.leave()

    def __call__(self, function: Function) -> Function:
        return around(function, lambda given, named: self.again())

    def again(self) -> "Within":
        return self

    # -- what `around` asks of everything that it puts around a function ----------------------------------------------

    def begin(self) -> None:
        pass

    def end(self, result: object) -> None:
        pass

    def fail(self, problem: BaseException) -> None:
        pass


class Operation(Within):
    """A new id for each call of a function that it decorates: each is an act of its own."""

    def again(self) -> Within:
        return Within(self.session, create_operation_id(), self.name, self.parent_task)


def operation(
    name: str | None = None, *, id: str | None = None, session: str | None = None, parent_task: str | None = None
) -> Within:
    """Groups what happens inside: one act of the caller, any number of agents."""
    if id is not None:
        return Within(session, id, name, parent_task)
    return Operation(session, create_operation_id(), name, parent_task)


def session(id: str) -> Within:
    """Whose events these are: what a server gave as `X-Ramify-Session`, or any name that subscribers understand."""
    return Within(session=id)


def parent_task(id: str) -> Within:
    """For agents: the task on which they work. What they ask of others inside are its sub-tasks."""
    return Within(parent_task=id)


def bind(function: Function) -> Function:
    """The same function, which runs where it was bound, in whatever thread it is called."""
    held = _scope.get()
    return around(function, lambda given, named: Bound(held))


class Bound(Within):
    def __init__(self, held: Scope) -> None:
        super().__init__()
        self._held = held

    def enter(self) -> None:
        _scope.set(self._held._replace(outer=_scope.get(), owner=self))


def without(scope: Scope, owner: object) -> Scope:
    """What was opened last is closed first; where that was not so, the rest stays as it is."""
    if scope.owner is owner:
        return scope.outer or NOWHERE
    if scope.outer is None:
        return scope
    return scope._replace(outer=without(scope.outer, owner))
