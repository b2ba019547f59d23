"""Something put around a function of any kind: plain, `async`, a generator or an asynchronous one.

A generator's steps run inside; whoever takes what it yields stays outside.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import partial, wraps
from typing import Any, Protocol, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


class Span(Protocol):
    """`begin`, then any number of `enter` and `leave`, then `end` or `fail`. None of them raises."""

    def begin(self) -> None: ...
    def enter(self) -> None: ...
    def leave(self) -> None: ...
    def end(self, result: object) -> None: ...
    def fail(self, problem: BaseException) -> None: ...


Make = Callable[[tuple[Any, ...], dict[str, Any]], Span]
"""The span of one call, from its arguments."""


def around(function: Function, make: Make) -> Function:
    """A function of the same kind: frameworks look at that, and a method must find its object."""
    import inspect  # takes longer to load than all of this package

    if inspect.isasyncgenfunction(function):
        ours = async_stepped(function, make)
    elif inspect.isgeneratorfunction(function):
        ours = stepped(function, make)
    elif inspect.iscoroutinefunction(function):
        ours = awaited(function, make)
    else:
        ours = called(function, make)
    return cast(Function, wraps(function)(ours))


def called(function: Callable[..., Any], make: Make) -> Callable[..., Any]:
    def ours(*given: Any, **named: Any) -> Any:
        span = make(given, named)
        span.begin()
        span.enter()
        try:
            result = function(*given, **named)
        except BaseException as problem:
            span.fail(problem)
            raise
        finally:
            span.leave()
        span.end(result)
        return result

    return ours


def awaited(function: Callable[..., Awaitable[Any]], make: Make) -> Callable[..., Any]:
    async def ours(*given: Any, **named: Any) -> Any:
        span = make(given, named)
        span.begin()
        span.enter()
        try:
            result = await function(*given, **named)
        except BaseException as problem:  # a cancellation is one
            span.fail(problem)
            raise
        finally:
            span.leave()
        span.end(result)
        return result

    return ours


def stepped(function: Callable[..., Generator[Any, Any, Any]], make: Make) -> Callable[..., Any]:
    def ours(*given: Any, **named: Any) -> Generator[Any, Any, Any]:
        span = make(given, named)
        span.begin()
        inner = function(*given, **named)
        step: Callable[[], Any] = partial(next, inner)
        left: GeneratorExit | None = None
        while True:
            span.enter()
            try:
                value = step()
            except StopIteration as stop:
                span.end(stop.value) if left is None else span.fail(left)
                return stop.value
            except BaseException as problem:
                span.fail(problem)
                raise
            finally:
                span.leave()
            try:
                step = partial(inner.send, (yield value))
            except BaseException as thrown:
                left = thrown if isinstance(thrown, GeneratorExit) else None
                step = partial(inner.throw, thrown)

    return ours


def async_stepped(function: Callable[..., AsyncGenerator[Any, Any]], make: Make) -> Callable[..., Any]:
    async def ours(*given: Any, **named: Any) -> AsyncGenerator[Any, Any]:
        span = make(given, named)
        span.begin()
        inner = function(*given, **named)
        step: Callable[[], Awaitable[Any]] = partial(anext, inner)
        left: GeneratorExit | None = None
        while True:
            span.enter()
            try:
                value = await step()
            except StopAsyncIteration:
                span.end(None) if left is None else span.fail(left)
                return
            except BaseException as problem:
                span.fail(problem)
                raise
            finally:
                span.leave()
            try:
                step = partial(inner.asend, (yield value))
            except BaseException as thrown:
                left = thrown if isinstance(thrown, GeneratorExit) else None
                step = partial(inner.athrow, thrown)

    return ours
