"""Recorded runs of an agent mesh: the true answers, in any order, twice, in pieces, among noise, under other names."""

import json
import os
import random
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ramify.capture.cleaner import Cleaner
from ramify.capture.mesh_file import read_line, read_mesh
from ramify.indexing import Indexer
from ramify.ingest import Ingest
from ramify.linking.mesh import settling
from ramify.model.observation import Observation
from ramify.query.service import Questions
from ramify.rebuild import rebuild
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests import mesh_verdicts, story

CASES = sorted(path.name for path in (story.CASES / "sam").iterdir() if path.is_dir())
EXAMPLES = int(os.environ.get("RAMIFY_EXAMPLES", "20"))
relaxed = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True, phases=(Phase.explicit, Phase.reuse, Phase.generate))


@lru_cache
def lines(case: str, file: str = "messages.jsonl") -> list[bytes]:
    return (story.CASES / "sam" / case / file).read_bytes().splitlines()


def observed(lines: list[bytes]) -> list[Observation]:
    place = Path("messages.jsonl")
    found = [read for number, line in enumerate(lines, 1) for read in read_line(line, number, place, "default", "UTC")]
    return [seen for read in found for seen in read.observations]


def told(seen: list[Observation], size: int = 7) -> tuple[Sqlite, Questions]:
    store = open_sqlite("memory:")
    ingest = Ingest(store, redaction=Cleaner())
    for start in range(0, len(seen), size):
        ingest.step(seen[start : start + size])
    return store, Questions(store)


def verdict(seen: list[Observation], case: str, size: int = 7) -> list[str]:
    store, questions = told(seen, size)
    assert store.count_unreadable() == 0
    return mesh_verdicts.differences(questions, story.expected("sam", case))


def later(line: bytes, seconds: int = 40) -> bytes:
    message = json.loads(line)
    hour, minute, second = message["received_at"][11:19].split(":")
    total = int(hour) * 3600 + int(minute) * 60 + int(second) + seconds
    clock = f"{total // 3600:02}:{total // 60 % 60:02}:{total % 60:02}"
    message["received_at"] = message["received_at"][:11] + clock + message["received_at"][19:]
    message["redelivered"] = True
    return json.dumps(message).encode()


def without_properties(line: bytes) -> bytes:
    message = json.loads(later(line, 3))
    del message["user_properties"]
    return json.dumps(message).encode()


def row_differences(one: Sqlite, other: Sqlite) -> list[str]:
    return story.row_differences(story.rows(one), story.rows(other))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_run_is_what_it_was(case: str, size: int) -> None:
    assert verdict(observed(lines(case)), case, size) == []


@pytest.mark.parametrize("case", CASES)
def test_among_cards_and_foreign_messages_nothing_changes(case: str) -> None:
    mixed = [line for pair in zip(lines(case), noise(len(lines(case))), strict=True) for line in pair]
    assert verdict(observed(mixed), case) == []


def noise(count: int) -> list[bytes]:
    stamp = '"received_at": "2026-11-15T17:44:50+00:00"'
    kinds = [
        '{"topic": "demo/mesh/a2a/v1/discovery/agentcards", "payload": {"name": "WeatherAgent", "url": "x"}, %s}',
        '{"topic": "demo/mesh/a2a/v1/trust/agent/WeatherAgent", "payload": {"id": "trust", "card": 1}, %s}',
        '{"topic": "demo/mesh/other", "payload": "just words", %s}',
        '{"topic": "demo/mesh/other", "payload": {"binary_data": "00ff"}, %s}',
        '{"topic": "demo/mesh/other", "payload": null, %s}',
        '{"topic": "demo/mesh/a2a/v1/agent/request/WeatherAgent", "payload": {"id": 7, "method": "message/send"}, %s}',
        '{"topic": "demo/mesh/sam/events/session/deleted", "payload": {"id": "s", "value": NaN, "most": Infinity}, %s}',
        '{"topic": "demo/mesh/a2a/v1/gateway/response/gw/x", "payload": {"id": "y", "error": {"code": -1, "message": "no"}}, %s}',
    ]
    return [(kinds[at % len(kinds)] % stamp).encode() for at in range(count)]


@pytest.mark.parametrize("case", CASES)
def test_ids_agents_and_namespace_mean_nothing_by_themselves(case: str) -> None:
    def renamed(text: str) -> str:
        for old, new in (("gdk-task-", "job/"), ("a2a_subtask_", "x"), ("wf_", "n:"), ("web-session-", "ctx "), ("demo/mesh", "a/a2a/v1/b"), ("WeatherAgent", "Wetter"), ("OrchestratorAgent", "Chef")):
            text = text.replace(old, new)
        return text

    seen = observed([renamed(line.decode()).encode() for line in lines(case)])
    truth = json.loads(renamed(json.dumps(story.expected("sam", case))))
    assert mesh_verdicts.differences(told(seen)[1], truth) == []


