"""The fold of the event log, one edge at a time."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ramify.ingest import Ingest
from ramify.linking.operations import repeated
from ramify.model.entity import Task
from ramify.query.resolve import resolve
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests.event_story import Line, events, interleaved, operations, records, states, tasks, told

OP = "op_1"


def request(call: str, agent: str = "x", type: str = "sync", op: str | None = OP) -> Line:
    return activity("protocol_request", call, agent, type, None, op)


def response(call: str, agent: str = "x", type: str = "sync", status: str = "completed", op: str | None = OP) -> Line:
    return activity("protocol_response", call, agent, type, status, op)


def activity(kind: str, call: str, agent: str, type: str, status: str | None, op: str | None) -> Line:
    told = {"type": kind, "operation_id": call, "agent_id": agent, "task_type": type, "status": status, "timestamp": None}
    return {"kind": "activity", "op": op, "activity": told}


def result(data: Any = None, agent: str = "x", type: str = "sync", op: str | None = OP, **more: Any) -> Line:
    return {"kind": "result", "op": op, "agent": agent, "method": type, "status": "completed", "success": True, "data": data, **more}


def submitted(id: str, agent: str = "x", op: str | None = OP, **more: Any) -> Line:
    return result({"task_id": id, "status": "submitted"}, agent, op=op, **more)


def call(number: int, agent: str = "x", op: str = OP) -> list[Line]:
    return [request(f"c{number}", agent, op=op), response(f"c{number}", agent, op=op)]


def webhook(id: str, status: str, agent: str = "x", op: str | None = OP, **more: Any) -> Line:
    body = {"task_id": id, "status": status, "task_type": "sync", **more}
    return {"kind": "webhook", "op": None, "agent": agent, "body": body | ({"operation_id": op} if op else {})}


def a2a_push(id: str, state: str, agent: str = "x", op: str = OP, **more: Any) -> Line:
    update = {"taskId": id, "contextId": "ctx", "status": {"state": f"TASK_STATE_{state}", **more}}
    return {"kind": "webhook", "op": op, "agent": agent, "path": f"/webhook/sync/{agent}/{op}", "body": {"statusUpdate": update}}


def poll(id: str, status: str, agent: str = "x", op: str | None = OP) -> Line:
    return {"kind": "poll", "op": op, "agent": agent, "method": "get_task_status", "success": True, "data": {"task_id": id, "status": status}}


def only(store: Sqlite) -> Task:
    [task] = tasks(store)
    return task


def test_a_push_before_the_answer_is_the_same_task_and_its_state_stands() -> None:
    store = told([request("c1"), webhook("t1", "completed"), response("c1"), submitted("t1")])
    assert (only(store).status, only(store).flags) == ("completed", ())
    assert only(store).opened < only(store).closed


def test_an_older_state_that_comes_late_moves_nothing_and_says_so() -> None:
    store = told([*call(1), submitted("t1"), webhook("t1", "completed"), webhook("t1", "working")])
    assert (only(store).status, only(store).flags) == ("completed", ("late",))
    assert [row.flags for row in events(store) if row.source == "webhook"].count(("late",)) == 1


def test_two_ends_conflict_and_the_agent_itself_has_the_last_word() -> None:
    given = [*call(1), submitted("t1"), webhook("t1", "completed"), webhook("t1", "failed")]
    assert (only(told(given)).status, only(told(given)).flags) == ("completed", ("conflict",))
    asked = told([*given, poll("t1", "failed")])
    assert (only(asked).status, only(asked).flags) == ("failed", ("conflict",))
    first = told([*call(1), submitted("t1"), poll("t1", "failed"), webhook("t1", "completed")])
    assert only(first).status == "failed"


def test_the_same_id_with_three_agents_is_three_tasks() -> None:
    given = [line for agent in ("x", "y", "z") for line in [*call(1, agent), submitted("t", agent)]]
    ends = [webhook("t", status, agent) for agent, status in (("x", "failed"), ("y", "completed"), ("z", "cancelled"))]
    store = told([*given, *ends])
    assert [row[5] for row in states(store)] == ["failed", "completed", "canceled"]
    assert operations(store)[OP]["status"] == "partial"


def test_a_replayed_id_in_two_operations_is_one_task_in_each() -> None:
    given = [line for op in ("a", "b") for line in [*call(1, op=op), submitted("t", op=op)]]
    followed = told([*given, webhook("t", "completed", op="b")])
    assert [row[5] for row in states(followed)] == ["submitted", "completed"]
    both = told([*given, webhook("t", "completed", op=None)])
    assert [row[5] for row in states(both)] == ["completed", "completed"]
    asked = told([*given, poll("t", "failed", op=None)])
    assert [row[5] for row in states(asked)] == ["failed", "failed"]


def test_a_retry_that_gets_the_same_id_is_the_same_task() -> None:
    store = told([*call(1), submitted("t"), *call(2), submitted("t"), webhook("t", "completed")])
    assert only(store).status == "completed"
    assert operations(store)[OP]["taskCount"] == 1


def test_a_push_that_names_no_operation_and_no_known_task_is_an_orphan_until_its_call_is_heard_of() -> None:
    lone = told([webhook("t", "completed", op=None)])
    assert (only(lone).operation, only(lone).flags, only(lone).status) == ("", ("orphan",), "completed")
    found = told([webhook("t", "completed", op=None), *call(1), submitted("t")])
    assert (only(found).operation, only(found).flags, only(found).status) == (OP, (), "completed")


def test_what_an_agent_said_of_an_unseen_id_counts_when_the_id_turns_up() -> None:
    assert tasks(told([poll("t", "failed")])) == []
    assert only(told([poll("t", "failed"), *call(1), submitted("t")])).status == "failed"


def test_a_push_to_an_operation_that_nobody_opened_is_unsolicited_until_somebody_does() -> None:
    lone = told([webhook("t", "working")])
    assert (only(lone).flags, operations(lone)[OP]["flags"]) == (("unsolicited",), ["unsolicited"])
    opened = told([webhook("t", "working"), *call(1), submitted("t")])
    assert (only(opened).flags, operations(opened)[OP]["flags"]) == ((), [])


def test_a_body_names_its_operation_more_surely_than_its_address() -> None:
    line = webhook("t", "working", op="meant") | {"path": "/webhook/sync/x/another", "op": "third"}
    assert list(operations(told([line]))) == ["meant"]


def test_a_call_that_broke_and_the_only_push_that_fits_are_taken_for_one() -> None:
    broke = [request("c1"), result(raised="ADCPTimeoutError", message="2s")]
    one = told([*broke, webhook("t1", "completed")])
    assert (only(one).status, only(one).flags, only(one).native["agentTaskId"]) == ("completed", ("inferred",), "t1")
    two = told([*broke, webhook("t1", "completed"), webhook("t2", "working")])
    assert [row[5] for row in states(two)] == ["unknown", "completed", "working"]
    assert operations(two)[OP]["taskCount"] == 3
    [shell] = [row for row in tasks(two) if row.native["agentTaskId"] == "t1"]
    assert resolve(two, "t1")[1] == resolve(two, "x/t1")[1] == resolve(two, "adcp:task:x/t1")[1] == shell


@pytest.mark.parametrize(
    ("raised", "status"),
    [
        ("ADCPTimeoutError", "unknown"), ("CancelledError", "unknown"), ("ConnectTimeout", "unknown"), ("ConnectError", "failed"),
        ("ConnectionRefusedError", "failed"), ("A2ACardResolutionError", "failed"), ("ReadError", "unknown"),
        ("RemoteProtocolError", "unknown"), ("ConnectionResetError", "unknown"), ("BrokenPipeError", "unknown"),
        ("IncompleteRead", "unknown"), ("ValidationError", "failed"), ("GeneratorExit", "unknown"),
        ("Request timed out", "unknown"),
    ],
)  # fmt: skip
def test_what_was_raised_tells_whether_the_agent_may_have_heard_of_it(raised: str, status: str) -> None:
    assert only(told([request("c1"), result(raised=raised)])).status == status


def test_a_request_without_an_answer_is_pending_and_a_bare_answer_never_ends_the_work() -> None:
    assert only(told([request("c1")])).status == "pending"
    bare = only(told([*call(1)]))
    assert (bare.status, bare.native_status, bare.closed) == ("unknown", "completed", 0)
    assert only(told([request("c1"), response("c1", status="submitted")])).status == "submitted"


@pytest.mark.parametrize(
    ("more", "status", "work"),
    [
        ({"data": {"status": "submitted", "task_id": "t"}}, "submitted", "t"),
        ({"data": {"status": "needs_input", "task_id": "t"}}, "input-required", "t"),
        ({"data": {"media_buy_id": "m", "status": "canceled"}}, "completed", None),
        ({"data": {"status": "rejected", "message": "no"}}, "rejected", None),
        ({"data": None, "status": "submitted", "metadata": {"task_id": "a", "status": "canceled"}}, "canceled", None),
        ({"data": None, "status": "submitted", "metadata": {"task_id": "a", "status": "rejected"}}, "rejected", None),
        ({"data": None, "status": "submitted", "metadata": {"task_id": "a", "status": "submitted"}}, "submitted", "a"),
        ({"data": {}, "success": False}, "failed", None),
        ({"data": {}, "adcp_error": {"code": "x"}}, "failed", None),
        ({"data": {"status": "strange"}}, "completed", None),
        ({"data": {"structuredContent": {"status": "working", "task_id": "t"}}}, "working", "t"),
        ({"data": {"resultType": "task", "taskId": "m", "status": "working"}, "status": None}, "working", "m"),
        ({"data": {"isError": True, "content": []}}, "failed", None),
        ({"data": {"id": "a", "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}, "status": None}, "input-required", "a"),
        (
            {"data": {"id": "a", "status": {"state": "TASK_STATE_COMPLETED"},
                      "artifacts": [{"parts": [{"data": {"task_id": "w", "status": "submitted"}}]}]}},
            "submitted", "w",
        ),
    ],
)  # fmt: skip
def test_the_status_of_an_answer_is_the_first_that_applies(more: dict[str, Any], status: str, work: str | None) -> None:
    task = only(told([*call(1), result(**more)]))
    assert (task.status, task.native["agentTaskId"]) == (status, work)


def test_once_the_work_has_an_id_of_its_own_the_transports_states_do_not_count() -> None:
    answer = submitted("w1", metadata={"task_id": "a1"})
    for lines in (
        [*call(1), answer, a2a_push("a1", "COMPLETED")],
        [request("c1"), a2a_push("a1", "COMPLETED"), response("c1"), answer],
    ):
        task = only(told(lines))
        assert (task.status, task.flags, task.native["transportTaskId"]) == ("submitted", (), "a1")
    named = {"artifactUpdate": {"taskId": "a1", "artifact": {"parts": [{"data": {"task_id": "w1", "status": "working"}}]}}}
    pushed = [a2a_push("a1", "COMPLETED"), {"kind": "webhook", "op": OP, "agent": "x", "body": named}]
    task = only(told([*call(1), result(None, status="submitted", metadata={"task_id": "a1", "status": "submitted"}), *pushed]))
    assert (task.status, task.native["agentTaskId"]) == ("working", "w1")


def test_signs_of_life_stay_with_their_call_and_name_its_parts() -> None:
    def progress(message: str) -> Line:
        return {"kind": "progress", "op": OP, "agent": "x", "progress": 1, "message": message}

    parts = [progress('{"subtask": "a", "status": "working"}'), progress("half"), progress('{"subtask": "a", "state": "failed"}')]
    store = told([request("c1"), *parts, response("c1"), result({"ok": 1}), progress("too late")])
    assert [(row.title, row.status, row.kind) for row in tasks(store) if row.parent] == [("a", "failed", "sub")]
    assert (operations(store)[OP]["taskCount"], operations(store)[OP]["subtaskCount"]) == (1, 1)


def event(type: str, agent: str = "x", **more: Any) -> Line:
    return {"eventType": type, "operationId": OP, "agentId": agent, "taskType": "sync", "timestamp": None, **more}


def test_a_parent_that_is_named_before_or_after_it_is_known_is_the_parent() -> None:
    parent = [event("protocol_request", callId="p"), event("protocol_response", callId="p", payload={"task_id": "t", "status": "working"})]
    child = [event("protocol_request", "y", callId="k", parentTaskId="t")]
    for lines in ([*parent, *child], [*child, *parent]):
        rows = tasks(told(lines))
        [under] = [row for row in rows if row.parent]
        assert under.link is not None
        assert (under.link.rule, under.link.certainty) == ("parentTaskId", 1.0)
        assert operations(told(lines))[OP]["taskCount"] == 1


def test_plain_events_pair_in_turn_and_by_their_call() -> None:
    five = [event("protocol_request", agent) for agent in "abc" for _ in range(5)]
    answers = [event("protocol_response", agent, payload={"status": "submitted", "task_id": f"t{n}"}) for agent in "abc" for n in range(5)]
    ends = [event("status_update", agent, agentTaskId=f"t{n}", status="completed") for agent in "abc" for n in range(5)]
    shape = operations(told([*five, *answers, *ends]))[OP]
    assert (shape["taskCount"], shape["status"], len(shape["agents"]), shape["eventCount"]) == (15, "completed", 3, 45)
    crossed = [event("protocol_request", callId="1"), event("protocol_request", callId="2")]
    crossed += [event("protocol_response", callId="2", status="failed", success=False), event("protocol_error", callId="1", error="Timeout: x")]
    assert sorted(row.status for row in tasks(told(crossed))) == ["failed", "unknown"]


def test_polls_and_discovery_are_neither_tasks_nor_agents() -> None:
    given = [
        event("protocol_request", taskType="get_task_status"),
        event("protocol_response", taskType="get_task_status", payload={"task_id": "t", "status": "completed"}),
        event("protocol_request", taskType="get_adcp_capabilities"),
    ]
    store = told([line | {"taskType": line["taskType"]} for line in given])
    shape = operations(store)[OP]
    assert (tasks(store), shape["agents"], shape["eventCount"], shape["status"]) == ([], [], 3, "pending")
    assert only(told([*given, *call(1), submitted("t")])).status == "completed"


def test_a_senders_clock_decides_nothing() -> None:
    given = [*call(1), submitted("t"), webhook("t", "completed", timestamp="2099-01-01T00:00:00Z")]
    store = told([*given, webhook("t", "working", timestamp="yesterday")])
    assert only(store).status == "completed"
    assert operations(store)[OP]["byAgent"]["x"]["skewMs"] > 5000
    assert [row.flags for row in events(store) if "bad-timestamp" in row.flags] == [("bad-timestamp", "late")]


@pytest.mark.parametrize("stamp", ["2026-11-15T20:00:00", "2026-11-15 20:00:00.5", "2026-11-15"])
def test_a_remote_clock_that_does_not_say_its_zone_is_not_known_to_be_off(stamp: str) -> None:
    for zone, known in (("", False), ("Z", True), ("+02:00", True)):
        store = told([*call(1), submitted("t"), webhook("t", "completed", timestamp=stamp + zone if "T" in stamp else stamp)])
        assert (operations(store)[OP]["byAgent"]["x"]["skewMs"] is not None) == (known and "T" in stamp)
        assert only(store).status == "completed"


def test_a_word_that_nobody_agreed_on_moves_nothing() -> None:
    assert only(told([*call(1), submitted("t"), webhook("t", "thinking")])).status == "submitted"


# -- whoever names work, and in whichever order ------------------------------------------------------------------------


def a2a_task(id: str, state: str, work: str, status: str, op: str = OP) -> Line:
    """A push of a whole task, in which the work that it carries is named."""
    part = {"data": {"task_id": work, "status": status}}
    task = {"id": id, "contextId": "ctx", "status": {"state": f"TASK_STATE_{state}"}, "artifacts": [{"parts": [part]}]}
    return {"kind": "webhook", "op": op, "agent": "x", "path": f"/webhook/sync/x/{op}", "body": {"task": task}}


@settings(max_examples=40, deadline=None)
@given(data=some.data())
def test_work_that_a_push_names_is_not_in_the_state_of_its_carrier_in_any_order(data: some.DataObject) -> None:
    """The answer told of the transport's task alone; it may come before the push, or long after it."""
    answer = result(None, status="submitted", metadata={"task_id": "a1", "status": "working"})
    given = [*call(1), answer, a2a_push("a1", "WORKING"), a2a_task("a1", "COMPLETED", "w1", "submitted")]
    task = only(told(data.draw(interleaved(given))))
    assert (task.status, task.native["agentTaskId"], task.native["transportTaskId"]) == ("submitted", "w1", "a1")
    assert "late" not in task.flags


