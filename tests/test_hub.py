"""Live readers: what they get, how they come back, and when they are let go."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ramify.hub import REMEMBERED, WAITING, Batch, Hub, Rows
from ramify.ingest import Ingest
from ramify.model.entity import Line, Task
from ramify.storage.sqlite import open_sqlite
from tests.contracts.engines import seen_stories


def rows(*ids: str) -> Rows:
    return {("tasks", id): Task(id) for id in ids}


async def next_of(batches: AsyncIterator[Batch]) -> Batch | None:
    """None: the reader was let go."""
    return await asyncio.wait_for(anext(batches, None), 5)


async def test_a_reader_gets_what_is_published_from_another_thread() -> None:
    hub = Hub()
    async with hub.subscribe(None) as batches:
        await asyncio.to_thread(hub.publish, 1, rows("a"))
        await asyncio.to_thread(hub.publish, 2, {**rows("b"), ("lines", "l"): Line("l")})
        assert await next_of(batches) == (1, rows("a"))
        assert await next_of(batches) == (2, rows("b"))


async def test_what_is_published_is_as_it_was_then() -> None:
    hub = Hub()
    task = Task("a", title="before")
    async with hub.subscribe(None) as batches:
        hub.publish(1, {("tasks", "a"): task})
        task.title = "after"
        assert await next_of(batches) == (1, {("tasks", "a"): Task("a", title="before")})


async def test_a_reader_that_comes_back_goes_on_where_it_was() -> None:
    hub = Hub()
    hub.start_at(10)
    for seq in (11, 12, 13):
        hub.publish(seq, rows(str(seq)))
    async with hub.subscribe(11) as batches:
        assert [await next_of(batches), await next_of(batches)] == [(12, rows("12")), (13, rows("13"))]
        hub.publish(14, rows("14"))
        assert await next_of(batches) == (14, rows("14"))


async def test_a_reader_from_before_the_start_must_begin_anew() -> None:
    hub = Hub()
    hub.start_at(10)
    hub.publish(11, rows("a"))
    async with hub.subscribe(9) as batches:
        assert await next_of(batches) is None


async def test_a_reader_that_was_away_too_long_must_begin_anew() -> None:
    hub = Hub()
    for seq in range(1, 5):
        hub.publish(seq, rows(*(f"{seq}/{n}" for n in range(REMEMBERED // 3))))
    async with hub.subscribe(0) as old, hub.subscribe(3) as recent:
        assert await next_of(old) is None
        found = await next_of(recent)
        assert found is not None
        assert found[0] == 4


async def test_a_slow_reader_is_let_go_and_keeps_nothing() -> None:
    hub = Hub()
    async with hub.subscribe(None) as slow:
        for seq in range(1, 20):
            hub.publish(seq, rows(*(f"{seq}/{n}" for n in range(WAITING // 4))))
        await asyncio.sleep(0)
        reader = next(iter(hub._readers))
        assert len(reader._batches) == 0
        assert await next_of(slow) is None
    assert not hub._readers


async def test_every_reader_begins_anew_when_it_is_not_known_what_changed() -> None:
    hub = Hub()
    hub.publish(1, rows("a"))
    async with hub.subscribe(None) as batches:
        hub.publish(5, None)
        assert await next_of(batches) is None
    async with hub.subscribe(1) as behind, hub.subscribe(5) as current:
        assert await next_of(behind) is None
        hub.publish(6, rows("b"))
        assert await next_of(current) == (6, rows("b"))


async def test_what_another_process_writes_is_not_missed(tmp_path: object) -> None:
    hub = Hub()
    ours, theirs = (open_sqlite(f"sqlite:{tmp_path}/store.db") for _ in range(2))
    ingest = Ingest(ours, publish=hub.publish)
    seen = seen_stories()
    async with hub.subscribe(None) as batches:
        ingest.step(seen[:2])
        found = await next_of(batches)
        assert found is not None
        Ingest(theirs).step(seen[2:4])
        ingest.step(seen[4:6])
        assert await next_of(batches) is None
    ours.close()
    theirs.close()


async def test_closing_ends_every_reader_also_those_that_come_later() -> None:
    hub = Hub()
    async with hub.subscribe(None) as batches:
        hub.close()
        assert await next_of(batches) is None
    async with hub.subscribe(None) as late:
        assert await next_of(late) is None


# -- several servers on one store ----------------------------------------------------------------------------------------------


async def test_what_goes_on_from_further_on_waits_for_what_is_between() -> None:
    """Ours was stored after another server's, of which we hear later."""
    hub = Hub()
    hub.start_at(8)
    async with hub.subscribe(None) as batches:
        hub.publish(12, rows("ours"), 10)
        hub.publish(13, rows("next"), 12)
        hub.publish(10, rows("theirs"), 8)
        assert [await next_of(batches) for _ in range(3)] == [(10, rows("theirs")), (12, rows("ours")), (13, rows("next"))]


async def test_a_number_promises_that_nothing_before_it_is_missing_at_another_server() -> None:
    """Two servers hear of two batches in opposite orders; whoever goes from one to the other misses neither."""
    one, other = Hub(), Hub()
    for hub in (one, other):
        hub.start_at(0)
    one.publish(2, rows("second"), 1)
    other.publish(1, rows("first"), 0)
    async with one.subscribe(0) as batches:
        one.publish(1, rows("first"), 0)
        assert await next_of(batches) == (1, rows("first"))
    other.publish(2, rows("second"), 1)
    async with other.subscribe(1) as batches:
        assert await next_of(batches) == (2, rows("second"))


async def test_what_comes_after_its_time_is_given_again_to_who_comes_back() -> None:
    hub = Hub()
    hub.start_at(5)
    hub.publish(9, rows("a"))
    hub.publish(7, rows("late"))
    async with hub.subscribe(9) as batches:
        assert await next_of(batches) == (9, rows("late"))
    async with hub.subscribe(5) as batches:
        assert [await next_of(batches), await next_of(batches)] == [(9, rows("a")), (9, rows("late"))]


async def test_what_is_never_told_makes_everybody_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramify.hub.PATIENCE", 0.05)
    hub = Hub()
    hub.start_at(5)
    async with hub.subscribe(5) as batches:
        hub.publish(9, rows("a"), 7)
        assert await next_of(batches) is None
    hub.publish(10, rows("b"), 9)
    async with hub.subscribe(9) as batches:
        assert await next_of(batches) == (10, rows("b"))


async def test_what_shows_nothing_counts_as_told() -> None:
    hub = Hub()
    hub.start_at(5)
    hub.publish(6, {}, 5)
    async with hub.subscribe(6) as batches:
        hub.publish(7, rows("a"), 6)
        assert await next_of(batches) == (7, rows("a"))
