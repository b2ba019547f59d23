"""A request adds keys in few places, so that what it costs does not depend on how large the index is."""

from collections import Counter

from bench.agents import sessions
from ramify.ingest import Ingest
from ramify.linking.keys import NEAR
from ramify.storage.sqlite import open_sqlite

SESSIONS, TURNS = 10, 12


def test_what_a_session_adds_stands_together_but_for_what_others_may_name() -> None:
    store = open_sqlite("memory:")
    ingest = Ingest(store)
    for turn, batch in zip(range(TURNS), sessions(0, SESSIONS), strict=False):
        ingest.step(batch)
        if turn == 0:
            before = set(store.keys_after((-(1 << 63), 0, ""), 100_000))
    added = set(store.keys_after((-(1 << 63), 0, ""), 100_000)) - before
    requests = SESSIONS * (TURNS - 1)
    alone = [place for place, count in Counter(key >> NEAR for key, _, _ in added).items() if count == 1]
    assert len(added) > 9 * requests
    assert 2 * requests <= len(alone) < 2.2 * requests  # the id of its answer and that of its request
    store.close()


def test_who_waits_for_no_answer_is_not_looked_for() -> None:
    store = open_sqlite("memory:")
    asked: list[int] = []
    between, find = store.between, store.find
    store.between = lambda first, last, most: (asked.append(first), between(first, last, most))[1]  # type: ignore[method-assign]
    store.find = lambda keys: (asked.extend(keys), find(keys))[1]  # type: ignore[method-assign]
    ingest = Ingest(store)
    batches = sessions(0, SESSIONS)
    for _ in range(2):
        ingest.step(next(batches))
    asked.clear()
    ingest.step(next(batches))
    assert len(asked) < SESSIONS
    store.close()