def test_an_answer_that_leaves_open_work_without_an_id_in_an_ended_transport_names_no_work() -> None:
    task = only(told([*call(1), result({"status": "submitted"}, metadata={"task_id": "a1", "status": "completed"})]))
    assert (task.status, task.native["agentTaskId"], task.native["transportTaskId"]) == ("submitted", None, "a1")


def test_a_parent_may_be_named_by_its_call_before_that_is_heard_of() -> None:
    child, parent = event("protocol_request", "y", callId="k", parentTaskId="p"), event("protocol_request", callId="p")
    for lines in ([child, parent], [parent, child]):
        shape = operations(told(lines))[OP]
        assert (shape["taskCount"], shape["subtaskCount"]) == (1, 1)


def test_a_request_that_goes_on_with_known_work_is_the_same_task() -> None:
    asked = [event("protocol_request", callId="1"), event("protocol_response", callId="1", payload={"task_id": "t", "status": "input-required"})]
    again = [event("protocol_request", callId="2", agentTaskId="t")]
    assert only(told([*asked, *again])).status == "input-required"
    answer = event("protocol_response", callId="2", payload={"task_id": "t", "status": "completed"})
    assert only(told([*asked, *again, answer])).status == "completed"


def test_a_sign_of_life_that_names_its_task_stays_with_it() -> None:
    given = [event("protocol_request", callId=number) for number in "12"]
    given += [event("protocol_response", callId=number, payload={"task_id": f"t{number}", "status": "working"}) for number in "12"]
    message = '{"subtask": "part", "state": "working"}'
    wired = {"method": "notifications/progress", "params": {"progressToken": 7, "progress": 1, "message": message}}
    rows = tasks(told([*given, event("progress", agentTaskId="t1", payload=wired)]))
    [part] = [row for row in rows if row.parent]
    assert [row.native["agentTaskId"] for row in rows if row.id == part.parent] == ["t1"]


