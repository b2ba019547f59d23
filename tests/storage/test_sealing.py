"""Bodies that are encrypted at rest: they come back, nobody reads them without the key, and nothing is lost over a wrong one."""

import asyncio
import base64
import json
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bench.ports import free_port
from ramify.app import Ramify, copy_store
from ramify.cli.running import captured
from ramify.diagnosis import checks
from ramify.exporting.wish import Wish
from ramify.indexing import Indexer
from ramify.ingest import Ingest
from ramify.model.mistake import UserMistake
from ramify.model.observation import Observation, Request, Response
from ramify.query.narrowed import Narrowed
from ramify.query.service import Questions
from ramify.settings import Settings
from ramify.spool import OWN_KEY, Spool
from ramify.storage.base import StoreDown
from ramify.storage.later import later
from ramify.storage.sealing import FACT, SEALED, Sealer, keep_key, kept_sealer, user_key
from ramify.wiring import open_store, sealer_beside
from tests.contracts.engines import ENGINES, derived, difference, log_of, stories_for, told
from tests.peers.served import environment, serve

KEY, OTHER = "ab" * 32, base64.b64encode(b"other key of thirty-two bytes...").decode()
CANARY = "xylophonic marzipan"
BEGINNING = "so many words of an answer stand in its row, by which one that was cut off is known again " * 2
LASTING = [name for name, engine in ENGINES.items() if engine.lasting]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMIFY_ENCRYPTION_KEY", KEY)


@pytest.fixture(params=LASTING)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    engine = ENGINES[request.param]
    if engine.missing:
        assert not os.environ.get("CI"), engine.missing
        pytest.skip(engine.missing)
    return engine.address(tmp_path)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path}/store.db"


def quiet(done: int, total: int) -> None:
    pass


def conversation(canary: str = CANARY, name: str = "one", turns: int = 4) -> list[Observation]:
    """The canary stands in tool results, in later messages and in answers, each longer and shorter than what is cut out."""
    found: list[Observation] = []
    messages: list[Any] = [{"role": "user", "content": f"count the files of {name}"}]
    for turn in range(turns):
        id = f"obs_{name}{turn}"
        body = json.dumps({"model": "m", "system": f"{canary} rules", "messages": messages}).encode()
        headers = (("x-claude-code-session-id", f"{name}-session"),)
        found.append(Request(id, "default", 1_000_000 * turn + 1, "test", id, "POST", "/v1/messages", headers, body))
        said = [{"type": "text", "text": f"{turn} {BEGINNING} {canary}"}, {"type": "tool_use", "id": f"{name}{turn}", "name": "Bash", "input": {"command": "ls"}}]
        raw = json.dumps({"id": f"msg_{name}{turn}", "type": "message", "role": "assistant", "content": said}).encode()
        found.append(Response(f"{id}a", "default", 1_000_000 * turn + 9, "test", id, "/v1/messages", 200, (), raw, "complete"))
        result = f"{turn} {canary} " * (200 if turn % 2 else 12)
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"{name}{turn}", "content": result}]}]
    return found


def on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def canaries(folder: Path) -> bool:
    raw = on_disk(folder)
    return any(word.encode() in raw for word in CANARY.split())


def kinds(folder: Path) -> list[int]:
    with closing(sqlite3.connect(folder / "store.db")) as file:
        return [kind for (kind,) in file.execute("SELECT kind FROM blobs UNION ALL SELECT body_kind FROM observations WHERE length(body) > 0")]


def flipped(kind: int, body: bytes) -> tuple[int, bytes]:
    return kind, body[:-1] + bytes((body[-1] ^ 1,))


def renamed(kind: int, body: bytes) -> tuple[int, bytes]:
    return kind ^ 1, body


def of_another_key(kind: int, body: bytes) -> tuple[int, bytes]:
    return kind, bytes(4) + body[4:]


def told_to(url: str, seen: list[Observation]) -> None:
    with closing(open_store(url)) as store:
        told(store, seen)


# -- every engine ------------------------------------------------------------------------------------------------------


