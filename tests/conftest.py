"""What holds for all tests."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from ramify.storage.base import Store
from tests.contracts.engines import ENGINES

settings.register_profile("any machine", deadline=None)  # a busy machine is no defect
settings.load_profile("any machine")
SLOW = {
    "peers", "browser", "contracts", "brokers", "mcp", "test_forgetting", "test_redacting", "test_servers", "test_clickhouse", "test_clickhouse_cluster",
    "test_lists", "test_retention", "test_order_stories", "test_copying", "test_kill", "test_mistakes", "test_cases", "test_claude_sources", "test_store_away",
}  # fmt: skip
"""Folders and files that take long: who begins with them does not end with one of them."""


signal.signal(signal.SIGINT, signal.default_int_handler)  # run in the background, a shell has it ignored, and so would whoever is to be interrupted


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: SLOW.isdisjoint((item.path.stem, *item.path.parts)))


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty one of every engine, in turn."""
    engine = ENGINES[request.param]
    if engine.missing:
        pytest.skip(engine.missing)
    opened = engine.open(tmp_path)
    yield opened
    opened.close()
