"""Forgetting as people meet it: by command, over HTTP, as time goes by, and with transcripts that are still there."""

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bench.traffic import traffic
from ramify.app import Ramify
from ramify.cli.main import main
from ramify.diagnosis import checks
from ramify.event_log import EventLog
from ramify.forgetting import UNSWEPT, forgotten, notes
from ramify.indexing import Indexer
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.entity import Conversation, Task
from ramify.model.ids import session_conversation_id
from ramify.query.errors import NotFound
from ramify.retention import Keeper, Kept, named
from ramify.settings import load
from ramify.spool import Spool
from ramify.standing import Standing
from ramify.storage.base import Store
from ramify.storage.sqlite import open_sqlite
from ramify.wiring import now, open_store
from tests.capture.transcripts import SESSION, append, line, session
from tests.contracts.engines import ENGINES
from tests.test_following import followed, until
from tests.test_forgetting import quiet, secret, seen_in, told
from tests.web.test_events import REQUEST, client, serving


def keeper(store: Store) -> Keeper:
    return Keeper(store, Rules(), Prices(), "command")


def sessions(store: Store) -> set[str]:
    return {row.session for row in store.docs("conversations") if isinstance(row, Conversation)}


def recent(word: str, ago: int) -> list[Any]:
    """The same story, some seconds ago."""
    first = now() - ago * 1_000_000
    return [replace(seen, at=seen.at + first) for seen in secret(word)]


def test_what_gave_no_sign_of_life_for_long_goes(store: Store) -> None:
    told(store, [*recent("marzipan", 5000), *recent("nougat", 100)])
    assert keeper(store).prune(Kept(9000), False, quiet)["observations"] == 0
    dry = keeper(store).prune(Kept(1000), True, quiet)
    assert (dry["observations"], sessions(store)) == (16, {"marzipan-session", "nougat-session"})
    assert keeper(store).prune(Kept(1000, project="another"), False, quiet)["forgotten"] == []
    assert keeper(store).prune(Kept(1000), False, quiet)["observations"] == 16
    assert sessions(store) == {"nougat-session"}


def test_the_oldest_go_until_the_store_is_small_enough(tmp_path: Path) -> None:
    store = open_sqlite(f"sqlite:{tmp_path}/store.db")
    words = [f"word{number:02}" for number in range(30)]
    told(store, [seen for number, word in enumerate(words) for seen in recent(word, 9000 - number * 100)])
    empty = open_sqlite(f"sqlite:{tmp_path}/empty.db")
    bound = (store.size()["bytes"] + empty.size()["bytes"]) // 2
    assert keeper(store).prune(Kept(max_size=store.size()["bytes"]), False, quiet)["forgotten"] == []
    answer = keeper(store).prune(Kept(max_size=bound), False, quiet)
    assert answer["size"] <= bound
    left = sorted(name.removesuffix("-session") for name in sessions(store))
    assert 0 < len(left) < 30
    assert left == words[-len(left) :]
    store.close()
    empty.close()


def short(number: int) -> list[Any]:
    """A conversation of a single call; the first is the oldest."""
    return [replace(seen, at=seen.at + number * 1_000_000) for seen in secret(f"brief{number:03}")[:2]]


@pytest.mark.parametrize("engine", [name for name in ENGINES if ENGINES[name].lasting])
def test_no_more_goes_than_must_and_a_second_time_nothing(engine: str, tmp_path: Path) -> None:
    """Where room that was given up stays in the files, what counts is what is stored."""
    if ENGINES[engine].missing:
        pytest.skip(ENGINES[engine].missing)
    store = ENGINES[engine].open(tmp_path)
    told(store, [seen for batch in traffic(200, turns=5, width=1) for seen in batch])
    Indexer(store).catch_up()
    store.shrink()
    bound = int(0.8 * store.in_use())
    first = keeper(store).prune(Kept(max_size=bound), False, quiet)
    assert 0.8 * bound < first["in_use"] <= bound
    assert store.search.indexed() == store.seq()
    assert 0 < len(first["forgotten"]) <= 0.2 * 40 / 0.8 + 2
    for _ in range(2):
        again = keeper(store).prune(Kept(max_size=bound), False, quiet)
        assert (again["forgotten"], again["in_use"] <= bound) == ([], True)
    store.close()


