"""Calls: a request, then a response or an error, whatever way the call ends, and the caller gets what it would have got."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from ramify.emit import Emitter, Memory
from ramify.emit.call import current_call
from tests.emit.test_emitter import heard


def kinds(memory: Memory) -> list[str]:
    return [event["eventType"] for event in memory.events]


def test_a_block_is_a_request_and_its_answer_with_one_id_and_a_duration() -> None:
    emitter, memory = heard()
    with emitter.call("seller", "sync", params={"n": 5}, protocol="mcp", agent_uri="http://agent") as call:
        assert current_call() is call
        call.answer({"status": "submitted", "task_id": "task_1"})
    assert current_call() is None
    request, response = memory.events
    assert request["callId"] == response["callId"] == call.id
    assert request["payload"] == {"params": {"n": 5}}
    assert (response["status"], response["agentTaskId"], response["agentUri"]) == ("submitted", "task_1", "http://agent")
    assert "params" not in response
    assert response["durationMs"] >= 0
    assert "durationMs" not in request


@pytest.mark.parametrize("task", ["", "x" * 256, 17, None])
def test_what_can_be_no_id_is_not_told_as_one(task: Any) -> None:
    emitter, memory = heard()
    with emitter.call("seller", "sync") as call:
        call.answer({"status": "submitted", "task_id": task})
    assert memory.events[1]["status"] == "submitted"
    assert "agentTaskId" not in memory.events[1]


def test_a_task_of_somebodys_project_is_not_told_as_the_work() -> None:
    emitter, memory = heard()
    for answer in ({"taskId": "PROJ-5", "status": "open"}, {"taskId": "m1", "status": "working"}):
        with emitter.call("seller", "sync") as call:
            call.answer(answer)
    assert [event.get("agentTaskId") for event in memory.events if event["eventType"] == "protocol_response"] == [None, "m1"]


def test_what_a_block_raises_is_told_and_raised_on() -> None:
    emitter, memory = heard()
    problem = ConnectionRefusedError("nobody there")
    with pytest.raises(ConnectionRefusedError) as seen, emitter.call("seller", "sync"):
        raise problem
    assert seen.value is problem
    assert kinds(memory) == ["protocol_request", "protocol_error"]
    assert memory.events[1].items() >= {"raised": "ConnectionRefusedError", "error": "nobody there"}.items()


def test_of_a_group_the_first_cause_is_named() -> None:
    emitter, memory = heard()
    with pytest.raises(BaseExceptionGroup), emitter.call("seller", "sync"):
        raise BaseExceptionGroup("many", [BaseExceptionGroup("inner", [TimeoutError()]), ValueError()])
    assert memory.events[1]["raised"] == "TimeoutError"


def test_a_decorated_function_gives_its_arguments_and_its_result() -> None:
    emitter, memory = heard()

    class Agent:
        @emitter.call("seller")
        def sync(self, count: int, *, brief: str = "") -> dict[str, Any]:
            """Syncs."""
            return {"count": count}

    assert Agent().sync(3, brief="b") == {"count": 3}
    assert (Agent.sync.__name__, Agent.sync.__doc__) == ("sync", "Syncs.")
    request, response = memory.events
    assert (request["taskType"], request["payload"]["params"]) == ("sync", {"count": 3, "brief": "b"})
    assert (response["payload"], response["status"]) == ({"count": 3}, "completed")


def test_each_call_of_a_decorated_function_has_its_own_id() -> None:
    emitter, memory = heard()

    @emitter.call("seller", "sync")
    def sync() -> None: ...

    sync()
    sync()
    assert len({event["callId"] for event in memory.events}) == 2


async def test_a_cancelled_call_is_an_error_and_stays_cancelled() -> None:
    emitter, memory = heard()

    @emitter.call("seller", "sync")
    async def sync() -> None:
        await asyncio.sleep(10)

    task = asyncio.create_task(sync())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert memory.events[1]["raised"] == "CancelledError"


async def test_calls_side_by_side_are_not_mixed_up() -> None:
    emitter, memory = heard()

    @emitter.call("seller", "sync")
    async def sync(number: int) -> int:
        await asyncio.sleep(0.01 - number / 1000)
        call = current_call()
        assert call is not None
        call.notes["noted"] = number
        return number

    assert await asyncio.gather(*map(sync, range(5))) == list(range(5))
    asked = {event["callId"]: event["payload"]["params"]["number"] for event in memory.events[:5]}
    for event in memory.events[5:]:
        assert asked[event["callId"]] == event["payload"] == event["noted"]


def numbers() -> Iterator[int]:
    yield 1
    yield 2


async def async_numbers() -> AsyncIterator[int]:
    yield 1
    yield 2


async def test_a_stream_that_is_read_to_its_end_is_answered() -> None:
    emitter, memory = heard()
    assert list(emitter.call("seller", "numbers")(numbers)()) == [1, 2]
    assert [each async for each in emitter.call("seller", "numbers")(async_numbers)()] == [1, 2]
    assert kinds(memory) == ["protocol_request", "protocol_response"] * 2


async def test_a_stream_that_is_left_is_an_error() -> None:
    emitter, memory = heard()
    steps = emitter.call("seller", "numbers")(numbers)()
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    async_steps = emitter.call("seller", "numbers")(async_numbers)()
    await anext(async_steps)
    await async_steps.aclose()  # type: ignore[attr-defined]
    assert kinds(memory) == ["protocol_request", "protocol_error"] * 2
    assert {event.get("raised") for event in memory.events} == {None, "GeneratorExit"}


def test_a_stream_that_breaks_says_why() -> None:
    emitter, memory = heard()

    @emitter.call("seller", "numbers")
    def broken() -> Iterator[int]:
        yield 1
        raise OSError("line cut")

    with pytest.raises(OSError, match="line cut"):
        list(broken())
    assert memory.events[1]["error"] == "line cut"


def test_without_subscribers_everything_works_and_nothing_is_told() -> None:
    emitter = Emitter()

    @emitter.call("seller", "sync")
    def sync(number: int) -> int:
        return number

    assert sync(3) == 3
    with pytest.raises(ValueError, match="no"), emitter.call("seller", "sync"):
        raise ValueError("no")
    assert emitter.stats() == {"unencodable": 0, "dropped": 0, "subscribers": []}


def test_arguments_that_do_not_fit_raise_what_they_always_raised() -> None:
    emitter, memory = heard()

    @emitter.call("seller", "sync")
    def sync(number: int) -> int:
        return number

    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        sync()  # type: ignore[call-arg]
    assert kinds(memory) == ["protocol_request", "protocol_error"]
