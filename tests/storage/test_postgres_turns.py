"""Writers on one PostgreSQL hear what the others wrote, and doubt only that; where nobody can say what it was, they doubt everything."""

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from tests import postgres

if why := postgres.missing():
    assert not os.environ.get("CI"), why
    pytest.skip(why, allow_module_level=True)

from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.entity import Line
from ramify.model.observation import Observation, Record, Request
from ramify.rebuild import rebuild
from ramify.storage import postgres_turns
from ramify.storage.base import Changes, Kept, Others, Store, StoreDown
from ramify.storage.postgres import Postgres, open_postgres
from ramify.storage.postgres_days import DAY
from ramify.storage.sqlite import open_sqlite
from ramify.storage.sweeping import sweep
from tests.contracts.engines import cluster, difference, log_of, schema_of, seen_stories, told
from tests.test_forgetting import going, names_of, seen_in, settled

MIXED = ("anthropic/subtask-three-parallel", "anthropic/early-child", "a2a/v1-depth2-fanout2", "sam/workflow", "claude/nested", "claude_more/fork-session")
Pair = tuple[Postgres, Postgres]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    one, other = (open_postgres(schema_of(tmp_path)) for _ in range(2))
    yield one, other
    one.close()
    other.close()


def heard_by(store: Postgres) -> list[Others | None]:
    """What the writer of this store is told from now on."""
    found: list[Others | None] = []
    asked = store.others
    store.others = lambda: found.append(answer := asked()) or answer  # type: ignore[method-assign, func-returns-value]
    return found


def as_alone(store: Store) -> list[object]:
    """What is otherwise than one writer would have left it."""
    alone = told(open_sqlite("memory:"), log_of(store))
    found = difference(settled(store), settled(alone))
    alone.close()
    return [*found]


def record(number: int, body: bytes = b"") -> Record:
    return Record(f"obs_{number}", "default", number, "test", "lines", str(number), body)


def entries(store: Postgres) -> int:
    with psycopg.connect(cluster().url) as connection:
        row = connection.execute(f'SELECT count(*) FROM "{store._server.schema}".turns').fetchone()
    assert row is not None
    return int(row[0])


