"""What holds for all tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from ramify.storage.base import Store
from tests.contracts.engines import ENGINES

settings.register_profile("any machine", deadline=None)  # a busy machine is no defect
settings.load_profile("any machine")
SLOW = ("peers", "browser", "contracts", "brokers", "mcp")  # folders whose files take long: who begins with them does not end with them


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not any(part in SLOW for part in item.path.parts))


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty one of every engine, in turn."""
    engine = ENGINES[request.param]
    if engine.missing:
        pytest.skip(engine.missing)
    opened = engine.open(tmp_path)
    yield opened
    opened.close()
