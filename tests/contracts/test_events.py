"""The event log's contract: one suite for every store, and the bounds of the one that lives in memory."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ramify.event_log import Bounds, EventLog
from ramify.ingest import Ingest
from ramify.linking.world import EventBounds, Rules
from ramify.model.observation import Observation
from ramify.protocols.adcp.lines import BadLine
from ramify.query.events import Wanted, listed_events
from ramify.storage.base import StoreDown
from tests.contracts.engines import ENGINES, Engine, derived


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000_000_000

    def __call__(self) -> int:
        self.now += 1
        return self.now


class World:
    """A log over one engine, which can be closed and opened again."""

    def __init__(self, engine: Engine, folder: Path, bounds: Bounds | None = None) -> None:
        self.engine, self.folder, self.bounds = engine, folder, bounds or Bounds()
        self.clock = Clock()
        self.open()

    def open(self) -> None:
        self.store = self.engine.open(self.folder)
        own = EventBounds(self.bounds.per_session, self.bounds.session_bytes, forgetful=bool(self.bounds.per_session))
        self.ingest = Ingest(self.store, Rules(events=own))
        self.log = EventLog(self.store, self.commit, "default", self.clock, self.bounds)

    def commit(self, batch: Sequence[Observation]) -> None:
        self.ingest.step(batch)


@pytest.fixture(params=list(ENGINES))
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    engine = ENGINES[request.param]
    if engine.missing:
        pytest.skip(engine.missing)
    made = World(engine, tmp_path)
    yield made
    made.store.close()


def memory(tmp_path: Path, **bounds: int) -> World:
    return World(ENGINES["memory"], tmp_path, Bounds(**bounds))


def event(number: int = 0, type: str = "protocol_request", **more: Any) -> dict[str, Any]:
    return {
        "eventType": type, "operationId": "op", "agentId": "a", "taskType": "t", "timestamp": "2026-01-01T00:00:00Z",
        "callId": f"c{number}", **more,
    }  # fmt: skip


def object_event(**more: Any) -> dict[str, Any]:
    return {"objectType": "creative", "operationId": "op", "targetEntity": "a", "status": "approved", **more}


def seqs(world: World, session: str = "s", **wanted: Any) -> list[int]:
    return [one["seq"] for one in world.log.get_events(session, Wanted(**wanted))["events"]]


def test_what_was_appended_is_listed_in_order_with_what_the_store_adds(world: World) -> None:
    assert [world.log.append("s", event(number, unknown={"kept": number})) for number in range(3)] == [1, 2, 3]
    page = world.log.get_events("s", Wanted(ascending=True))
    assert [one["unknown"]["kept"] for one in page["events"]] == [0, 1, 2]
    assert (page["firstSeq"], page["lastSeq"]) == (1, 3)
    first = page["events"][0]
    assert (first["eventType"], first["flags"], first["source"]) == ("protocol_request", [], "client")
    assert first["recordedAt"].startswith("2027-01-15")
    assert seqs(world) == [3, 2, 1]


def test_pages_are_cut_by_numbers_times_and_fields(world: World) -> None:
    world.log.append_many("s", [event(number, agentId="ab"[number % 2]) for number in range(10)])
    assert seqs(world, after_seq=7) == [8, 9, 10]
    assert seqs(world, before_seq=4, limit=2) == [3, 2]
    assert seqs(world, after_seq=2, before_seq=6, ascending=False) == [5, 4, 3]
    assert seqs(world, fields={"agent_id": "b"}, ascending=True) == [2, 4, 6, 8, 10]
    assert seqs(world, fields={"agent_id": "nobody"}) == []
    times = [one["recordedAt"] for one in world.log.get_events("s")["events"]]
    assert len(times) == 10
    assert seqs(world, since=world.clock.now + 100) == []


def test_the_list_of_one_project_goes_on_behind_events_of_another(world: World) -> None:
    other = EventLog(world.store, world.commit, "other", world.clock)
    for number in range(4):
        world.log.append("s", event(number))
        other.append_many("s", [event(at) for at in range(5 * number, 5 * number + 5)])
    for project, count in (("default", 4), ("other", 20), ("nobody", 0)):
        listed: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = listed_events(world.store, project, None, {}, 3, cursor)
            listed += page["items"]
            cursor = page["next"]
            if cursor is None:
                break
        assert len({one["eventId"] for one in listed}) == len(listed) == count


def test_an_id_stands_for_one_event(world: World) -> None:
    batch = [event(1, eventId="e1"), event(2, eventId="e2"), event(1, eventId="e1"), event(9, eventId="e2")]
    assert [one.status for one in world.log.append_many("s", batch)] == ["stored", "stored", "duplicate", "conflict"]
    again = world.log.append_many("s", batch[:2])
    assert [(one.status, one.seq) for one in again] == [("duplicate", 1), ("duplicate", 2)]
    assert world.log.append("s", event(1, eventId="e1")) == 1
    with pytest.raises(BadLine, match="another event has this id"):
        world.log.append("s", event(3, eventId="e1"))
    assert len(seqs(world)) == 2


def test_what_is_longer_than_any_id_is_none_and_every_store_takes_it(world: World) -> None:
    long = "".join(chr(0x4E00 + number * 7 % 20_000) for number in range(6000))  # nothing that packs well
    carried = {"id": long, "status": {"state": "working"}, "artifacts": [{"parts": [{"data": {"task_id": long, "status": "working"}}]}]}
    given = [
        event(1, "protocol_response", payload={"task_id": long, "status": "submitted"}),
        {"kind": "result", "op": "op", "agent": "a", "method": "t", "data": {}, "metadata": {"task_id": long, "context_id": long, "status": "submitted"}},
        {"kind": "poll", "op": "op", "agent": "a", "method": "GetTask", "data": carried},
        {"kind": "stream", "op": "op", "agent": "a", "event": {"task": {**carried, "id": "a1"}}},
        event(2),
    ]
    assert [one.status for one in world.log.append_many("s", given)] == ["stored"] * 5
    assert {row["native"]["agentTaskId"] for row in world.log.get_tasks("s")} == {None}


def test_what_is_no_event_is_rejected_and_its_neighbours_are_not(world: World) -> None:
    outcomes = world.log.append_many("s", [event(1), {"eventType": "x"}, 7, event(2)])
    assert [one.status for one in outcomes] == ["stored", "rejected", "rejected", "stored"]
    assert [one.reason for one in outcomes[1:3]] == ["operationId is missing", "is no JSON object"]


def test_sessions_have_nothing_to_do_with_each_other(world: World) -> None:
    for session in ("s", "t"):
        world.log.append(session, event(1, eventId="same", mine=session))
    world.log.append("s", object_event())
    assert [one["mine"] for one in world.log.get_events("t")["events"]] == ["t"]
    assert world.log.get_object_events("t") == []
    assert [one["eventCount"] for one in world.log.get_operations("t")] == [1]
    assert world.log.clear_session("s") == 2
    assert len(world.log.get_events("t")["events"]) == len(world.log.get_tasks("t")) == 1
    assert world.log.get_events("nobody") == {"events": [], "firstSeq": 0, "lastSeq": 0}


def test_an_operation_is_given_with_its_events_objects_and_tasks(world: World) -> None:
    world.log.append_many("s", [event(1), event(1, "protocol_response", status="completed"), object_event(objectId="o")])
    found = world.log.get_operation("s", "op")
    assert (found["exists"], found["operation"]["status"], found["eventsTotal"]) == (True, "completed", 2)
    assert [one["seq"] for one in found["events"]] == [1, 2]
    assert [one["objectId"] for one in found["objectEvents"]] == ["o"]
    assert (found["operation"]["objectCount"], found["operation"]["objectTypes"]) == (1, {"creative": 1})
    assert [(one["title"], one["status"], one["operation"]) for one in found["tasks"]] == [("t", "completed", "op")]
    missing = world.log.get_operation("s", "another")
    assert (missing["exists"], missing["events"], missing["tasks"]) == (False, [], [])


def test_an_emptied_session_starts_anew_and_its_numbers_go_on(world: World) -> None:
    world.log.append_many("s", [event(1, eventId="e"), object_event()])
    assert world.log.clear_session("s") == 2
    assert world.log.clear_session("s") == 0
    assert seqs(world) == world.log.get_operations("s") == world.log.get_tasks("s") == []
    rows = derived(world.store)
    rows["keys"] = [one for one in rows["keys"] if world.store.observation(one[2]) is None]  # what was seen can still be found
    assert [rows[table] for table in ("tasks", "operations", "events", "sheets", "keys", "conversations")] == [[]] * 6
    assert world.log.append("s", event(2, eventId="e")) == 3
    [first] = world.log.get_events("s")["events"]
    assert (first["flags"], first["callId"]) == (["reopened"], "c2")
    info = world.log.session_info("s")
    assert (info["eventCount"], info["taskCount"], info["firstSeq"], info["lastSeq"]) == (1, 1, 3, 3)


def test_concurrent_writers_lose_nothing_and_keep_their_own_order(world: World) -> None:
    def write(name: str) -> None:
        for number in range(10):
            world.log.append("s", event(number, agentId=name, nth=number))

    threads = [threading.Thread(target=write, args=(f"w{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = world.log.get_events("s", Wanted(limit=1000, ascending=True))["events"]
    assert [one["seq"] for one in found] == list(range(1, 81))
    for name in {one["agentId"] for one in found}:
        assert [one["nth"] for one in found if one["agentId"] == name] == list(range(10))


def test_what_a_lasting_store_holds_is_there_when_it_is_opened_again(world: World) -> None:
    if not world.engine.lasting:
        pytest.skip("it lives in memory")
    world.log.append_many("s", [event(1), event(1, "protocol_response", payload={"task_id": "x", "status": "submitted"})])
    before = world.log.session_info("s"), world.log.get_operation("s", "op"), derived(world.store)
    world.store.close()
    world.open()
    assert (world.log.session_info("s"), world.log.get_operation("s", "op"), derived(world.store)) == before
    assert world.log.append("s", event(1, "status_update", agentTaskId="x", status="completed")) == 3
    assert world.log.get_operations("s")[0]["status"] == "completed"


def test_a_reader_goes_on_behind_a_number_and_hears_of_a_gap(world: World) -> None:
    world.log.append_many("s", [event(1), object_event(), event(2)])
    row, found = world.log.after("s", 1)
    assert row is not None
    assert [(logged.seq, logged.sort) for logged, _ in found] == [(2, "object"), (3, "event")]
    world.log.clear_session("s")
    world.log.append("s", event(3))
    assert world.log.get_events("s", Wanted(after_seq=1))["gap"] == {"from": 2, "to": 3}


def test_a_closed_log_takes_nothing(world: World) -> None:
    world.log.close()
    with pytest.raises(StoreDown):
        world.log.append("s", event())


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_the_oldest_events_go_and_what_followed_from_them_stays(tmp_path: Path) -> None:
    world = memory(tmp_path, per_session=10)
    for number in range(30):
        world.log.append("s", event(number))
    info = world.log.session_info("s")
    assert (info["eventCount"], info["firstSeq"], info["lastSeq"], info["droppedEvents"]) == (10, 21, 30, 20)
    [operation] = world.log.get_operations("s")
    assert (operation["taskCount"], operation["eventCount"]) == (30, 30)
    page = world.log.get_events("s", Wanted(after_seq=5, limit=3))
    assert ([one["seq"] for one in page["events"]], page["gap"]) == ([21, 22, 23], {"from": 6, "to": 20})
    assert sum(1 for _ in world.store.observations()) == 10
    world.log.append("s", event(0, "protocol_response", status="completed"))
    assert world.log.get_operations("s")[0]["statusCounts"] == {"pending": 29, "completed": 1}


def test_bytes_bound_a_session_as_well(tmp_path: Path) -> None:
    world = memory(tmp_path, per_session=10_000, session_bytes=20_000)
    for number in range(50):
        world.log.append("s", event(number, payload={"text": "x" * 2000}))
    info = world.log.session_info("s")
    assert info["bytes"] <= 20_000
    assert info["eventCount"] + info["droppedEvents"] == 50


def test_the_session_that_was_silent_longest_goes_first_and_one_that_is_watched_last(tmp_path: Path) -> None:
    world = memory(tmp_path, sessions=3, timeout_ms=3_600_000, per_session=100)
    world.log.follows("s0", 1)
    for number in range(5):
        world.log.append(f"s{number}", event())
    held = [len(world.log.get_events(f"s{number}")["events"]) for number in range(5)]
    assert held == [1, 0, 0, 1, 1]
    assert world.log.session_info("s4")["evictedSessions"] == 2


def test_all_sessions_together_are_bounded_by_bytes(tmp_path: Path) -> None:
    world = memory(tmp_path, sessions=100, timeout_ms=3_600_000, per_session=100, bytes=30_000)
    for number in range(20):
        world.log.append(f"s{number}", event(payload={"text": "x" * 4000}))
    assert sum(world.log.session_info(f"s{number}")["bytes"] for number in range(20)) <= 30_000
    assert len(world.log.get_events("s19")["events"]) == 1


def test_a_silent_session_is_emptied_and_reading_keeps_one_alive(tmp_path: Path) -> None:
    world = memory(tmp_path, sessions=100, timeout_ms=1000, per_session=100)
    world.log.append("read", event())
    world.log.append("silent", event())
    for _ in range(4):
        world.clock.now += 400_000
        assert len(world.log.get_events("read")["events"]) == 1
    assert world.log.get_events("silent")["events"] == []
    assert world.log.session_info("read")["expiresAt"] is not None


def test_a_large_event_is_cut_and_counts_all_the_same(tmp_path: Path) -> None:
    world = memory(tmp_path, event_bytes=2000, per_session=100)
    world.log.append("s", event(1, "protocol_response", payload={"status": "submitted", "task_id": "x", "list": ["y" * 100] * 100}))
    [shown] = world.log.get_events("s")["events"]
    assert shown["payload"]["truncated"]
    assert shown["flags"] == ["truncated"]
    assert world.log.get_operations("s")[0]["status"] == "submitted"


def test_events_name_the_task_that_they_turned_out_to_be_about(world: World) -> None:
    base = {"operationId": "op", "agentId": "a", "taskType": "sync"}
    early = {**base, "eventType": "status_update", "agentTaskId": "t1", "status": "working", "source": "webhook"}
    lost = {**base, "operationId": "op2"}
    world.log.append_many("s", [{**base, "eventType": "protocol_request"}, early, {**lost, "eventType": "protocol_request"}])
    world.log.append_many("s", [{**base, "eventType": "protocol_response", "payload": {"task_id": "t1", "status": "submitted"}}])
    world.log.append_many("s", [{**lost, "eventType": "protocol_error", "raised": "TimeoutError"}, {**early, "operationId": "op2"}])
    for operation in ("op", "op2"):
        detail = world.log.get_operation("s", operation)
        [task] = detail["tasks"]
        assert [event["task"] for event in detail["events"]] == [task["id"]] * 3


def test_a_push_that_was_stored_elsewhere_while_its_operation_was_opened_is_not_late(world: World) -> None:
    base = {"operationId": "op", "agentId": "a", "taskType": "sync"}
    pushed = {**base, "eventType": "status_update", "agentTaskId": "t1", "source": "webhook"}
    world.log.append_many("s", [{**base, "eventType": "protocol_request"}])
    world.log.append_many("local", [{**pushed, "status": "working"}])  # its session was looked up a moment before
    world.log.append_many("s", [{**pushed, "status": "completed"}])
    world.log.append_many("s", [{**base, "eventType": "protocol_response", "payload": {"task_id": "t1", "status": "submitted"}}])
    [task] = world.log.get_operation("s", "op")["tasks"]
    assert (task["status"], task["flags"]) == ("completed", [])
    assert world.log.get_operations("local") == []
    world.log.append_many("s", [{**pushed, "status": "working"}])
    assert world.log.get_tasks("s")[0]["flags"] == ["late"]
