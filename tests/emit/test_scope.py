"""Session, operation and parent task where they hold, and nowhere else: in tasks, threads, generators, decorators."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramify.emit import Within, bind, current, operation, parent_task, session


def here() -> str | None:
    return current().operation


def test_scopes_add_to_what_holds_already() -> None:
    assert current()[:4] == (None, None, None, None)
    with session("s"), operation("Sync", id="op") as outer, parent_task("t"):
        assert current()[:4] == ("s", "op", "Sync", "t")
        with operation(id="inner", session="s2"):
            assert current()[:4] == ("s2", "inner", None, "t")
        assert (str(outer), outer.id) == ("op", "op")
    assert current()[:4] == (None, None, None, None)


def test_a_scope_ends_with_its_block_also_when_that_raises() -> None:
    try:
        with operation():
            raise KeyError
    except KeyError:
        pass
    assert here() is None


async def test_gather_create_task_and_to_thread_take_the_context_along_and_keep_theirs_apart() -> None:
    async def ask(name: str) -> tuple[str | None, str | None, str | None]:
        async with operation(id=name):
            await asyncio.sleep(0.001)
            child = asyncio.create_task(asyncio.sleep(0.001, result=here()))
            return here(), await child, await asyncio.to_thread(here)

    names = [f"op_{number}" for number in range(50)]
    assert await asyncio.gather(*map(ask, names)) == [(name, name, name) for name in names]
    assert here() is None


async def test_an_executor_and_a_plain_thread_need_bind() -> None:
    loop = asyncio.get_running_loop()
    found: list[str | None] = []
    with ThreadPoolExecutor(1) as pool, operation(id="op"):
        assert await loop.run_in_executor(pool, here) is None
        assert await loop.run_in_executor(pool, bind(here)) == "op"
        assert await loop.run_in_executor(pool, here) is None  # the thread goes on to others
        for function in (here, bind(here)):
            thread = threading.Thread(target=lambda ask=function: found.append(ask()))
            thread.start()
            thread.join()
    assert found == [None, "op"]


def test_a_bound_function_may_be_called_by_many_at_once_and_keeps_its_results_and_errors() -> None:
    barrier = threading.Barrier(8)

    def meet(number: int) -> tuple[int, str | None]:
        barrier.wait(10)
        return number, here()

    with operation(id="op"):
        bound = bind(meet)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(bound, range(8))) == [(number, "op") for number in range(8)]


async def test_every_kind_of_function_can_be_decorated_and_each_call_is_an_operation_of_its_own() -> None:
    @operation("plain")
    def plain() -> str | None:
        return here()

    @operation("later")
    async def later() -> str | None:
        await asyncio.sleep(0)
        return here()

    @operation("steps")
    def steps() -> Iterator[str | None]:
        yield here()
        yield here()

    @operation("async steps")
    async def async_steps() -> AsyncIterator[str | None]:
        yield here()
        await asyncio.sleep(0)
        yield here()

    outside: list[str | None] = []
    ids = [plain(), plain(), await later(), await later()]
    for found in (list_of(steps(), outside), [each async for each in async_steps() if outside.append(here()) is None]):
        assert len(set(found)) == 1
        ids += found[:1]
    assert None not in ids
    assert len(set(ids)) == 6
    assert set(outside) == {None}  # who takes what a generator yields is not inside of it
    assert asyncio.iscoroutinefunction(later)
    assert plain.__name__ == "plain"


def list_of(steps: Iterator[str | None], outside: list[str | None]) -> list[str | None]:
    found = []
    for each in steps:
        outside.append(here())
        found.append(each)
    return found


def test_a_given_id_is_the_same_for_each_call() -> None:
    @operation(id="op")
    def ask() -> str | None:
        return here()

    assert (ask(), ask()) == ("op", "op")


async def test_an_async_generator_that_another_task_closes_harms_nobody() -> None:
    async def numbers() -> AsyncIterator[int]:
        with operation(id="inner"):
            yield 1
            yield 2

    steps = numbers()
    assert await asyncio.create_task(anext(steps)) == 1  # begun in another context
    with operation(id="outer"):
        await steps.aclose()  # type: ignore[attr-defined]
        assert here() == "outer"
    assert here() is None


async def test_one_object_may_be_entered_by_many_tasks_at_once() -> None:
    shared = Within(operation="shared")

    async def ask() -> tuple[str | None, str | None]:
        with shared:
            await asyncio.sleep(0.001)
            inside = here()
        return inside, here()

    assert await asyncio.gather(*(ask() for _ in range(20))) == [("shared", None)] * 20


@given(st.permutations(range(5)), st.integers(0, 5))
def test_scopes_that_end_in_any_order_leave_nothing_behind(order: list[int], kept: int) -> None:
    scopes = [Within(operation=f"op_{number}") for number in range(5)]
    for scope in scopes:
        scope.enter()
    for number in order[kept:]:
        scopes[number].leave()
    left = sorted(order[:kept])
    assert here() == (f"op_{left[-1]}" if left else None)
    for number in order[:kept]:
        scopes[number].leave()
    assert here() is None


def test_sent_and_thrown_values_reach_a_decorated_generator() -> None:
    @operation()
    def echo() -> Iterator[object]:
        said: object = None
        while True:
            try:
                said = yield said
            except KeyError as problem:
                said = repr(problem)
            if said == "end":
                return "over"

    steps = echo()
    assert next(steps) is None
    assert steps.send("one") == "one"  # type: ignore[attr-defined]
    assert steps.throw(KeyError("two")) == "KeyError('two')"  # type: ignore[attr-defined]
    with pytest.raises(StopIteration) as stop:
        steps.send("end")  # type: ignore[attr-defined]
    assert stop.value.value == "over"
