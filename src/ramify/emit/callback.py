"""A function that is told of events, one at a time; an `async` one is awaited."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ramify.emit.item import Emitted
from ramify.emit.scope import Within

if TYPE_CHECKING:
    import asyncio

inside: ContextVar[tuple[object, ...]] = ContextVar("ramify_inside", default=())
"""The subscribers that run here, and those that led to them."""
_of_the_parent: list[object] = []


def is_async(function: object) -> bool:
    import inspect

    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


class Callback:
    """Without a loop, what is to be awaited runs in one of this subscriber's own: that also works at the very end."""

    batch, batch_bytes = 1, 2**20

    def __init__(self, function: Callable[[dict[str, Any]], Any], loop: "asyncio.AbstractEventLoop | None") -> None:
        self.function = function
        self._loop = loop
        self._runner: asyncio.Runner | None = None
        if is_async(function):
            import_module("asyncio")  # not in the thread: a child that is forked during an import has half a module

    def deliver(self, batch: Sequence[Emitted]) -> None:
        for item in batch:
            token = inside.set((*item.inside, self))
            try:
                with Within(item.scope.session, item.scope.operation, item.scope.name, item.scope.parent_task):
                    answer = self.function(item.event)
                    if hasattr(answer, "__await__"):
                        self._await(answer)
            finally:
                inside.reset(token)

    def settle(self, seconds: float) -> bool:
        return True

    def stats(self) -> dict[str, Any]:
        return {}

    def renew(self) -> None:
        """After a fork. The loop is kept unused: closing it would take files from the parent's, with which it shares them."""
        _of_the_parent.append(self._runner)
        self._runner = None

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()
            self._runner = None

    def _await(self, answer: Any) -> None:
        import asyncio

        async def all_of_it() -> None:
            await answer

        if self._loop is not None and not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(all_of_it(), self._loop).result()
            return
        if self._runner is None:
            self._runner = asyncio.Runner()
        self._runner.run(all_of_it(), context=copy_context())