def test_a_client_that_only_heard_a_push_has_not_opened_its_operation() -> None:
    heard = activity("webhook_received", OP, "x", "sync", None, None)
    store = told([heard, webhook("t", "completed")])
    assert operations(store)[OP]["flags"] == ["unsolicited"]
    assert operations(told([heard, webhook("t", "completed"), *call(1), submitted("t")]))[OP]["flags"] == []


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}, "failed"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "no"}], "isError": True}}, "failed"),
        ({"adcp_error": {"code": "BUDGET"}}, "failed"),
        ({"task_id": "t", "status": "queued"}, "unknown"),
        ({"task_id": "t", "status": "pending"}, "pending"),
        ({"status": "success", "message": "done"}, "completed"),
        ({"task_id": "t", "status": "active", "packages": []}, "completed"),
    ],
)  # fmt: skip
def test_answers_that_their_client_called_completed(payload: dict[str, Any], status: str) -> None:
    given = [event("protocol_request", callId="1"), event("protocol_response", callId="1", status="completed", payload=payload)]
    assert only(told(given)).status == status


def test_a_word_for_waiting_is_no_end_and_gives_way_to_any_other() -> None:
    task = only(told([*call(1), result({"task_id": "t", "status": "queued"}), webhook("t", "working")]))
    assert (task.status, task.flags) == ("working", ())