def test_an_export_of_the_same_run_changes_nothing() -> None:
    pytest.importorskip("yaml", reason="exports need PyYAML")
    export = [seen for read in read_mesh(story.CASES / "sam/simple/export.stim", "default", "UTC") for seen in read.observations]
    capture = observed(lines("simple"))
    alone, _ = told(capture)
    for order in ([*capture, *export], [*export, *capture]):
        assert row_differences(alone, told(order)[0]) == []


def test_an_export_alone_tells_the_same_course() -> None:
    pytest.importorskip("yaml", reason="exports need PyYAML")
    export = [seen for read in read_mesh(story.CASES / "sam/simple/export.stim", "default", "UTC") for seen in read.observations]
    problems = verdict(export, "simple")
    assert [problem for problem in problems if "call_depth" not in problem] == []  # only properties tell it


def test_a_listeners_envelope_tells_the_same_and_says_that_its_zone_was_assumed() -> None:
    seen = observed(lines("plain", "listener.jsonl"))
    assert verdict(seen, "plain") == []
    _, questions = told(seen)
    assert row_differences(told(observed(lines("plain")))[0], told([*seen, *observed(lines("plain"))])[0]) == []
    assert questions.tasks()["items"][0]["flags"] == ["assumed_zone"]


@relaxed
@given(st.sampled_from(CASES), st.randoms(use_true_random=False), st.integers(1, 40))
def test_any_order_any_batch_and_anything_twice_give_the_same_rows(case: str, chance: random.Random, size: int) -> None:
    mixed = [*lines(case), *noise(6)]
    mixed += [chance.choice([later, without_properties])(line) for line in chance.sample(lines(case), len(lines(case)) // 2)]
    seen = observed(mixed)
    chance.shuffle(seen)
    natural, _ = told(observed([*lines(case), *noise(6)]), 1000)
    assert row_differences(natural, told(seen, size)[0]) == []


@relaxed
@given(st.sampled_from(CASES), st.randoms(use_true_random=False), st.floats(0, 1))
def test_a_listener_that_missed_messages_says_the_same_in_any_order(case: str, chance: random.Random, part: float) -> None:
    heard = chance.sample(lines(case), int(len(lines(case)) * part))
    stripped = [without_properties(line) if chance.random() < 0.3 else line for line in heard]
    stripped += [line for line in heard if chance.random() < 0.3]
    one, other = observed(stripped), observed(stripped)
    chance.shuffle(one)
    chance.shuffle(other)
    assert row_differences(told(one, 5)[0], told(other, 3)[0]) == []


@pytest.mark.parametrize("case", CASES)
def test_a_rebuild_moves_nothing(case: str) -> None:
    seen = observed(lines(case))
    random.Random(case).shuffle(seen)
    store, _ = told(seen, 3)
    ingest = Ingest(store)
    report: dict[str, Any] = rebuild(store, ingest.world.rules, ingest.prices, True, lambda done, total: None)
    assert not report["moved"], report


def test_a_line_that_is_no_json_is_kept_and_told_with_its_number(tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_bytes(b"\n".join([*lines("plain")[:2], b'{"topic": "x", "payl', *lines("plain")[2:]]))
    read = list(read_mesh(file, "default", "UTC"))
    problems = [one for one in read if one.problem]
    assert [one.line for one in problems] == [3]
    assert re.match(r"broken.jsonl:3: ", problems[0].problem or "")
    store, questions = told([seen for one in read for seen in one.observations])
    assert mesh_verdicts.differences(questions, story.expected("sam", "plain")) == []
    assert store.count_unreadable() == 1


@pytest.mark.parametrize("case", CASES)
def test_live_messages_are_folded_on_top_of_what_is_known(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order in which agents publish, which is not quite that of their clocks, nothing is ever read again."""
    again: list[str] = []
    whole = settling.replay
    monkeypatch.setattr(settling, "replay", lambda world, project, native, *rest: (again.append(native), whole(world, project, native, *rest))[1])
    told(observed(lines(case)), 1)
    assert again == []


def test_model_calls_are_found_by_what_was_said_and_done_in_them() -> None:
    store, questions = told(observed(lines("simple")))
    Indexer(store).catch_up()
    called = {call["id"]: call for call in questions.calls(filter="Utrecht")["items"]}
    asked = [tool["call"] for tool in questions.tools(questions.tasks(filter="agent:WeatherAgent")["items"][0]["id"])["items"]]
    assert asked
    assert set(asked) <= set(called)
    assert not questions.calls(filter="marmalade")["items"]
