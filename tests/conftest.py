"""What holds for all tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from ramify.storage.base import Store
from tests.contracts.engines import ENGINES

settings.register_profile("any machine", deadline=None)  # a busy machine is no defect
settings.load_profile("any machine")


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty one of every engine, in turn."""
    engine = ENGINES[request.param]
    if engine.missing:
        pytest.skip(engine.missing)
    opened = engine.open(tmp_path)
    yield opened
    opened.close()