# -- what is doubted -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_writers_that_doubt_only_what_others_wrote_decide_as_one_would(tmp_path: Path, seed: int) -> None:
    """Batches of the same sessions, now by the one and now by the other: cleared results, corrections, late parents among them."""
    source = random.Random(seed)
    seen = seen_stories()[seed * 60 : seed * 60 + 90] if seed % 2 else [one for case in MIXED for one in seen_in(case)][:: 1 + seed // 2]
    if seed % 3:
        source.shuffle(seen)
    stores = [open_postgres(schema_of(tmp_path)) for _ in range(3)]
    told_of = [heard_by(store) for store in stores]
    writers = [Ingest(store) for store in stores]
    rest = seen
    while rest:
        size = source.choice((1, 3, 10))
        source.choice(writers).step(rest[:size])
        rest = rest[size:]
    assert [found.count(None) for found in told_of] == [1, 1, 1]  # the first time of each
    assert any(one is not None and one.rows and one.keys for found in told_of for one in found)
    assert {one.id for one in log_of(stores[0])} == {one.id for one in seen}
    assert as_alone(stores[0]) == []
    for store in stores:
        store.close()


@pytest.mark.parametrize("isolation", ["serializable", "repeatable\\ read"])
def test_who_waited_sees_what_was_written_meanwhile_however_the_database_isolates(tmp_path: Path, isolation: str) -> None:
    """Its picture would be of the moment in which it began to wait."""
    url = f"{schema_of(tmp_path)}&options={quote('-c default_transaction_isolation=' + isolation)}"
    seen = seen_stories()[:60]
    with closing(open_postgres(url)) as one, closing(open_postgres(url, busy_seconds=30)) as other, ThreadPoolExecutor() as threads:
        with one.exclusive():
            waiting = threads.submit(Ingest(other).step, seen[1::2])
            while not one._read("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
                time.sleep(0.01)
            Ingest(one).step(seen[::2])
        assert waiting.result(30) == len(seen[1::2])
        assert as_alone(one) == []


def test_a_parent_that_another_writer_brings_late_is_found(pair: Pair) -> None:
    """The one has looked for it, and remembers that there was none."""
    requests = [one for one in seen_in("anthropic/subtask-three-parallel") if isinstance(one, Request)]
    rest = [one for one in seen_in("anthropic/subtask-three-parallel") if not isinstance(one, Request)]
    one, other = map(Ingest, pair)
    for late, early in pairwise(requests):
        one.step([early])
        other.step([late])
        one.step([rest.pop(0)])
    one.step(rest)
    assert as_alone(pair[0]) == []


def test_pieces_and_days_of_others_cost_nothing_that_is_remembered(pair: Pair) -> None:
    """A new day is made by whoever comes first; what the other has put is found by its digest, and by what itself remembers."""
    body = b'{"text": "' + b"x" * 5000 + b'"}'
    for day in range(3):
        for number, store in enumerate(pair):
            store.append([Kept(record(DAY * (20_000 + day) + number, body))], Changes())
    assert [one.body for one in log_of(pair[0])] == [body] * 6  # type: ignore[union-attr]
    assert len(pair[0].blobs(0, 9)) == 1


# -- what cannot be told ---------------------------------------------------------------------------------------------------------


def hears_all_is_doubtful(pair: Pair, act: Callable[[Postgres], object]) -> bool:
    one, other = pair
    for store in (one, other, one):
        with store.exclusive():
            store.others()
    other.set_fact("harmless", 1)
    with one.exclusive() as changed:
        assert (changed, one.others()) == (True, postgres_turns.NOTHING)
    act(other)
    with one.exclusive() as changed:
        assert changed
        return one.others() is None


def take_nothing(store: Postgres) -> None:
    with closing(open_sqlite("memory:")) as empty:
        store.take_projections(empty)


ACTS: dict[str, Callable[[Postgres], object]] = {
    "forget": lambda store: store.forget(["obs_1"]),
    "rewrite": lambda store: store.rewrite([Kept(record(1))]),
    "unlist": lambda store: store.unlist([], ["obs_1"]),
    "drop_blobs": lambda store: store.drop_blobs([1]),
    "shrink": lambda store: store.shrink(),
    "take_projections": lambda store: take_nothing(store),
}


@pytest.mark.parametrize("act", ACTS)
def test_what_takes_away_or_writes_over_makes_others_doubt_everything(pair: Pair, act: str) -> None:
    assert hears_all_is_doubtful(pair, ACTS[act])


def test_what_does_not_say_what_it_writes_does_so_too(pair: Pair) -> None:
    def written(store: Postgres) -> None:
        with store._server.writing() as connection:
            connection.execute("DELETE FROM refs")

    assert hears_all_is_doubtful(pair, written)


def test_a_turn_that_wrote_very_much_is_not_told_row_by_row(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_turns, "MOST", 10)
    assert not hears_all_is_doubtful(pair, lambda store: store.append((), Changes(keys={(key, 0, "x"): True for key in range(10)})))
    assert hears_all_is_doubtful(pair, lambda store: store.append((), Changes(keys={(key, 0, "x"): True for key in range(11)})))


def test_a_writer_of_the_version_before_is_one_that_says_nothing(pair: Pair) -> None:
    def write(store: Postgres) -> None:
        with psycopg.connect(cluster().url) as connection:
            connection.execute(f'UPDATE "{store._server.schema}".writes SET number = number + 1')

    assert hears_all_is_doubtful(pair, write)
    assert hears_all_is_doubtful(pair, lambda store: (write(store), store.set_fact("harmless", 2)))


def test_who_was_away_for_many_turns_doubts_everything_and_old_entries_go(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_turns, "KEPT", 4)
    assert not hears_all_is_doubtful(pair, lambda store: [store.set_fact("harmless", number) for number in range(4)])
    assert hears_all_is_doubtful(pair, lambda store: [store.set_fact("harmless", number) for number in range(20)])
    assert 4 <= entries(pair[0]) <= 9


def test_who_is_alone_tells_nobody(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_turns, "ALONE", -1.0)
    for number in range(3):
        pair[0].set_fact("harmless", number)
    assert entries(pair[0]) == 0
    monkeypatch.undo()
    assert not hears_all_is_doubtful(pair, lambda store: store.set_fact("harmless", 5))
    assert entries(pair[0]) > 0


# -- turns that came to nothing --------------------------------------------------------------------------------------------------


class Broken(Exception):
    pass


def fails(store: Postgres, seen: Sequence[Observation]) -> None:
    """All of it is written, and then taken back."""
    with pytest.raises(Broken), store.exclusive():
        Ingest(store).step(seen)
        raise Broken


def test_a_turn_that_another_took_back_is_as_if_it_had_never_been(pair: Pair) -> None:
    seen = [*seen_in("anthropic/subtask-three-parallel"), *seen_in("anthropic/early-child")]
    one, other = map(Ingest, pair)
    for start in range(0, len(seen), 6):
        fails(pair[1], seen[start : start + 6])
        one.step(seen[start : start + 3])
        other.step(seen[start + 3 : start + 6])
    assert as_alone(pair[0]) == []


def test_who_heard_of_others_in_a_turn_that_came_to_nothing_has_not_heard(pair: Pair) -> None:
    one, other = pair
    assert not hears_all_is_doubtful(pair, lambda store: store.set_fact("harmless", 1))
    other.append((), Changes(rows={("lines", "a"): Line("a")}))
    with pytest.raises(Broken), one.exclusive() as changed:
        assert changed
        raise Broken
    with one.exclusive() as changed:
        assert (changed, one.others()) == (True, None)


def test_news_that_waited_for_one_who_decides_are_not_lost_with_a_turn(pair: Pair) -> None:
    one, other = pair
    assert not hears_all_is_doubtful(pair, lambda store: store.set_fact("harmless", 1))
    other.append((), Changes(rows={("lines", "a"): Line("a")}))
    one.set_fact("harmless", 2)
    with one.exclusive() as changed:
        assert (changed, one.others()) == (True, Others(frozenset({("lines", "a")}), frozenset()))
    other.append((), Changes(rows={("lines", "b"): Line("b")}))
    one.set_fact("harmless", 3)
    with suppress(Broken), one.exclusive():
        raise Broken
    with one.exclusive() as changed:
        assert (changed, one.others()) == (True, None)


def test_a_connection_that_is_lost_takes_what_is_remembered_with_it(pair: Pair) -> None:
    seen = [*seen_in("anthropic/subtask-three-parallel"), *seen_in("a2a/v1-refine")]
    one, other = map(Ingest, pair)
    found = heard_by(pair[0])
    for start in range(0, len(seen) - 6, 6):
        one.step(seen[start : start + 3])
        other.step(seen[start + 3 : start + 6])
        with psycopg.connect(cluster().url, autocommit=True) as connection:
            assert pair[0]._server._writer is not None
            connection.execute("SELECT pg_terminate_backend(%s)", (pair[0]._server._writer.info.backend_pid,))
        with pytest.raises(StoreDown):
            one.step(seen[start + 6 : start + 7])
    assert set(found) == {None}
    one.step(seen)
    assert as_alone(pair[0]) == []


def test_turns_that_a_server_lost_with_its_last_moments_are_not_taken_for_those_that_came_instead(tmp_path: Path) -> None:
    """A replica takes over, behind a pooler that nobody notices, and had not heard of the last turn: the next one is another."""
    first, second = (f"took_over_{schema_of(tmp_path)[-16:]}_{number}" for number in range(2))
    with psycopg.connect(cluster().url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {first}")
    address = f"postgresql://ramify@127.0.0.1:{cluster().port}"
    seen = [*seen_in("anthropic/subtask-three-parallel"), record(1, b'{"text": "' + b"z" * 5000 + b'"}')]
    store = open_postgres(f"{address}/{first}")
    one = Ingest(store)
    one.step(seen[:4])
    assert store._server._writer is not None
    store._server._writer.close()
    store._server._readers.drop()
    with psycopg.connect(cluster().url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {second} TEMPLATE {first}")
    one.step([*seen[4:8], seen[-1]])  # is lost
    replica = open_postgres(f"{address}/{second}")
    Ingest(replica).step(seen[8:10])
    store._server.url = f"{address}/{second}"
    store._server._readers.drop()
    store._server._writer.close()
    store._server._writer = store._server._connect()
    one.step(seen[4:])
    assert {each.id: each for each in log_of(replica)} == {each.id: each for each in seen}
    assert as_alone(replica) == []
    store.close()
    replica.close()


# -- what others take away -------------------------------------------------------------------------------------------------------


def test_a_conversation_that_another_forgets_is_not_gone_on_with_from_memory(pair: Pair) -> None:
    """It goes on here, as one of which only the end was seen."""
    gone, stays = seen_in("anthropic/subtask-three-parallel"), seen_in("anthropic/early-child")
    one = Ingest(pair[0])
    one.step([*gone[: len(gone) // 2], *stays[: len(stays) // 2]])
    Ingest(pair[1]).step(stays[len(stays) // 2 :][:2])
    going(pair[1], names_of("anthropic/subtask-three-parallel"))
    one.step([*gone[len(gone) // 2 :], *stays])
    assert {each.id for each in log_of(pair[0])} == {each.id for each in [*gone[len(gone) // 2 :], *stays]}
    assert as_alone(pair[0]) == []


def test_pieces_that_another_swept_are_put_again(pair: Pair) -> None:
    body = b'{"text": "' + b"y" * 5000 + b'"}'
    one, other = pair
    one.append([Kept(record(1, body))], Changes())
    other.forget(["obs_1"])
    assert sweep(other) == 1
    one.append([Kept(record(2, body))], Changes())
    assert [each.body for each in log_of(other)] == [body]  # type: ignore[union-attr]


def test_rows_that_another_derived_again_are_read_again(pair: Pair) -> None:
    seen = seen_stories()[:60]
    one = Ingest(pair[0])
    one.step(seen[:30])
    with psycopg.connect(cluster().url) as connection:  # as an older version left them
        connection.execute(f'UPDATE "{pair[0]._server.schema}".calls SET task = \'\'')
    rebuild(pair[1], Rules(), Prices(), False, lambda done, total: None)
    found = heard_by(pair[0])
    one.step(seen[30:])
    assert found == [None]
    assert as_alone(pair[0]) == []


def test_a_writer_leaves_a_server_that_takes_nothing_and_finds_the_one_that_does() -> None:
    """After a failover a connection may lead to what is a standby now; it answers everything and stores nothing."""
    url = cluster().url.replace("/postgres", "/failing_over")
    with psycopg.connect(cluster().url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE failing_over")
        with closing(open_postgres(url)) as store:
            told(store, seen_in("anthropic/early-child"))
            connection.execute("ALTER DATABASE failing_over SET default_transaction_read_only = on")
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'failing_over'")
            ingest, rest = Ingest(store), seen_in("claude/nested")
            said = []
            for _ in range(3):
                with pytest.raises(StoreDown) as down:
                    ingest.step(rest)
                said.append(str(down.value))
            assert "read-only" in said[-1]
            assert len(list(store.observations())) == len(seen_in("anthropic/early-child"))
            connection.execute("ALTER DATABASE failing_over RESET default_transaction_read_only")
            with suppress(StoreDown):  # by the connection that it still has
                ingest.step(rest)
            ingest.step(rest)
            assert as_alone(store) == []
            assert ingest.unlinked == ingest.lost == 0