# -- any way in which the sources may run together ---------------------------------------------------------------------

ENDS = ("completed", "failed", "canceled", "rejected")


@some.composite
def stories(draw: some.DrawFn) -> tuple[list[Line], dict[tuple[str, str], str]]:
    """Agents that work, and clients, pushes and polls that tell of it; with what is true in the end."""
    given: list[Line] = []
    truth: dict[tuple[str, str], str] = {}
    for agent in ("x", "y"):
        for number in range(draw(some.integers(1, 3))):
            id, end = f"t{number}", draw(some.sampled_from(ENDS))
            own, told_end = draw(work(agent, number, id, end))
            given += own
            truth[agent, id] = told_end
    return given, truth


@some.composite
def work(draw: some.DrawFn, agent: str, number: int, id: str, end: str) -> tuple[list[Line], str]:
    key = f"whk_{agent}_{number}_00000000000"
    wired = draw(some.booleans())
    answer = submitted(id, agent, metadata={"task_id": f"a2a-{number}"} if wired else {})
    pushes = [webhook(id, status, agent, idempotency_key=f"{key}{status}") for status in draw(some.permutations(["working", end]))]
    pushes += [line for line in pushes if draw(some.booleans())]
    if wired:
        pushes.insert(draw(some.integers(0, len(pushes))), a2a_push(f"a2a-{number}", "COMPLETED", agent))
    polls = [poll(id, "working", agent)] if draw(some.booleans()) else []
    final = end
    if draw(some.booleans()):
        final = draw(some.sampled_from(ENDS))
        polls.append(poll(id, final, agent))
    return [*call(10 * number, agent), answer, *pushes, *polls], final


