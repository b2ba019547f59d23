"""How many questions an answer asks of a ClickHouse server: as many for a long session as for a short one. Each takes milliseconds."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import clickhouse

if why := clickhouse.missing():
    assert not os.environ.get("CI"), why
    pytest.skip(why, allow_module_level=True)

from bench.agents import sessions
from ramify.ingest import Ingest
from ramify.query.service import Questions
from ramify.storage.clickhouse import ClickHouse, open_clickhouse
from ramify.storage.clickhouse_server import ClickHouseServer
from tests.contracts.engines import database_of

REQUESTS = 20
MOST = {"tree": 2, "tools": 5, "messages": 6, "reasoning": 6, "show": 8, "task": 5, "subtasks": 4}
WITHIN = {"tree": 4, "tools": 5, "messages": 6, "reasoning": 6}
"""Of a task by itself, then of a whole conversation. Two or three of the first for pieces of bodies, which are remembered afterwards."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ClickHouse]:
    made = open_clickhouse(database_of(tmp_path))
    yield made
    made.close()


def asked(store: ClickHouse, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions from now on."""
    found: list[str] = []

    def read(self: ClickHouseServer, query: str, wide: bool = False, read: Any = ClickHouseServer.read) -> Any:
        found.append(query)
        return read(self, query, wide)

    monkeypatch.setattr(ClickHouseServer, "read", read)
    return found


@pytest.mark.parametrize("requests", [6, REQUESTS])
def test_an_answer_about_a_session_takes_a_few_questions(store: ClickHouse, monkeypatch: pytest.MonkeyPatch, requests: int) -> None:
    ingest = Ingest(store)
    for batch, _ in zip(sessions(0, 1), range(requests), strict=False):
        ingest.step(batch)
    ask = Questions(store)
    (root,) = ask.tasks(roots=True)["items"]
    questions = asked(store, monkeypatch)
    for name, most in MOST.items():
        questions.clear()
        answer = getattr(ask, name)(root["id"])
        assert answer
        assert len(questions) <= most, (name, questions)
    for name, most in WITHIN.items():
        questions.clear()
        assert getattr(ask, name)(root["conversation"])
        assert len(questions) <= most, (name, questions)
    assert len(ask.tools(root["id"])["items"]) > requests / 2
    assert len(ask.messages(root["id"])["items"]) > requests
