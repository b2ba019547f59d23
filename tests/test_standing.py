"""What whoever runs a database wants to know of it is told by doctor, on every engine, as the engine itself says it."""

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ramify.diagnosis import checks
from ramify.indexing import Indexer
from ramify.ingest import Ingest
from ramify.served import open_served
from ramify.settings import load
from ramify.standing import MANY_PARTS, Standing, trouble
from ramify.storage import postgres_steps, schema
from ramify.storage.base import About, Store
from tests.contracts.engines import ENGINES, seen_stories, to_be_had
from tests.test_following import until

SAID = {
    "sqlite": rf"SQLite 3\.\d+\.\d+, schema {len(schema.STEPS)}, \d+ [KM]iB",
    "postgres": rf"PostgreSQL \d+\.\d+.*, schema {len(postgres_steps.STEPS)}, \d+ [KM]iB; \d+ tables of days; servers hear of each other at once",
    "clickhouse": r"ClickHouse \d+\.\d+\.[\d.]+, schema [1-9]\d*, \d+ [KM]iB; \d+ parts, at most \d+ in one partition; \d+ merges under way",
}


@pytest.fixture(params=SAID)
def engine(request: pytest.FixtureRequest) -> str:
    return to_be_had(request.param)


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
    assert told_of(store, "search") == ("ok", "search knows the log but for 20 of 20 observations")
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
    standing.close()


def test_figures_stay_fresh_for_as_long_as_somebody_asks(tmp_path: Path) -> None:
    """A monitor asks once a minute: it must not get what was true a minute ago."""
    store = ENGINES["sqlite"].open(tmp_path)
    standing = Standing(store, seconds=0.2)
    until(lambda: standing.engine() is not None)
    Ingest(store).step(seen_stories()[:20])
    time.sleep(1.0)  # nobody asks
    known = standing.engine()
    assert known is not None
    assert (known["log"], known["age_s"] < 1) == (20, True)
    standing.close()
    time.sleep(0.5)
    old = standing.engine()
    assert old is not None
    assert old["age_s"] >= 0.5  # whoever gets old figures is told how old they are
    store.close()


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
    well = About(engine="ClickHouse", version="26.9", schema=4, parts=900, most_parts=MANY_PARTS, shards=2, replicas=4, answering=4)
    assert trouble(well) is None
    for worse in (replace(well, most_parts=MANY_PARTS + 1), replace(well, answering=3), About(engine="PostgreSQL", version="15", schema=9, notices=False)):
        assert trouble(worse) is not None


async def test_nothing_of_a_server_that_was_closed_goes_on(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    served = open_served(load({"store": f"sqlite:{tmp_path}/store.db"}, {}))
    assert (await served.beat()).seq == 0
    served.close()
    until(lambda: not {thread for thread in threading.enumerate() if thread.name.startswith("ramify")} - before)
