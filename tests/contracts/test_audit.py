"""The audit on every engine: found by who and what, page by page, and left alone by all that rebuilds, forgets and copies."""

from pathlib import Path

import pytest

from ramify.copying import copy
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.logins import Login, drop_logins, keep_login, place_of, read_logins
from ramify.model.audit import Noted, audit_record
from ramify.model.identity import LOCAL
from ramify.model.observation import Record
from ramify.model.token import digest_of
from ramify.query.audit import Wanted, audit
from ramify.query.errors import BadQuestion, NotFound
from ramify.query.observed import observed
from ramify.rebuild import rebuild
from ramify.retention import Keeper, Kept
from ramify.storage.base import Store
from ramify.storage.sqlite import open_sqlite
from ramify.tokens import Tokens, read_tokens
from ramify.tokens import Wanted as WantedToken
from tests.test_forgetting import quiet, secret

START = 1_700_000_000_000_000


def lines() -> list[Record]:
    """Several of one moment: pages must not lose or repeat any."""
    acts = [("ann", "link"), ("bob", "forget"), ("ann", "sql"), ("ann", "forget"), ("bob", "link"), ("ann", "export"), ("cy", "link")]
    return [
        audit_record(Noted(who, act, f"task_{number}"), "one" if number % 2 else "two", START + min(number, 4), str(number))
        for number, (who, act) in enumerate(acts)
    ]


def whole(store: Store, wanted: Wanted, limit: int = 50) -> list[str]:
    """All pages, newest first; of one moment in any order."""
    found: list[str] = []
    cursor: str | None = None
    while True:
        answer = audit(store, wanted, limit, cursor)
        assert len(answer["items"]) <= limit
        found += [item["what"] for item in answer["items"]]
        cursor = answer["next"]
        if cursor is None:
            return found


def test_it_is_found_and_outlives_everything(store: Store, tmp_path: Path) -> None:
    ingest = Ingest(store)
    ingest.step([*lines(), *secret("marzipan")])
    every = {f"task_{number}" for number in range(7)}
    for limit in (1, 2, 3, 7, 50):
        found = whole(store, Wanted(), limit)
        assert found[3:] == ["task_3", "task_2", "task_1", "task_0"]
        assert set(found) == every
        assert len(found) == 7
    assert set(whole(store, Wanted(who="ann"), 2)) == {"task_0", "task_2", "task_3", "task_5"}
    assert set(whole(store, Wanted(act="link"), 1)) == {"task_0", "task_4", "task_6"}
    assert whole(store, Wanted(who="bob", act="link")) == ["task_4"]
    assert whole(store, Wanted(since=START + 1, until=START + 2)) == ["task_2", "task_1"]
    assert set(whole(store, Wanted(projects=frozenset(["one"])), 1)) == {"task_1", "task_3", "task_5"}
    assert whole(store, Wanted(projects=frozenset(["three"]))) == []

    rebuild(store, Rules(), Prices(), False, quiet)
    assert set(whole(store, Wanted())) == every
    keeper = Keeper(store, Rules(), Prices(), "command")
    assert keeper.forget(["marzipan-session"], "default", False, quiet)["observations"] > 0
    keeper = Keeper(store, Rules(), Prices(), "retention")
    Ingest(store).step(secret("nougat"))
    assert keeper.prune(Kept(older_than=1), False, quiet)["observations"] > 0
    assert set(whole(store, Wanted(), 2)) == every
    assert set(whole(store, Wanted(act="link"))) == {"task_0", "task_4", "task_6"}
    assert store.count("observations") == 7

    target = open_sqlite(f"sqlite:{tmp_path}/copy.db")
    assert copy(store, target, Rules(), Prices(), quiet)["verified"]
    assert whole(target, Wanted(who="cy")) == ["task_6"]
    target.close()


def test_every_engine_keeps_tokens_and_logins(store: Store) -> None:
    at = START
    tokens = Tokens(store, lambda: at)
    token, secret = tokens.create(WantedToken("ci", ["read"], ["one"]), LOCAL)
    assert read_tokens(store) == [token]
    revoked = tokens.revoke("ci", LOCAL)
    assert read_tokens(store) == [revoked]
    assert not revoked.opens(digest_of(secret), at)
    login = Login(credential=digest_of(secret), opened=at, seen=at, until=at + 1)
    keep_login(store, place_of("x"), login)
    assert read_logins(store) == {place_of("x"): login}
    rebuild(store, Rules(), Prices(), False, quiet)
    assert (read_tokens(store), read_logins(store)) == ([revoked], {place_of("x"): login})
    drop_logins(store, [place_of("x")])
    assert read_logins(store) == {}


def test_it_is_told_to_nobody_who_asks_for_observations() -> None:
    store = open_sqlite("memory:")
    Ingest(store).step(lines())
    for seen in lines():
        with pytest.raises(NotFound):
            observed(store, seen.id)
    assert store.count_unreadable() == 0


@pytest.mark.parametrize("cursor", ["x", "1", "1.", ".1", "1.x", "٣.1", "1" * 60 + ".1"])
def test_a_cursor_that_is_none_is_refused(cursor: str) -> None:
    with pytest.raises(BadQuestion):
        audit(open_sqlite("memory:"), Wanted(), 5, cursor)


def test_what_is_rare_is_looked_for_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramify.query.audit.MOST_LOOKED", 10)
    store = open_sqlite("memory:")
    noted = [Noted("ann", "sql" if number else "forget", f"task_{number}") for number in range(35)]
    Ingest(store).step([audit_record(each, "", START + number, "x") for number, each in enumerate(noted)])
    answer = audit(store, Wanted(who="ann", act="forget"), 5)
    assert (answer["items"], answer["looked"]) == ([], 10)
    assert whole(store, Wanted(who="ann", act="forget"), 5) == ["task_0"]