@settings(max_examples=120, deadline=None)
@given(data=some.data())
def test_any_story_in_any_interleaving_ends_in_its_truth(data: some.DataObject) -> None:
    given, truth = data.draw(stories())
    store = told(data.draw(interleaved(given)), data.draw(some.lists(some.integers(1, 7), max_size=5)))
    assert {(row.agent, row.native["agentTaskId"]): row.status for row in tasks(store)} == truth
    assert operations(store)[OP]["taskCount"] == len(truth)


CARRYING = {"id": "a1", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"},
            "artifacts": [{"parts": [{"data": {"task_id": "w1", "status": "submitted"}}]}]}  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        lambda fill: {"kind": "webhook", "op": OP, "agent": "x", "raw": json.dumps({"task_id": "w1", "status": "completed", "result": fill})},
        lambda fill: {"kind": "webhook", "op": OP, "agent": "x", "raw": json.dumps({"task": {**CARRYING, "history": fill}})},
        lambda fill: {"kind": "stream", "op": OP, "agent": "x", "event": {"task": {**CARRYING, "history": fill}}},
        lambda fill: {"kind": "progress", "op": OP, "agent": "x", "message": json.dumps({"subtask": "s", "state": "working", "x": fill})},
        lambda fill: {"kind": "activity", "op": OP, "activity": {**request("c2")["activity"], "metadata": {"x": fill}}},
        lambda fill: {"kind": "result", "op": OP, "agent": "x", "method": "sync", "raised": "TimeoutError", "message": fill},
        lambda fill: plain("protocol_error", error=f"TimeoutError: {fill}"),
        lambda fill: plain("protocol_error", error={"type": "TimeoutError", "trace": fill}),
        lambda fill: {"kind": "poll", "op": OP, "agent": "x", "method": "get_task_status",
                      "data": {"structuredContent": {"task_id": "w1", "status": "failed"}, "isError": True, "content": fill}},
        lambda fill: {**plain("protocol_request"), **{f"f{number}": fill[:1000] for number in range(100)}},
    ],
)  # fmt: skip
def test_a_line_too_large_to_be_kept_whole_says_what_it_would_if_it_were_small(line: Any) -> None:
    small, large = (told([*call(1), submitted("w1"), request("c3"), line(fill)]) for fill in ("x", "x" * 100_000))
    assert states(large) == states(small)
    assert [(row.type, row.status, row.work) for row in events(large)] == [(row.type, row.status, row.work) for row in events(small)]
    assert next(row.size for row in events(large) if "truncated" in row.flags) < 70_000


