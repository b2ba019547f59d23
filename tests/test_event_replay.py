"""Whatever happened to the event log, deriving it again from what was seen gives the same rows."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some

from ramify.linking.world import Rules
from ramify.rebuild import rebuild
from ramify.wiring import Prices
from tests.contracts.engines import ENGINES, derived, difference
from tests.contracts.test_events import World

AGENTS, OPERATIONS, SESSIONS = ("x", "y"), ("op1", "op2"), ("s", "t", "local")
natives = some.sampled_from(["t1", "t2", "t3"])
statuses = some.sampled_from(["submitted", "working", "input-required", "completed", "failed", "canceled", "strange"])


@some.composite
def lines(draw: some.DrawFn) -> dict[str, Any]:
    """Any line that clients and agents may send, sensible or not."""
    agent, operation = draw(some.sampled_from(AGENTS)), draw(some.sampled_from([*OPERATIONS, None]))
    base = {"operationId": operation or "op1", "agentId": agent, "taskType": "sync"}
    call = draw(some.sampled_from([None, "c1", "c2"]))
    native, status = draw(natives), draw(statuses)
    match draw(some.integers(0, 12)):
        case 0:
            return {**base, "eventType": "protocol_request", "callId": call}
        case 1:
            return {**base, "eventType": "protocol_response", "callId": call, "payload": {"task_id": native, "status": status}}
        case 2:
            return {**base, "eventType": "protocol_error", "callId": call, "error": draw(some.sampled_from(["TimeoutError: x", "ValueError: y"]))}
        case 3:
            body = {"task_id": native, "status": status, "task_type": "sync", "idempotency_key": draw(some.sampled_from(["k1", "k2", "k3"]))}
            return {"kind": "webhook", "op": operation, "agent": agent, "body": body}
        case 4:
            return {"kind": "poll", "op": operation, "agent": agent, "method": "get_task_status", "data": {"task_id": native, "status": status}}
        case 5:
            update = {"taskId": f"a-{native}", "contextId": "c", "status": {"state": status}}
            return {"kind": "stream", "op": operation, "agent": agent, "event": {"statusUpdate": update}}
        case 6:
            return {"kind": "progress", "op": operation or "op1", "agent": agent, "message": f'{{"subtask": "{native}", "state": "{status}"}}'}
        case 7:
            answer = {"data": None, "status": "submitted", "metadata": {"task_id": f"a-{native}", "status": status}}
            return {"kind": "result", "op": operation, "agent": agent, "method": "sync", **answer}
        case 10:
            message = f'{{"subtask": "{draw(natives)}", "state": "{status}"}}'
            return {**base, "eventType": "progress", "agentTaskId": native, "callId": call, "payload": {"message": message}}
        case 11:
            task = {"id": f"a-{native}", "status": {"state": status}, "artifacts": [{"parts": [{"data": {"task_id": draw(natives), "status": status}}]}]}
            record = {"op": operation, "agent": agent, "call": call, "method": "GetTask"}
            return record | draw(some.sampled_from([{"kind": "webhook", "body": {"task": task}}, {"kind": "poll", "data": task}, {"kind": "stream", "event": {"task": task}}]))
        case 12:
            return {**base, "eventType": "status_update", "agentTaskId": native, "transportTaskId": f"a-{draw(natives)}", "status": status,
                    "source": draw(some.sampled_from(["client", "webhook", "reconciler", "poll"]))}  # fmt: skip
        case 8:
            return {**base, "eventType": "status_update", "agentTaskId": native, "status": status, "parentTaskId": draw(natives)}
        case _:
            told = {"type": draw(some.sampled_from(["protocol_request", "protocol_response"])), "operation_id": call or "c3", "agent_id": agent,
                    "task_type": "sync", "status": "completed"}  # fmt: skip
            return {"kind": "activity", "op": operation, "activity": told}


acts = some.one_of(
    some.tuples(some.just("append"), some.sampled_from(SESSIONS), some.lists(lines(), min_size=1, max_size=6)),
    some.tuples(some.just("clear"), some.sampled_from(SESSIONS), some.just([])),
)


@settings(max_examples=20, deadline=None)
@given(some.lists(acts, min_size=1, max_size=12))
def test_replayed_is_the_same_as_live(story: list[tuple[str, str, list[dict[str, Any]]]]) -> None:
    with TemporaryDirectory() as folder:
        world = World(ENGINES["sqlite"], Path(folder))
        for act, session, given_lines in story:
            if act == "clear":
                world.log.clear_session(session)
            else:
                outcomes = world.log.append_many(session, given_lines)
                assert {one.status for one in outcomes} == {"stored"}
        assert not world.store.unreadable(5)
        check_counts(world)
        before = derived(world.store)
        rebuild(world.store, Rules(), Prices(), False, lambda done, total: None)
        # Refs are only ever added, also for what is so within one batch; whether they lead anywhere is seen when they are used.
        assert not [(table, row) for table, row in difference(before, derived(world.store)) if table != "refs"]
        world.store.close()


def check_counts(world: World) -> None:
    """What is kept by difference is what could be counted."""
    for session in SESSIONS:
        shown = world.log.session_info(session)
        operations = world.log.get_operations(session, 100)
        tasks = world.log.get_tasks(session)
        assert shown["operationCount"] == len(operations)
        assert len(world.log.get_events(session)["events"]) == shown["eventCount"]
        for operation in operations:
            own = [task for task in tasks if task["operation"] == operation["operationId"]]
            roots = [task for task in own if task["link"] is None]
            assert operation["taskCount"] == len(roots)
            assert operation["subtaskCount"] == len(own) - len(roots)
            counted: dict[str, int] = {}
            for task in roots:
                counted[task["status"]] = counted.get(task["status"], 0) + 1
            assert operation["statusCounts"] == counted
            assert operation["agents"] == sorted({task["agent"] for task in roots})
