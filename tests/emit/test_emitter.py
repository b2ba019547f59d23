"""The emitter: what is told, in which order, and that no subscriber can be noticed by the program or by another one."""

import asyncio
import gc
import logging
import math
import subprocess
import sys
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramify.emit import Emitter, Memory, bind, create_operation_id, current, operation, parent_task, session
from ramify.emit.item import LONGEST
from tests.cli.test_main import SOURCE

Event = dict[str, Any]


def heard() -> tuple[Emitter, Memory]:
    emitter, memory = Emitter(), Memory()
    emitter.subscribe(memory)
    return emitter, memory


# -- events -----------------------------------------------------------------------------------------------------------


def test_helpers_write_the_events_of_the_log() -> None:
    emitter, memory = heard()
    with operation("Sync", id="op_1"):
        emitter.request("a", "sync", params={"n": 1}, headers={"x": "y"}, protocol="mcp", call_id="c1")
        emitter.response("a", "sync", {"task_id": "t1"}, status="submitted", agent_task_id="t1", call_id="c1", protocol="mcp")
        emitter.status("a", "sync", "working", previous_status="submitted", agent_task_id="t1")
        emitter.error("a", "sync", TimeoutError("too long"))
        emitter.object("creative", "a", "approved", object_id="cr_1")
    request, response, status, error, thing = memory.events
    assert request.items() >= {
        "eventType": "protocol_request", "operationId": "op_1", "operationName": "Sync", "agentId": "a", "taskType": "sync",
        "protocol": "mcp", "method": "sync", "payload": {"params": {"n": 1}, "headers": {"x": "y"}}, "callId": "c1",
    }.items()
    assert (response["status"], response["agentTaskId"], response["payload"]) == ("submitted", "t1", {"task_id": "t1"})
    assert (status["eventType"], status["status"], status["previousStatus"]) == ("status_update", "working", "submitted")
    assert (error["eventType"], error["raised"], error["error"]) == ("protocol_error", "TimeoutError", "too long")
    assert "eventType" not in thing
    assert (thing["objectType"], thing["targetEntity"], thing["objectId"], thing["status"]) == ("creative", "a", "cr_1", "approved")
    assert len({event["eventId"] for event in memory.events}) == 5
    for event in memory.events:
        assert datetime.fromisoformat(event["timestamp"]).tzinfo is not None


def test_an_event_with_a_kind_of_its_own_is_no_record_of_a_client_library() -> None:
    emitter, memory = heard()
    with operation(id="op_1"):
        emitter.object("creative", "a", "approved", kind="video")
        emitter.emit({"event_type": "status_update", "agent_id": "a", "task_type": "sync", "status": "working", "kind": "mine"})
        emitter.emit({"kind": "agent", "agent": "a", "uri": "https://a.example"})
    thing, event, record = memory.events
    assert (thing["objectType"], thing["operationId"], thing["kind"]) == ("creative", "op_1", "video")
    assert (event["eventType"], event["operationId"], event["kind"]) == ("status_update", "op_1", "mine")
    assert (record["op"], "operationId" in record) == ("op_1", False)


def test_a_number_that_nobody_can_write_out_costs_no_event() -> None:
    emitter, memory = heard()
    emitter.status("a", "sync", "working", result={"large": 10**5000, "small": 10**30})
    assert memory.events[0]["result"] == {"large": hex(10**5000), "small": 10**30}
    assert emitter.stats()["unencodable"] == 0


def test_what_the_caller_says_wins_over_the_context() -> None:
    emitter, memory = heard()
    with operation(id="outer", parent_task="t_outer"):
        emitter.emit({"event_type": "status_update", "operation_id": "mine", "parent_task_id": None, "event_id": "e", "timestamp": "never"})
    (event,) = memory.events
    assert event == {
        "eventType": "status_update", "operationId": "mine", "parentTaskId": None, "eventId": "e", "timestamp": "never",
    }


def test_an_event_without_any_operation_gets_one_and_a_call_only_one() -> None:
    emitter, memory = heard()
    with emitter.call("a", "ask"):
        pass
    emitter.status("a", "ask", "working")
    request, response, status = (event["operationId"] for event in memory.events)
    assert request == response != status
    assert request.startswith("op_")