@settings(max_examples=20, deadline=None)
@given(data=some.data())
def test_what_streams_of_a_call_that_it_names_belongs_to_it_in_any_order(data: some.DataObject) -> None:
    def streamed(state: str) -> Line:
        event = {"statusUpdate": {"taskId": "a1", "contextId": "c", "status": {"state": f"TASK_STATE_{state}"}}}
        return {"kind": "stream", "op": OP, "agent": "x", "call": "c1", "event": event}

    store = told(data.draw(interleaved([request("c2"), request("c1"), streamed("WORKING"), streamed("COMPLETED")])))
    assert [(row.native["callId"], row.status) for row in sorted(tasks(store), key=lambda row: str(row.native["callId"]))] == [
        ("c1", "completed"), ("c2", "pending"),
    ]  # fmt: skip


def test_of_two_notices_without_a_body_and_with_one_key_the_other_one_conflicts() -> None:
    def notice(status: str) -> Line:
        return plain("status_update", agentTaskId="t", status=status, source="webhook", idempotencyKey="k" * 16)

    store = told([*call(1), submitted("t"), notice("working"), notice("working"), notice("completed")])
    assert (only(store).status, only(store).flags) == ("working", ("conflict",))
    assert [row.flags for row in sorted(events(store), key=lambda row: row.seq) if row.source == "webhook"] == [(), ("duplicate",), ("conflict",)]


