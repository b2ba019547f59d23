"""Every case of the event log: the states, the operations, the flags; in other orders, in batches, derived again."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ramify.app import Ramify
from ramify.model.entity import Task
from ramify.rebuild import rebuild
from ramify.storage.sqlite import Sqlite
from ramify.wiring import Prices, Rules
from tests.contracts.engines import derived, difference
from tests.event_story import (
    CASES,
    FOLDER,
    events,
    expected,
    expected_states,
    interleaved,
    lines,
    operations,
    states,
    tasks,
    told,
)

FLAGS = ("duplicate", "reemission", "late", "conflict")


def imported(store: str, *paths: Path) -> Ramify:
    ramify = Ramify.open(store)
    report = ramify.import_paths(list(paths), "auto", lambda done, total: None)
    assert not report["unreadable"]
    return ramify


def whole(store: Sqlite, case: str) -> None:
    assert states(store) == expected_states(case)
    found = operations(store)
    assert sorted(found) == sorted(one["operationId"] for one in expected(case)["operations"])
    for wanted in expected(case)["operations"]:
        check_operation(found[wanted["operationId"]], wanted)


def check_operation(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name in ("status", "agents", "taskTypes", "taskCount", "statusCounts", "eventCount", "objectCount"):
        if name in wanted:
            assert found[name] == wanted[name], (wanted["operationId"], name)
    for agent, counts in wanted["byAgent"].items():
        assert {name: found["byAgent"][agent][name] for name in counts} == counts


@pytest.mark.parametrize("case", CASES)
def test_an_imported_case_holds_what_a_person_would_say(case: str) -> None:
    ramify = imported("memory:", FOLDER / case / "records.jsonl")
    whole(ramify.store, case)
    for wanted in expected(case)["operations"]:
        if "webhookFlags" in wanted:
            pushed = [one for one in events(ramify.store) if one.source == "webhook" and one.operation == wanted["operationId"]]
            counts = {flag: sum(flag in one.flags for one in pushed) for flag in FLAGS}
            assert {flag: count for flag, count in counts.items() if count} == wanted["webhookFlags"]


@pytest.mark.parametrize("case", [case for case in CASES if any("durationMs" in task for task in expected(case)["tasks"])])
def test_durations_are_those_of_the_observers_clock(case: str) -> None:
    ramify = imported("memory:", FOLDER / case / "records.jsonl")
    found = {(row.operation, row.agent, row.native["agentTaskId"]): row for row in tasks(ramify.store)}
    for task in expected(case)["tasks"]:
        row = found[task["operation"], task["agent"], task["agentTaskId"]]
        assert abs((row.closed - row.opened) / 1000 - task["durationMs"]) < 500


def test_all_cases_share_one_store_in_any_order(tmp_path: Path) -> None:
    wanted = sorted(one for case in CASES for one in expected_states(case))
    for seed in range(3):
        order = random.Random(seed).sample(CASES, len(CASES))
        ramify = imported("memory:", *(FOLDER / case / "records.jsonl" for case in order))
        assert states(ramify.store) == wanted


@pytest.mark.parametrize("case", CASES)
def test_the_same_file_twice_changes_nothing(case: str, tmp_path: Path) -> None:
    path = FOLDER / case / "records.jsonl"
    ramify = imported(f"sqlite:{tmp_path}/store.db", path)
    before = derived(ramify.store)
    packed = tmp_path / "copy.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    again = ramify.import_paths([path, packed], "adcp", lambda done, total: None)
    assert again["new"] == 0
    assert not difference(before, derived(ramify.store))


@pytest.mark.parametrize("case", CASES)
def test_replayed_is_the_same_as_live(case: str, tmp_path: Path) -> None:
    ramify = imported(f"sqlite:{tmp_path}/store.db", FOLDER / case / "records.jsonl")
    before = derived(ramify.store)
    report = rebuild(ramify.store, Rules(), Prices(), False, lambda done, total: None)
    assert report["moved"] == []
    assert not difference(before, derived(ramify.store))


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=40, deadline=None)
@given(data=some.data())
def test_every_interleaving_of_the_sources_ends_in_the_same_states(case: str, data: some.DataObject) -> None:
    whole(told(data.draw(interleaved(lines(case)))), case)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=8, deadline=None)
@given(sizes=some.lists(some.integers(1, 9), max_size=20))
def test_how_lines_are_cut_into_batches_does_not_matter(case: str, sizes: list[int]) -> None:
    one, other = told(lines(case)), told(lines(case), sizes)
    # A ref that leads to nothing any more is no answer: a task that went again within one batch leaves none at all.
    found = [(table, row) for table, row in difference(derived(one), derived(other)) if table != "refs" or one.load(row[2], row[3])]
    assert not found


@pytest.mark.parametrize("case", [case for case in CASES if expected(case).get("secrets")])
def test_secrets_are_nowhere_in_the_files(case: str, tmp_path: Path) -> None:
    ramify = imported(f"sqlite:{tmp_path}/store.db", FOLDER / case / "records.jsonl")
    bodies = b"".join(getattr(seen, "body", b"") for _, seen in ramify.store.observations())
    ramify.close()
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in expected(case)["secrets"]:
        assert secret.encode() not in bodies + files


def test_a_task_of_the_log_is_answered_like_any_other() -> None:
    ramify = imported("memory:", FOLDER / "kinds" / "records.jsonl")
    call = next(row for row in tasks(ramify.store) if row.title == "build_report")
    tree = ramify.questions.tree(call.id)
    assert [(child["title"], child["link"]["rule"], child["link"]["certainty"]) for child in tree["children"]] == [
        ("collect", "progress", 1.0),
        ("render", "progress", 1.0),
    ]
    assert isinstance(ramify.store.load("tasks", call.id), Task)


def test_of_two_events_with_one_id_the_first_stays_and_the_other_is_reported(tmp_path: Path) -> None:
    event = {"eventType": "protocol_request", "operationId": "op", "agentId": "x", "taskType": "first", "eventId": "e1"}
    other = {**event, "taskType": "second"}
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (event, dict(reversed(event.items())), other)))
    ramify = Ramify.open("memory:")
    report = ramify.import_paths([path], "auto", lambda done, total: None)
    assert [row.title for row in tasks(ramify.store)] == ["first"]
    assert [one["problem"] for one in report["unreadable"]] == ["was stored before with other content; that is kept"]


def test_what_is_reported_as_no_event_is_none_and_the_rest_goes_on(tmp_path: Path) -> None:
    event = {"eventType": "protocol_request", "operationId": "op", "agentId": "x", "taskType": "sync"}
    large = {**event, "payload": "x" * 5 * 2**20, "ramify": {"session": "of another", "digest": "d"}}
    given = [large, {"kind": "result", "op": 7, "agent": "x", "method": "sync"}, *({**event, "session": name} for name in (7, "s" * 256, "mine", None))]
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in given))
    ramify = Ramify.open("memory:")
    report = ramify.import_paths([path], "auto", lambda done, total: None)
    reasons = ["more than 4194304", "op must be a text", "session must be a text", "session has 256 characters, more than 255"]
    assert [one["problem"][-len(reason) :] for one, reason in zip(report["unreadable"], reasons, strict=True)] == reasons
    assert len(events(ramify.store)) == len(tasks(ramify.store)) == 2