def test_later_changes_of_the_caller_do_not_show() -> None:
    emitter, memory = heard()
    got: list[Event] = []
    emitter.subscribe(got.append)
    params = {"list": [1, 2], "inner": {"a": 1}}
    emitter.request("a", "t", params=params)
    params["list"].append(3)  # type: ignore[attr-defined]
    params.clear()
    assert emitter.flush(5)
    assert memory.events[0]["payload"]["params"] == got[0]["payload"]["params"] == {"list": [1, 2], "inner": {"a": 1}}


def test_what_one_subscriber_changes_no_other_sees() -> None:
    emitter, memory = heard()
    got: list[Event] = []
    emitter.subscribe(lambda event: event["payload"].clear())
    emitter.subscribe(got.append)
    emitter.request("a", "t", params={"x": 1})
    assert emitter.flush(5)
    assert got[0]["payload"] == memory.events[0]["payload"] == {"params": {"x": 1}}


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int


class Model:
    def model_dump(self, mode: str) -> Event:
        return {"mode": mode}


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_what_json_does_not_know_is_written_as_well_as_can_be() -> None:
    emitter, memory = heard()
    circle: list[Any] = [1]
    circle.append(circle)
    deep: Any = 0
    for _ in range(100_000):
        deep = [deep]
    emitter.request("a", "t", params=[Colour.RED, Point(1), Model(), {1}, b"x", datetime(2026, 1, 1, tzinfo=UTC), (1, 2)])
    emitter.request("a", "t", params=[math.nan, math.inf, {(1, 2): 3, None: 4}, "\ud800", circle])
    emitter.request("a", "t", params=deep)
    plain, odd, bottomless = (event["payload"]["params"] for event in memory.events)
    assert plain == ["red", {"x": 1}, {"mode": "json"}, [1], "x", "2026-01-01T00:00:00+00:00", [1, 2]]
    assert odd[:2] == ["nan", "inf"]
    assert odd[2] == {"(1, 2)": 3, "None": 4}
    assert odd[4] == [1, "[…]"]
    assert bottomless
    while isinstance(deep, list):  # else its end is too deep for the interpreter
        deep = deep[0]


def test_an_event_that_cannot_be_told_is_counted_and_nothing_is_raised(caplog: pytest.LogCaptureFixture) -> None:
    emitter, memory = heard()
    emitter.request("a", "t", params=Hostile())
    emitter.emit(3)  # type: ignore[arg-type]
    emitter.request("a", "t", params=1)
    assert len(memory) == 1
    assert emitter.stats()["unencodable"] == 2
    assert caplog.text.count("an event cannot be told") == 1


def test_an_event_that_no_server_would_take_is_cut_and_says_so() -> None:
    emitter, memory = heard()
    emitter.response("a", "t", {"status": "submitted", "task_id": "t1", "big": "x" * LONGEST}, status="submitted")
    (event,) = memory.events
    assert event["payload"].items() >= {"truncated": True, "status": "submitted", "task_id": "t1"}.items()
    assert event["payload"]["bytes"] > LONGEST
    assert len(event["payload"]["sha256"]) == 64


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()) | st.integers() | st.none(), inner),
    max_leaves=20,
)


@given(JSON)
def test_any_payload_is_told_and_plain_ones_as_they_are(payload: Any) -> None:
    emitter, memory = heard()
    emitter.response("a", "t", payload)
    (event,) = memory.events
    assert memory.items[0].body.decode()
    if is_plain(payload):
        assert event["payload"] == payload


def is_plain(value: Any) -> bool:
    match value:
        case float():
            return math.isfinite(value)
        case str():
            return value.encode("utf-8", "replace").decode() == value
        case list():
            return all(map(is_plain, value))
        case dict():
            return all(isinstance(name, str) and is_plain(name) and is_plain(each) for name, each in value.items())
        case _:
            return True


# -- subscribers ------------------------------------------------------------------------------------------------------


def test_a_subscriber_that_raises_is_counted_and_logged_and_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    emitter, memory = heard()
    got: list[int] = []

    def bad(event: Event) -> None:
        got.append(event["payload"]["params"])
        raise SystemExit if len(got) == 2 else ValueError("bad subscriber")

    emitter.subscribe(bad, name="bad")
    for number in range(20):
        emitter.request("a", "t", params=number)
    assert emitter.flush(5)
    assert got == list(range(20))
    assert len(memory) == 20
    row = emitter.stats()["subscribers"][0]
    assert (row["failed"], row["delivered"], row["dropped"]) == (20, 0, 0)
    assert [record.message for record in caplog.records] == [f"subscriber bad failed, count={n}" for n in (1, 10)]
    assert "bad subscriber" in caplog.text