def test_short_conversations_count_for_what_they_take(tmp_path: Path) -> None:
    """A long one repeats its beginning with every request: by what was seen, all short ones together would be nothing."""
    store = open_sqlite(f"sqlite:{tmp_path}/store.db")
    told(store, [seen for number in range(150) for seen in short(number)])
    told(store, [seen for batch in traffic(120, turns=60, width=2) for seen in batch])
    bound = int(0.9 * store.in_use())
    answer = keeper(store).prune(Kept(max_size=bound), False, quiet)
    assert 0.8 * bound < answer["in_use"] <= bound
    store.close()


def test_room_that_could_not_be_given_back_is_given_back_later(tmp_path: Path) -> None:
    """A reader that does not end keeps the write-ahead log; what was forgotten is gone from the store all the same."""
    store = open_sqlite(f"sqlite:{tmp_path}/store.db", busy_seconds=0.2)
    told(store, [*secret("marzipan"), *secret("nougat")])
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM observations").fetchall()
        answer = keeper(store).forget(["marzipan-session"], "default", False, quiet)
        assert (answer["observations"], "write-ahead" in answer["left"]) == (16, True)
        assert sessions(store) == {"nougat-session"}
    again = keeper(store).prune(Kept(now() // 1_000_000), False, quiet)
    assert (again["observations"], again["left"], store.fact(UNSWEPT)) == (0, "", None)
    assert not any(b"marzipan" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    store.close()


def test_any_id_of_a_conversation_names_it(store: Store) -> None:
    told(store, [*seen_in("claude/nested"), *seen_in("events/async_fanout"), *seen_in("sam/workflow")])
    for table in ("calls", "tasks", "tools"):
        for row in list(store.docs(table))[:5]:
            assert isinstance(store.load("conversations", named(store, row.id, "default")), Conversation)
    operations = {named(store, row.id, "default") for row in store.docs("operations")}
    assert operations == {row.id for row in store.docs("sessions")}
    with pytest.raises(NotFound):
        named(store, "nothing", "default")
    keeper(store).forget(sorted(operations), "default", False, quiet)
    assert (store.count("events"), store.count("operations"), store.count("sessions")) == (0, 0, 0)
    assert store.count("calls") > 0


def test_a_conversation_of_the_event_log_goes_by_its_own_id_and_another_session_of_the_same_operation_stays(store: Store) -> None:
    log = EventLog(store, lambda batch: Ingest(store).step(list(batch)), "default", now)
    event = {"eventType": "protocol_request", "operationId": "op1", "agentId": "x", "taskType": "sync", "callId": "c1"}
    for name in ("mine", "theirs"):
        assert log.append_many(name, [event])[0].status == "stored"
    goes, stays = sorted({row.conversation for row in store.docs("tasks") if isinstance(row, Task)})
    assert keeper(store).forget([goes], "default", False, quiet)["observations"] == 1
    assert {row.conversation for row in store.docs("tasks") if isinstance(row, Task)} == {stays}


def test_a_transcript_that_is_followed_does_not_bring_it_back(tmp_path: Path, store: Store) -> None:
    path = session(tmp_path / "claude", line(1), line(2))
    with followed(store, tmp_path / "claude") as following:  # type: ignore[arg-type]
        until(lambda: store.count("observations") == 2)
        keeper(store).forget([SESSION], "default", False, quiet)
        append(path, line(3))
        following.caught_up.clear()
        until(following.caught_up.is_set)
    assert store.count("observations") == 0
    with followed(store, tmp_path / "claude") as following:  # type: ignore[arg-type]
        until(following.caught_up.is_set)
    assert store.count("observations") == 0


def test_whoever_imports_it_again_has_all_of_it_again(tmp_path: Path) -> None:
    path = session(tmp_path / "claude", line(1), line(2))
    ramify = Ramify.open(f"sqlite:{tmp_path}/store.db")
    ramify.import_paths([path], "auto", quiet)
    ramify.forget([SESSION], False, quiet)
    id = session_conversation_id("default", SESSION)
    assert forgotten(ramify.store) == {id}
    assert ramify.import_paths([path], "auto", quiet)["new"] == 2
    assert forgotten(ramify.store) == set()
    [(noted, note)] = notes(ramify.store)
    assert (noted, note.by, note.back > note.at) == (id, "command", True)
    ramify.close()


def test_what_waits_in_the_spool_is_forgotten_as_well(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/store.db"
    store = open_store(url)
    seen = secret("marzipan")
    Ingest(store).step(seen[:4])
    store.close()
    spool = Spool(tmp_path / "store.db.spool", 2**20)
    spool.append(seen[4:])
    ramify = Ramify.open(url)
    assert ramify.forget(["marzipan-session"], False, quiet)["observations"] == len(seen)
    assert not any(b"marzipan" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    ramify.close()


def test_the_command_forgets_and_lists_what_it_forgot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:{tmp_path}/store.db"
    store = told(open_store(url), [*secret("marzipan"), *secret("nougat")])
    store.close()
    assert main(["forget", "marzipan-session", "--store", url, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["observations"], answer["dry_run"], len(answer["forgotten"])) == (16, False, 1)
    assert main(["forget", "--list", "--store", url]) == 0
    listed = capsys.readouterr().out
    assert answer["forgotten"][0] in listed
    assert "by command, 16 observations" in listed
    assert "marzipan" not in listed
    assert main(["forget", "--store", url]) != 0
    assert main(["prune", "--store", url]) != 0
    assert main(["prune", "--older-than", "1d", "--store", url]) == 0
    assert "1 conversation forgotten: 16 observations" in capsys.readouterr().out
    assert main(["prune", "--max-size", "1GiB", "--store", url]) == 0
    assert "what is stored now takes " in capsys.readouterr().out


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_server_forgets_when_it_is_asked_to(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if ENGINES[engine].missing:
        pytest.skip(ENGINES[engine].missing)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    async with serving(ENGINES[engine].address(tmp_path)) as (served, address), client(address) as mine:
        await mine.post(REQUEST)
        for seen in (*secret("marzipan"), *secret("nougat")):
            served.observe(seen)
        await asyncio.to_thread(until, lambda: served.store.count("calls") == 16)
        foreign = {"origin": "http://elsewhere.example"}
        await mine.ask("DELETE", "/api/conversations/marzipan-session", 403, headers=foreign)
        answer = await mine.ask("DELETE", "/api/conversations/marzipan-session")
        assert answer["observations"] == 16
        await mine.ask("GET", "/api/conversations/marzipan-session", 404)
        await mine.ask("DELETE", "/api/conversations/marzipan-session", 404)
        [note] = (await mine.ask("GET", "/api/forgotten"))["items"]
        assert (note["id"], note["by"], note["observations"]) == (answer["forgotten"][0], "api", 16)
        for seen in secret("praline"):  # the writer goes on, by what is stored now
            served.observe(seen)
        await asyncio.to_thread(until, lambda: served.store.count("calls") == 16)
        assert sessions(served.store) >= {"nougat-session", "praline-session"}


async def test_a_server_forgets_what_is_too_old_by_itself(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/store.db"
    told(open_store(url), [*recent("marzipan", 200_000), *recent("nougat", 100)]).close()
    async with serving(url, retention=3600) as (served, _):
        await asyncio.to_thread(until, lambda: sessions(served.store) == {"nougat-session"})
        await asyncio.to_thread(until, lambda: {note.by for _, note in notes(served.store)} == {"retention"})


async def test_health_and_doctor_say_when_the_store_is_too_large(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/store.db"
    async with serving(url, store_limit=1000) as (served, address), client(address) as mine:
        served.health()
        await asyncio.to_thread(until, lambda: served.health()["status"] == "degraded")
        health = await mine.ask("GET", "/api/health")
        assert health["store_bytes"] > health["store_limit"] == 1000
    settings = load({"store": url, "store_limit": "1kb"}, {})
    store = open_store(url)
    [size] = [check for check in checks(store, settings) if check["check"] == "size"]
    assert (size["status"], "ramify prune" in size["hint"]) == ("warn", True)
    [size] = [check for check in checks(store, replace(settings, store_limit=2**40)) if check["check"] == "size"]
    assert size["status"] == "ok"
    store.close()


def test_nobody_waits_to_hear_how_a_store_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_sqlite("memory:")
    size = store.size

    def slow() -> dict[str, int]:
        time.sleep(0.2)
        return size()

    monkeypatch.setattr(store, "size", slow)
    standing = Standing(store, seconds=0.1)
    began = time.monotonic()
    assert (standing.bytes(), standing.engine()) == (0, None)
    assert time.monotonic() - began < 0.1
    until(lambda: standing.engine() is not None)
    assert standing.bytes() == size()["bytes"]
    store.close()


def test_as_time_goes_by_whole_days_go(store: Store) -> None:
    """What is older than so many seconds, but of a day that is not over by as much, waits; who asks is taken at their word."""
    day = 24 * 3600
    into = now() // 1_000_000 % day
    told(store, [*recent("marzipan", into + day + 30), *recent("xylophonic", into + 40)])
    Keeper(store, Rules(), Prices(), "retention").prune(Kept(older_than=into + 20), False, quiet)
    assert sessions(store) == {"xylophonic-session"}
    keeper(store).prune(Kept(older_than=into + 20), False, quiet)
    assert sessions(store) == set()