def test_what_is_sealed_comes_back_and_follows_as_if_it_were_not(address: str, tmp_path: Path) -> None:
    seen = [*stories_for(address)[:120], *conversation()]
    told_to(address, seen)
    with closing(open_store(address)) as again, closing(open_store("memory:")) as plain:
        assert again.sealer is not None
        told(plain, seen)
        assert log_of(again) == log_of(plain)
        assert again.observation(conversation()[-1].id) == conversation()[-1]
        assert all(kind & SEALED for _, kind, body in again.bodies(0, 1000) if body)
        assert difference(derived(again), derived(plain)) == []
        assert len(again.blobs(0, 10_000)) == len(plain.blobs(0, 10_000)), "each piece is kept once"
        Ingest(again).step(conversation(turns=6)[8:])
        Ingest(plain).step(conversation(turns=6)[8:])
        assert len(again.blobs(0, 10_000)) == len(plain.blobs(0, 10_000)), "what an earlier process stored is known again"


def test_without_the_key_or_with_another_nothing_opens_and_nothing_is_lost(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told_to(address, conversation())
    monkeypatch.setenv("RAMIFY_ENCRYPTION_KEY", OTHER)
    with pytest.raises(UserMistake, match="with another key — set RAMIFY_ENCRYPTION_KEY_FILE"):
        open_store(address)
    monkeypatch.delenv("RAMIFY_ENCRYPTION_KEY")
    with pytest.raises(UserMistake, match="there is no key — set RAMIFY_ENCRYPTION_KEY_FILE"):
        open_store(address)
    monkeypatch.setenv("RAMIFY_ENCRYPTION_KEY", KEY)
    with closing(open_store(address)) as store:
        assert log_of(store) == conversation()


def test_a_new_key_opens_what_the_old_one_sealed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told_to(address, conversation())
    monkeypatch.setenv("RAMIFY_NEW_ENCRYPTION_KEY", OTHER)
    with closing(Ramify(open_store(address), Settings(store=address))) as ramify:
        ramify.rekey()
    with pytest.raises(UserMistake, match="another key"):
        open_store(address)
    monkeypatch.setenv("RAMIFY_ENCRYPTION_KEY", OTHER)
    with closing(open_store(address)) as store:
        assert log_of(store) == conversation()


def test_forgetting_redacting_rebuilding_and_sweeping(address: str) -> None:
    told_to(address, [*conversation(), *conversation("persimmon", "other")])
    with closing(Ramify(open_store(address), Settings(store=address))) as ramify:
        store = ramify.store
        before = derived(store)
        ramify.rebuild(False, quiet)
        assert difference(before, derived(store)) == []
        assert ramify.redact({"texts": [CANARY], "rules": [], "patterns": []}, False, quiet)["observations"] > 4
        assert not any(CANARY.encode() in getattr(seen, "body", b"") for seen in log_of(store))
        [exported] = [b"".join(ramify.exports.offer(row.id, Wish("markdown"), quiet).pieces) for row in store.docs("conversations") if getattr(row, "session", "") == "other-session"]
        assert b"persimmon" in exported
        held = len(store.blobs(0, 1000))
        ramify.forget([next(row.id for row in store.docs("conversations") if getattr(row, "session", "") == "other-session")], False, quiet)
        assert {seen.id[:8] for seen in log_of(store) if isinstance(seen, Request)} == {"obs_one0", "obs_one1", "obs_one2", "obs_one3"}
        assert 0 < len(store.blobs(0, 1000)) < held
        assert all(kind & SEALED for _, kind, body in store.bodies(0, 1000) if body)


# -- one file ----------------------------------------------------------------------------------------------------------


def test_no_word_of_a_body_stands_in_any_file(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(open_store(url)) as store:
        told(store, conversation())
        Indexer(store).catch_up()
        Spool(tmp_path / "spool", 1 << 20, store.sealer).append(conversation(name="spooled"))
        assert not canaries(tmp_path)
        assert Spool(tmp_path / "spool", 1 << 20, store.sealer).read(99) == conversation(name="spooled")
    assert not canaries(tmp_path)
    monkeypatch.delenv("RAMIFY_ENCRYPTION_KEY")
    plain = tmp_path / "plain"
    told_to(f"sqlite:{plain}/store.db", conversation())
    assert canaries(plain), "the canary would not have been seen"


def test_the_index_is_filled_only_for_who_asks(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = lambda store: [check["message"] for check in checks(store, Settings(store=url)) if check["check"] == "encryption"]  # noqa: E731
    with closing(open_store(url)) as store:
        told(store, conversation())
        assert (Indexer(store).catch_up(), store.search.find('"marzipan"', 9, None)) == (0, [])
        assert "not in the search index" in said(store)[0]
        monkeypatch.setattr("ramify.diagnosis.BEHIND", 1)
        [search] = [check for check in checks(store, Settings(store=url)) if check["check"] == "search"]
        assert (search["status"], "stays so" in search["message"]) == ("ok", True)  # no server will ever catch up
        for seen in (store, Narrowed(store, frozenset({"default"}))):
            assert Questions(seen).search("marzipan")["indexing"] is False
    monkeypatch.setenv("RAMIFY_ENCRYPTION_INDEX", "yes")
    with closing(open_store(url)) as store:
        assert Indexer(store).catch_up() == 8
        assert store.search.find('"marzipan"', 9, None)
        assert "in clear" in said(store)[0]
        for seen in (store, Narrowed(store, frozenset({"default"}))):
            assert Questions(seen).search("marzipan")["indexing"] is True


def test_a_payload_that_was_changed_is_told_and_not_given(url: str, tmp_path: Path) -> None:
    told_to(url, conversation())
    with closing(sqlite3.connect(tmp_path / "store.db")) as file, file:
        held = {id: (kind, body) for id, kind, body in file.execute("SELECT id, body_kind, body FROM observations")}
        for id, change in (("obs_one3a", flipped), ("obs_one2a", renamed), ("obs_one1a", of_another_key)):
            file.execute("UPDATE observations SET body_kind = ?, body = ? WHERE id = ?", (*change(*held[id]), id))
    with closing(open_store(url)) as store:
        for id, said in (("obs_one3a", "was changed"), ("obs_one2a", "was changed"), ("obs_one1a", "not at hand")):
            with pytest.raises(StoreDown, match=said):
                store.observation(id)
        assert store.observation("obs_one0a") == conversation()[1]


def test_a_store_that_was_plain_is_sealed_from_then_on(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAMIFY_ENCRYPTION_KEY")
    told_to(url, conversation())
    assert not any(kind & SEALED for kind in kinds(tmp_path))
    monkeypatch.setenv("RAMIFY_ENCRYPTION_KEY", KEY)
    told_to(url, conversation(name="later"))
    assert {kind & SEALED for kind in kinds(tmp_path)} == {0, SEALED}
    with closing(open_store(url)) as store:
        assert log_of(store) == [*conversation(), *conversation(name="later")]


def test_copies_are_sealed_and_plain_as_asked_for(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told_to(url, conversation())
    plain, again = (f"sqlite:{tmp_path}/{name}/store.db" for name in ("plain", "again"))
    assert copy_store(url, plain, quiet, plain=True)["verified"]
    assert copy_store(plain, again, quiet)["verified"]
    assert canaries(tmp_path / "plain")
    assert not canaries(tmp_path / "again")
    with closing(open_store(url)) as one, closing(open_store(again)) as other, closing(open_store(plain, seal=False)) as middle:
        assert middle.fact(FACT) is None
        assert one.fact(FACT) != other.fact(FACT)
        assert log_of(one) == log_of(middle) == log_of(other) == conversation()
        assert one.sealer is not None
        assert other.sealer is not None
        assert one.sealer.id != other.sealer.id


def test_all_who_come_first_agree_on_one_key(url: str) -> None:
    found: list[Sealer | None] = []

    def opening() -> None:
        with closing(open_store(url, busy_seconds=20)) as store:
            found.append(store.sealer)

    threads = [threading.Thread(target=opening) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found) == 6
    assert len({sealer.id for sealer in found if sealer is not None}) == 1


def test_a_digest_tells_nothing_without_the_key(url: str, tmp_path: Path) -> None:
    with closing(open_store(url)) as one, closing(open_store(f"sqlite:{tmp_path}/other.db")) as other:
        for store in (one, other):
            told(store, conversation())
        digests = [{digest for (digest,) in store._read("SELECT digest FROM blobs")} for store in (one, other)]  # type: ignore[attr-defined]
    assert len(digests[0]) == len(digests[1]) > 3
    assert not digests[0] & digests[1]


def test_a_spool_of_another_store_is_not_thrown_away(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = Sealer(os.urandom(32))
    Spool(tmp_path / "spool", 1 << 20, stranger).append(conversation())
    with pytest.raises(UserMistake, match="key of another store"):
        Spool(tmp_path / "spool", 1 << 20)
    monkeypatch.setattr("ramify.storage.sealing._sealers", {stranger.id: stranger})
    assert Spool(tmp_path / "spool", 1 << 20).read(99) == conversation()


# -- keys --------------------------------------------------------------------------------------------------------------


def test_who_begins_while_the_store_is_away_goes_on_to_encrypt(url: str, tmp_path: Path) -> None:
    path = tmp_path / "key"
    with pytest.raises(StoreDown):
        kept_sealer(path, os.environ)
    store = open_store(url)
    keep_key(store, path)
    assert store.sealer is not None
    assert store.sealer.data_key not in path.read_bytes()
    again = kept_sealer(path, os.environ)
    assert again is not None
    assert again.data_key == store.sealer.data_key
    store.close()
    with pytest.raises(StoreDown):  # a key was there, and is not told: nothing is written in clear
        kept_sealer(path, {})


def test_what_comes_before_a_store_was_ever_open_here_waits_encrypted(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, away = tmp_path / "spool", later(url, lambda: open_store("postgresql://127.0.0.1:1/none"))
    folder.mkdir()
    spool = Spool(folder, 1 << 20, sealer_beside(folder, away))
    spool.append(conversation())
    assert CANARY.encode() not in b"".join(file.read_bytes() for file in folder.iterdir())
    assert (folder / OWN_KEY).stat().st_mode & 0o77 == 0
    monkeypatch.setattr("ramify.storage.sealing._sealers", {})  # a process that begins later, and another that has the store
    for sealer in (sealer_beside(folder, away), open_store(url).sealer):
        again = Spool(folder, 1 << 20, sealer)
        assert again.read(99) == conversation()
    assert (folder / OWN_KEY).exists()
    monkeypatch.setattr("ramify.storage.sealing._sealers", {})
    monkeypatch.setenv("RAMIFY_ENCRYPTION_KEY", OTHER)
    with pytest.raises(UserMistake, match="opens with another key"):
        Spool(folder, 1 << 20)
    monkeypatch.setenv("RAMIFY_ENCRYPTION_KEY", KEY)
    with closing(open_store(url)) as store:
        keep_key(store, folder / "key")
        last = Spool(folder, 1 << 20, sealer_beside(folder, store))
        last.drop(len(last.read(99)))
        assert (folder / OWN_KEY).exists()
        assert len(Spool(folder, 1 << 20, sealer_beside(folder, store))) == 0
        assert not (folder / OWN_KEY).exists()


def test_a_key_is_read_in_each_of_its_forms(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(KEY + "\n")
    raw = bytes.fromhex(KEY)
    for given in ({"RAMIFY_ENCRYPTION_KEY": KEY.upper()}, {"RAMIFY_ENCRYPTION_KEY": base64.urlsafe_b64encode(raw).decode()}, {"RAMIFY_ENCRYPTION_KEY_FILE": str(file)}):
        assert user_key(given) == raw
    assert user_key({}) is None


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"RAMIFY_ENCRYPTION_KEY": "hunter2-hunter2"}, "holds no key"),
        ({"RAMIFY_ENCRYPTION_KEY": "zz" * 32}, "holds no key"),
        ({"RAMIFY_ENCRYPTION_KEY_FILE": "/nowhere/key"}, "cannot be read"),
        ({"RAMIFY_ENCRYPTION_KEY": KEY, "RAMIFY_ENCRYPTION_KEY_FILE": "x"}, "both set"),
    ],
)
def test_what_is_no_key_is_refused_without_being_shown(told: dict[str, str], said: str) -> None:
    with pytest.raises(UserMistake, match=said) as problem:
        user_key(told)
    assert not any(value in str(problem.value) for value in (KEY, "hunter2-hunter2", "zz" * 32))


def test_a_program_that_is_watched_is_not_told_the_key() -> None:
    assert captured({"RAMIFY_ENCRYPTION_KEY": KEY, "HOME": "/x"}, "http://127.0.0.1:1")["HOME"] == "/x"
    assert KEY not in captured({"RAMIFY_ENCRYPTION_KEY": KEY, "RAMIFY_NEW_ENCRYPTION_KEY": KEY}, "http://127.0.0.1:1").values()


# -- processes ---------------------------------------------------------------------------------------------------------


async def test_a_server_with_the_key_captures_and_one_without_is_refused(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": BEGINNING + CANARY}]})

    upstream = web.Application()
    upstream.router.add_post("/v1/messages", answer)
    runner = web.AppRunner(upstream)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port := free_port()).start()
    folder = tmp_path / "served"
    folder.mkdir()
    try:
        async with serve(f"http://127.0.0.1:{port}", folder, RAMIFY_ENCRYPTION_KEY=KEY) as server:
            for seen in conversation():
                if isinstance(seen, Request):
                    async with server.http.post(f"{server.url}/v1/messages", data=seen.body, headers=dict(seen.headers)) as response:
                        assert CANARY in await response.text()
            await server.settled(4)
            assert not canaries(folder)
    finally:
        await runner.cleanup()
    assert not canaries(folder)
    status, said = await refused(folder)
    assert status != 0
    assert "is encrypted, and there is no key" in said
    assert len(said.strip().splitlines()) <= 2, said
    with closing(open_store(f"sqlite:{folder}/ramify.db")) as store:
        assert sum(CANARY.encode() in getattr(seen, "body", b"") for seen in log_of(store)) == 8


def test_the_commands_change_the_key_and_say_how_it_stands(url: str, tmp_path: Path) -> None:
    told_to(url, conversation())
    (tmp_path / "next").write_text(OTHER)

    def ramify(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ramify", *words, "--store", url]
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=environment(tmp_path, **variables))

    assert "there is no new key" in ramify("rekey", RAMIFY_ENCRYPTION_KEY=KEY).stderr
    done = ramify("rekey", RAMIFY_ENCRYPTION_KEY=KEY, RAMIFY_NEW_ENCRYPTION_KEY_FILE=str(tmp_path / "next"))
    assert (done.returncode, "opens with the new key" in done.stdout, OTHER in done.stdout + done.stderr) == (0, True, False)
    assert "with another key" in ramify("stats", RAMIFY_ENCRYPTION_KEY=KEY).stderr
    assert "is not indexed unless RAMIFY_ENCRYPTION_INDEX=yes" in ramify("search", "marzipan", RAMIFY_ENCRYPTION_KEY=OTHER).stderr
    found = json.loads(ramify("doctor", "--json", RAMIFY_ENCRYPTION_KEY=OTHER).stdout)
    assert [check["message"][:20] for check in found if check["check"] == "encryption"] == ["bodies are encrypted"]


async def refused(folder: Path) -> tuple[int | None, str]:
    words = ["serve", "--port", str(free_port()), "--store", f"sqlite:{folder}/ramify.db"]
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", "ramify", *words, env=environment(folder), stderr=asyncio.subprocess.PIPE)
    try:
        _, said = await asyncio.wait_for(child.communicate(), 30)
    finally:
        with suppress(ProcessLookupError):
            child.kill()
    return child.returncode, said.decode()