def test_a_subscriber_that_blocks_holds_up_nobody_and_its_losses_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    emitter, memory = heard()
    free = threading.Event()
    got: list[int] = []
    others: list[int] = []

    def blocks(event: Event) -> None:
        free.wait(30)
        got.append(event["payload"]["params"])

    emitter.subscribe(blocks, limit=10)
    emitter.subscribe(lambda event: others.append(event["payload"]["params"]))
    began = time.perf_counter()
    for number in range(1000):
        emitter.request("a", "t", params=number)
    assert time.perf_counter() - began < 2
    assert emitter.flush(0.1) is False
    assert len(memory) == 1000
    while len(others) < 1000:
        time.sleep(0.01)
    row = emitter.stats()["subscribers"][0]
    assert row["taken"] == 1000
    assert row["waiting"] <= 11
    assert row["dropped"] == 1000 - row["waiting"]
    free.set()
    assert emitter.flush(5)
    assert got[-10:] == list(range(990, 1000))  # the oldest went
    assert got == sorted(got)
    assert caplog.text.count("events are lost") == 1


def test_a_queue_is_bounded_in_bytes_as_well() -> None:
    emitter = Emitter()
    free = threading.Event()
    emitter.subscribe(lambda event: free.wait(30), limit_bytes=100_000)
    for _ in range(100):
        emitter.request("a", "t", params="x" * 10_000)
    assert emitter.stats()["subscribers"][0]["waiting"] <= 11
    assert emitter.stats()["dropped"] >= 89
    free.set()
    emitter.close()


def test_an_async_subscriber_is_awaited_in_order_and_knows_the_session() -> None:
    emitter = Emitter()
    got: list[tuple[int, str | None, str | None]] = []

    async def later(event: Event) -> None:
        await asyncio.sleep(0.001)
        got.append((event["payload"]["params"], current().session, current().operation))

    emitter.subscribe(later)
    with session("s1"), operation(id="op_1"):
        for number in range(20):
            emitter.request("a", "t", params=number)
    assert emitter.flush(5)
    assert got == [(number, "s1", "op_1") for number in range(20)]
    emitter.close()


async def test_an_async_subscriber_may_run_in_the_loop_of_the_program() -> None:
    emitter = Emitter()
    got: list[tuple[object, str | None]] = []

    async def here(event: Event) -> None:
        await asyncio.sleep(0)
        got.append((asyncio.get_running_loop(), current().operation))

    emitter.subscribe(here, loop=asyncio.get_running_loop())
    with operation(id="op_1"):
        emitter.status("a", "t", "working")
    assert await emitter.aflush(5)
    assert got == [(asyncio.get_running_loop(), "op_1")]


def test_the_session_is_not_in_the_event() -> None:
    emitter, memory = heard()
    with session("a-secret-key"):
        emitter.request("a", "t")
    emitter.request("a", "t", session="another-key")
    assert b"key" not in b"".join(item.body for item in memory.items)
    assert [item.scope.session for item in memory.items] == ["a-secret-key", "another-key"]


def test_a_subscriber_may_emit_subscribe_and_flush_and_is_not_told_what_it_led_to() -> None:
    emitter, memory = heard()
    first: list[str] = []
    second: list[str] = []

    def one(event: Event) -> None:
        first.append(event["taskType"])
        emitter.status("one", f"one of {event['taskType']}", "working")
        assert emitter.flush(0.2) is False

    def two(event: Event) -> None:
        second.append(event["taskType"])
        emitter.status("two", f"two of {event['taskType']}", "working")

    emitter.subscribe(one)
    emitter.subscribe(two)
    emitter.status("a", "t", "working")
    while emitter.waiting:
        emitter.flush(1)
    assert sorted(first) == ["t", "two of t"]
    assert sorted(second) == ["one of t", "t"]
    assert len(memory) == 5  # memory hears everything
    emitter.close()


def test_who_unsubscribed_is_not_told_any_more() -> None:
    emitter, memory = heard()
    got: list[Event] = []
    free = threading.Event()

    def slow(event: Event) -> None:
        got.append(event)
        free.wait(10)

    given_back = emitter.subscribe(slow)
    other = emitter.subscribe(print, name="other")
    for _ in range(5):
        emitter.status("a", "t", "working")
    while not got:
        time.sleep(0.001)
    assert emitter.unsubscribe(slow)
    assert emitter.unsubscribe(other)
    free.set()
    emitter.status("a", "t", "working")
    emitter.flush(1)
    time.sleep(0.05)
    assert len(got) == 1
    assert not emitter.unsubscribe(given_back)
    assert emitter.unsubscribe(memory)
    emitter.status("a", "t", "working")
    assert len(memory) == 6