def test_keys_that_are_equal_by_chance_make_no_push_a_repetition(monkeypatch: pytest.MonkeyPatch) -> None:
    real = repeated.place
    monkeypatch.setattr(repeated, "place", lambda kind, scope, *parts: real("near", scope) if kind in ("delivery", "notice") else real(kind, scope, *parts))
    pushes = [webhook(f"t{number}", "working", idempotency_key=f"key-{number:012}", timestamp=f"2026-01-01T00:00:0{number}Z") for number in range(4)]
    store = told([*pushes, pushes[2], webhook("t3", "working", idempotency_key="another-key-1234", timestamp="2026-01-01T00:00:03Z")])
    rows = sorted(events(store), key=lambda row: row.seq)
    assert [row.flags for row in rows] == [(), (), (), (), ("duplicate",), ("reemission",)]
    assert len(tasks(store)) == 4


def test_a_list_of_tasks_is_in_the_state_of_none_of_them() -> None:
    listed = [{"task_id": "t1", "status": "failed"}, {"task_id": "t2", "status": "completed"}]
    [row] = events(told([asked_of({"tasks": listed}, "listing", "list_tasks")]))
    assert (row.status, row.work) == ("", "")


def test_to_be_asked_about_does_not_open_an_operation_and_moves_with_it() -> None:
    waited = records([webhook("t1", "working"), plain("status_update", agentTaskId="t1", status="completed", source="reconciler")])
    store = open_sqlite("memory:")
    ingest = Ingest(store)
    ingest.step(waited)
    assert operations(store)[OP]["flags"] == ["unsolicited"]
    ingest.step(records([request("c1"), response("c1"), submitted("t1")], "s-1"))
    assert (only(store).status, operations(store)[OP]["session"], operations(store)[OP]["eventCount"]) == ("completed", "s-1", 5)
    assert len({row.session for row in events(store)}) == 1


def plain(kind: str, **more: Any) -> Line:
    return {"eventType": kind, "operationId": OP, "agentId": "x", "taskType": "sync", **more}


def asked_of(data: Any, kind: str, method: str) -> Line:
    return {"kind": kind, "op": OP, "agent": "x", "method": method, "success": True, "data": data}


@pytest.mark.parametrize(
    "telling",
    [
        {"kind": "webhook", "op": None, "agent": "x", "body": {"task": CARRYING}},
        asked_of(CARRYING, "poll", "GetTask"),
        asked_of({"tasks": [{"id": "a0", "status": {"state": "TASK_STATE_WORKING"}}, CARRYING]}, "listing", "ListTasks"),
        plain("status_update", agentTaskId="w1", transportTaskId="a1", status="submitted", source="reconciler"),
        plain("status_update", agentTaskId="w1", transportTaskId="a1", status="submitted", source="poll"),
    ],
)
@settings(max_examples=15, deadline=None)
@given(data=some.data())
def test_work_that_is_named_when_its_carrier_is_asked_is_that_of_the_call_in_any_order(telling: Line, data: some.DataObject) -> None:
    answer = result(None, metadata={"task_id": "a1", "status": "submitted"})
    store = told(data.draw(interleaved([*call(1), answer, telling, webhook("w1", "working")])))
    assert states(store) == [(OP, "x", "sync", "w1", "a1", "working", ())]
    assert only(store).flags == ()
    assert not [row.flags for row in events(store) if row.flags]


