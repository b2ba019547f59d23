"""What whoever runs a database wants to know of it is told by doctor, on every engine, as the engine itself says it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ramify.diagnosis import checks
from ramify.indexing import Indexer
from ramify.ingest import Ingest
from ramify.settings import load
from ramify.standing import MANY_PARTS, Standing, trouble
from ramify.storage.base import About, Store
from tests.contracts.engines import ENGINES, seen_stories
from tests.test_following import until

SAID = {
    "sqlite": r"SQLite 3\.\d+\.\d+, \d+ MiB",
    "postgres": r"PostgreSQL \d+\.\d+.*, \d+ MiB; \d+ tables of days; servers hear of each other at once",
    "clickhouse": r"ClickHouse \d+\.\d+\.[\d.]+, \d+ MiB; \d+ parts, at most \d+ in one partition; \d+ merges under way",
}


@pytest.fixture(params=SAID)
def engine(request: pytest.FixtureRequest) -> str:
    if why := ENGINES[request.param].missing:
        assert not os.environ.get("CI"), why
        pytest.skip(why)
    return str(request.param)


@pytest.fixture
def store(engine: str, tmp_path: Path) -> Iterator[Store]:
    opened = ENGINES[engine].open(tmp_path)
    yield opened
    opened.close()


def told_of(store: Store, check: str) -> tuple[str, str]:
    [found] = [one for one in checks(store, load({}, {})) if one["check"] == check]
    return found["status"], found["message"]


def test_doctor_says_what_the_engine_says(engine: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    Ingest(store).step(seen_stories()[:20])
    status, message = told_of(store, "engine")
    assert (status, bool(re.fullmatch(SAID[engine], message))) == ("ok", True), message
    assert told_of(store, "search") == ("ok", "search knows the log but for 20 observations")
    monkeypatch.setattr("ramify.diagnosis.BEHIND", 19)
    assert told_of(store, "search") == ("warn", "20 observations of 20 cannot be searched yet")
    Indexer(store).catch_up()
    assert told_of(store, "search") == ("ok", "search knows the whole log")
    standing = Standing(store)
    until(lambda: standing.engine() is not None)
    known = standing.engine()
    assert known is not None
    assert (known["log"], known["indexed"], known["version"]) == (20, 20, store.about().version)
    assert standing.bytes() > 0


def test_what_clickhouse_does_not_show_is_left_out(tmp_path: Path) -> None:
    if why := ENGINES["clickhouse"].missing:
        pytest.skip(why)
    from ramify.storage.clickhouse import open_clickhouse
    from ramify.storage.clickhouse_about import shown

    store = open_clickhouse(ENGINES["clickhouse"].address(tmp_path))
    assert shown(store.server, "SELECT 1, 2", 2) == (1, 2)
    assert shown(store.server, "CREATE USER plain", 2) == (None, None)  # what this user may not do either
    with pytest.raises(Exception, match="UNKNOWN_TABLE"):
        shown(store.server, "SELECT count() FROM system.nothing", 1)
    store.close()


def test_what_needs_an_operator_is_a_warning() -> None:
    well = About(engine="ClickHouse", version="26.9", parts=900, most_parts=MANY_PARTS, shards=2, replicas=4, answering=4)
    assert trouble(well) is None
    for worse in (replace(well, most_parts=MANY_PARTS + 1), replace(well, answering=3), About(engine="PostgreSQL", version="15", notices=False)):
        assert trouble(worse) is not None