def test_close_delivers_and_then_nothing_is_told() -> None:
    got: list[Event] = []
    with Emitter() as emitter:
        emitter.subscribe(got.append)
        for _ in range(100):
            emitter.status("a", "t", "working")
    assert len(got) == 100
    emitter.status("a", "t", "working")
    assert emitter.flush(1)
    assert len(got) == 100


def test_many_threads_lose_nothing_and_keep_their_own_order() -> None:
    emitter = Emitter()
    memory = Memory(limit=100_000)
    got: list[Event] = []
    emitter.subscribe(memory)
    emitter.subscribe(got.append, limit=100_000)

    def work(name: int) -> None:
        for number in range(500):
            emitter.request(f"agent {name}", "t", params=number)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert emitter.flush(20)
    for events in (got, memory.events):
        assert len({event["eventId"] for event in events}) == 4000
        by_agent = defaultdict(list)
        for event in events:
            by_agent[event["agentId"]].append(event["payload"]["params"])
        assert list(by_agent.values()) == [list(range(500))] * 8


def test_memory_keeps_the_last_and_counts_the_rest() -> None:
    emitter, memory = Emitter(), Memory(limit=3)
    emitter.subscribe(memory)
    for number in range(5):
        emitter.request("a", "t", params=number)
    assert [event["payload"]["params"] for event in memory.events] == [2, 3, 4]
    assert emitter.stats()["dropped"] == 2


def test_a_generator_that_the_collector_closes_tells_its_error_without_a_deadlock() -> None:
    emitter, memory = heard()
    emitter.subscribe(lambda event: None)

    @emitter.call("a", "numbers")
    def numbers() -> Any:
        yield 1
        yield 2

    for _ in range(50):
        steps = numbers()
        next(steps)
        ring = [steps]
        ring.append(ring)  # type: ignore[arg-type]  # only the collector finds it
        del steps, ring
    gc.collect()
    assert [event["eventType"] for event in memory.events].count("protocol_error") == 50
    assert memory.events[-1]["raised"] == "GeneratorExit"


# -- what it costs, and what it loads ---------------------------------------------------------------------------------


def test_importing_it_is_quick_and_loads_no_library() -> None:
    words = (
        "import sys, time; began = time.process_time(); import ramify.emit; took = time.process_time() - began\n"
        "heavy = {'adcp', 'mcp', 'a2a', 'httpx', 'httpx2', 'aiohttp', 'msgspec', 'asyncio', 'http.client', 'sqlite3', 'inspect'}\n"
        "print(sorted(heavy & set(sys.modules)), took)"
    )
    run = [sys.executable, "-c", words]
    took = []
    for _ in range(7):
        told = subprocess.run(run, env={"PYTHONPATH": SOURCE}, capture_output=True, text=True, check=True).stdout
        loaded, _, seconds = told.rpartition(" ")
        assert loaded == "[]"
        took.append(float(seconds))
    assert min(took) < 0.05


def microseconds(emitter: Emitter, count: int) -> float:
    event = {"eventType": "protocol_request", "agentId": "a", "taskType": "t", "payload": {"params": {"brief": "x" * 200, "n": [1, 2, 3]}}}
    best = math.inf
    for _ in range(5):
        began = time.thread_time()
        for _ in range(count):
            emitter.emit(event)
        best = min(best, time.thread_time() - began)
    return best / count * 1e6


def test_an_emit_costs_little_and_without_subscribers_nothing_to_speak_of() -> None:
    emitter = Emitter()
    assert microseconds(emitter, 20_000) < 2
    emitter.subscribe(Memory())
    assert microseconds(emitter, 2_000) < 50


def test_operation_ids_are_uuids() -> None:
    assert len(create_operation_id()) == len("op_") + 36
    assert create_operation_id() != create_operation_id()


def test_nothing_of_it_is_said_above_debug_in_a_good_run(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    emitter, _ = heard()
    emitter.subscribe(bind(lambda event: None))
    with parent_task("t0"), emitter.call("a", "t"):
        pass
    assert emitter.close()
    assert caplog.text == ""