def test_work_that_only_a_push_names_is_one_task() -> None:
    store = told([{"kind": "webhook", "op": None, "agent": "x", "body": {"task": CARRYING}}])
    assert (states(store), only(store).flags) == ([("", "x", "", "w1", "a1", "submitted", ())], ("orphan",))


def test_a_poll_of_the_carrier_does_not_contradict_the_work() -> None:
    asked = asked_of({"id": "a1", "status": {"state": "TASK_STATE_COMPLETED"}}, "poll", "GetTask")
    store = told([*call(1), submitted("w1", metadata={"task_id": "a1", "status": "completed"}), asked])
    assert (only(store).status, only(store).flags) == ("submitted", ())


@pytest.mark.parametrize(
    ("data", "status", "work"),
    [
        ({"taskId": "PROJ-5", "status": "open", "title": "x"}, "completed", None),
        ({"taskId": "PROJ-5", "status": "cancelled", "assignee": "x"}, "completed", None),
        ({"task": {"id": "7", "title": "x", "status": "open"}}, "completed", None),
        ({"id": "7", "status": {"label": "working"}}, "completed", None),
        ({"kind": "task", "id": "7", "status": "open"}, "completed", None),
        ({"message": {"from": "x"}, "status": "working"}, "working", None),
        ({"task": {"taskId": "m1", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "ttl": 60000}}, "working", "m1"),
        ({"resultType": "task", "taskId": "m1", "status": "input_required", "ttlMs": 60000, "more": 1}, "input-required", "m1"),
        ({"resultType": "task", "taskId": "m1", "status": "queued"}, "unknown", "m1"),
    ],
)
def test_a_task_of_somebodys_project_is_no_task_of_the_protocol(data: Line, status: str, work: str | None) -> None:
    store = told([*call(1), result(data)])
    assert (only(store).status, only(store).native["agentTaskId"]) == (status, work)


def test_a_poll_of_mcps_task_counts_in_either_form() -> None:
    given = [*call(1), result({"task": {"taskId": "m1", "status": "working", "ttl": 60000}})]
    for data in ({"task": {"taskId": "m1", "status": "failed"}}, {"taskId": "m1", "status": "failed"}):
        assert only(told([*given, asked_of(data, "poll", "tasks/get")])).status == "failed"


@pytest.mark.parametrize("body", [{"status": "completed"}, {"task_id": 17, "status": "completed"}])
def test_a_push_that_names_no_task_ends_none(body: Line) -> None:
    pushed = {"kind": "webhook", "op": OP, "agent": "x", "body": body}
    assert only(told([request("c1"), pushed])).status == "pending"
    assert tasks(told([pushed])) == []


def test_ids_with_slashes_do_not_run_together() -> None:
    stamp = "2026-01-01T00:00:00Z"
    pushes = [webhook("t", "completed", agent="a/b", op="o", timestamp=stamp), webhook("t", "completed", agent="b", op="o/a", timestamp=stamp)]
    assert [(row[0], row[1], row[5]) for row in states(told(pushes))] == [("o", "a/b", "completed"), ("o/a", "b", "completed")]
    calls = [request("c1", "b/c", op="a"), response("c1", "b/c", op="a"), submitted("t", "c", op="a/b")]
    assert [(row[0], row[1], row[5]) for row in states(told(calls))] == [("a", "b/c", "unknown"), ("a/b", "c", "submitted")]


@settings(max_examples=30, deadline=None)
@given(data=some.data())
def test_a_part_of_work_is_one_whatever_its_task_was_known_by_at_the_time(data: some.DataObject) -> None:
    def sign(state: str) -> Line:
        return plain("progress", agentTaskId="w1", payload={"message": json.dumps({"subtask": "render", "state": state})})

    signs = data.draw(interleaved([webhook("w1", "working"), *call(1), submitted("w1"), sign("working"), sign("completed")]))
    store = told(signs)
    assert [(row[3], row[-1]) for row in states(store)] == [("w1", (("render", "completed"),))]
    assert operations(store)[OP]["subtaskCount"] == 1
