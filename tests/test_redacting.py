"""What an older rule missed is taken out of a store, everywhere; and what follows is what today's rules would have given."""

import hashlib
import io
import json
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from bench.traffic import traffic
from ramify.apart import Near
from ramify.app import Ramify, copy_store
from ramify.capture import mesh_secrets, secret_coding, secret_keys, secret_words
from ramify.capture import redact as rules_module
from ramify.capture.a2a.frame import make_record, moment
from ramify.capture.chosen import RULES as NAMES
from ramify.capture.chosen import by_pattern, by_rule, by_text, chosen
from ramify.capture.cleaner import Cleaner
from ramify.capture.redact import VERSION
from ramify.cli.main import main
from ramify.forgetting import Note as Gone
from ramify.forgetting import Wish, forget
from ramify.indexing import Indexer
from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.entity import Call
from ramify.model.ids import call_id
from ramify.model.mistake import UserMistake
from ramify.model.observation import Correction, Observation, Record, Request, Response
from ramify.protocols.adcp import redact as adcp
from ramify.rebuild import BATCH, rebuild, replay
from ramify.redacting import Order, look, notes, redact
from ramify.redaction import RULES, Search
from ramify.settings import Settings
from ramify.spool import Spool
from ramify.storage.base import Store, StoreDown
from ramify.storage.sqlite import open_sqlite
from ramify.storage.sweeping import Marks, sweep
from ramify.wiring import open_store, prices_of
from tests.capture.secret_formats import FORMATS, leaks, planted
from tests.contracts.engines import ENGINES, difference
from tests.test_forgetting import seen_in, settled
from tests.test_no_secret_stays import PLANTED, files, found_in, tables

CASES = ("anthropic/subtask-three-parallel", "anthropic/fork-three-ways", "claude/nested", "a2a/v1-depth2-fanout2", "sam/workflow")
WORDS = (b" the ", b" a ", b" and ")
PLAIN = [each for each in PLANTED if not set(each.text) & set('"\\\n') and len(each.text) < 120]
"""Those that need no escape wherever they are put."""


def quiet(done: int, total: int) -> None:
    pass


def sown(seen: Observation) -> Observation:
    """With secrets in what was said: the same ones behind the same words, so that equal words stay equal."""
    if isinstance(seen, Correction):
        return seen
    body = seen.body
    for word, each in zip(WORDS, PLAIN[:: len(PLAIN) // len(WORDS)], strict=False):
        body = body.replace(word, word + each.text.encode() + b" ; ")
    return replace(seen, body=body)


@cache
def field(cases: tuple[str, ...]) -> tuple[Observation, ...]:
    return tuple({seen.id: sown(seen) for case in cases for seen in seen_in(case)}.values())


def everywhere() -> list[Observation]:
    """Every secret there is, in every place of an exchange, whatever it looks like; an answer comes in small events."""
    found: list[Observation] = []
    for number in range(6):
        lines = [f"before {each.text} after" for each in PLANTED[number::6]]
        id, path = f"obs_all{number}", f"/v1/messages?{PLAIN[number].text.replace(' ', '+')}"
        blocks = [{"type": "text", "text": "\n".join(lines)}, {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": lines}}]
        messages = [{"role": "user", "content": "\n".join(lines)}, {"role": "assistant", "content": blocks}, {"role": "user", "content": "go on"}]
        body = json.dumps({"model": "m", "system": lines[0], "messages": messages}).encode()
        headers = (("x-api-key", PLANTED[number].secrets[0]), *((f"x-note-{at}", line.replace("\n", " ")) for at, line in enumerate(lines)))
        found.append(Request(id, "default", number * 1000 + 1, "proxy", id, "POST", path, headers, body))
        answered = (("content-type", "text/event-stream"), ("set-cookie", f"s={PLANTED[number].secrets[0]}"))
        found.append(Response(f"{id}a", "default", number * 1000 + 2, "proxy", id, path, 200, answered, streamed("\n".join(lines)), "complete"))
    return found


def streamed(text: str) -> bytes:
    events: list[Any] = [{"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [], "usage": {}}}]
    events.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    events += [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text[at : at + 5]}} for at in range(0, len(text), 5)]
    events += [{"type": "content_block_stop", "index": 0}, {"type": "message_stop"}]
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


def filled(store: Store, seen: Sequence[Observation], redaction: Cleaner | None = None) -> Store:
    ingest = Ingest(store, redaction=redaction)
    for start in range(0, len(seen), BATCH):
        ingest.step(seen[start : start + BATCH])
    return store


def cleaned(store: Store, search: Search | None = None, project: str = "") -> dict[str, Any]:
    return redact(store, Rules(), Prices(), Order(search or Cleaner(), 1, "test", 0 if search else VERSION, project), quiet)


def cases_for(store: Store) -> tuple[str, ...]:
    return (CASES[0], CASES[2], CASES[4]) if store.url.startswith("clickhouse:") else CASES


def test_a_cleaned_store_is_as_one_that_todays_rules_have_filled(store: Store) -> None:
    seen = [*field(cases_for(store)), *everywhere()]
    filled(store, seen)
    assert found_in(spoken(store)) != []
    answer = cleaned(store)
    assert answer["observations"] > 20
    assert found_in(spoken(store)) == []
    other = filled(open_sqlite("memory:"), seen, Cleaner())
    assert [one for _, one in store.observations()] == [one for _, one in other.observations()]
    assert difference(settled(store), settled(other)) == []
    assert store.size()["raw_bytes"] == other.size()["raw_bytes"]
    again = cleaned(store)
    assert (again["observations"], again["kinds"], again["pieces"]) == (0, {}, 0)
    other.close()


def spoken(store: Store) -> bytes:
    """All that the log gives back."""
    return b"\n".join(repr(one).encode() + getattr(one, "body", b"") for _, one in store.observations())


def test_after_an_older_set_of_rules_trees_are_those_of_todays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [*field(CASES), *everywhere()]
    with monkeypatch.context() as older:
        older.setattr(rules_module, "FAMILIES", rules_module.FAMILIES[:2])
        older.setattr(rules_module, "redact_beside", lambda text: text)
        store = filled(open_sqlite(f"sqlite:{tmp_path}/store.db"), seen, Cleaner())
    assert 0 < len(found_in(spoken(store))) < len(FORMATS)
    cleaned(store)
    assert found_in(tables(tmp_path)) == []
    other = filled(open_sqlite("memory:"), seen, Cleaner())
    assert [(task.id, getattr(task, "parent", "")) for task in store.docs("tasks")] == [(task.id, getattr(task, "parent", "")) for task in other.docs("tasks")]
    assert rebuild(store, Rules(), Prices(), True, quiet)["moved"] == []


def test_nothing_of_it_is_left_in_any_file(tmp_path: Path) -> None:
    store = filled(open_sqlite(f"sqlite:{tmp_path}/store.db"), [*field(CASES), *everywhere()])
    Indexer(store).catch_up()
    assert found_in(tables(tmp_path)) != []
    cleaned(store)
    Indexer(store).catch_up()
    assert found_in(files(tmp_path)) == []
    assert found_in(tables(tmp_path)) == []
    assert store.search.find('"redacted"', 9, None) != []
    words = indexed_words(tmp_path / "store.db.search")
    assert "redacted" in words
    assert [run for each in PLANTED for secret in each.secrets for run in re.findall(r"[a-z0-9]{12,}", secret.lower()) if run in words] == []
    store.close()
    assert found_in(files(tmp_path)) == []


def indexed_words(path: Path) -> set[str]:
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'words', 'row')")
    found = {row[0] for row in connection.execute("SELECT term FROM temp.vocabulary")}
    connection.close()
    return found


def test_of_many_conversations_only_those_that_hold_something_are_derived_again(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    if not isinstance(store, Near):
        pytest.skip("this engine derives the whole log")
    many = [one for batch in traffic(40, turns=4, width=3) for one in batch]
    holding = [one for one in everywhere() if isinstance(one, Request | Response)]
    seen = [*many[:60], *holding, *many[60:]]
    filled(store, seen)
    with pytest.MonkeyPatch.context() as patch, caplog.at_level("INFO"):
        patch.setattr("ramify.apart.SMALL", 0)
        answer = cleaned(store)
    assert "whole log" not in caplog.text
    assert (answer["read"], answer["observations"]) == (len(seen), len(holding))
    other = filled(open_sqlite("memory:"), seen, Cleaner())
    assert difference(settled(store), settled(other)) == []


def test_a_look_says_how_much_there_is_by_kind_and_changes_nothing(store: Store) -> None:
    filled(store, everywhere())
    before = spoken(store)
    found = look(store, Order(Cleaner(), 1, "test"), quiet)
    assert spoken(store) == before
    assert found["kinds"]["anthropic-key"] >= 2
    assert found["kinds"]["header"] == 12
    answer = cleaned(store)
    assert {name: answer[name] for name in found} == found
    [note] = notes(store)
    assert (note["by"], note["observations"], note["kinds"]) == ("test", 12, found["kinds"])
    assert found_in(json.dumps(note).encode()) == []


def test_a_project_can_be_cleaned_by_itself(store: Store) -> None:
    one, other = everywhere()[:2], [replace(seen, id=f"{seen.id}b", project="other") for seen in everywhere()[2:4]]
    filled(store, [one[0], *other])
    assert cleaned(store, project="other")["observations"] == 2
    assert store.observation(one[0].id) == one[0]
    assert store.fact(RULES) is None  # not all of it was searched
    cleaned(store)
    assert store.fact(RULES) == VERSION


# -- by one rule, a pattern, a text -------------------------------------------------------------------------------------


def conversation(text: str) -> list[Observation]:
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"c": text}}]}]
    body = json.dumps({"model": "m", "messages": [*messages, {"role": "user", "content": json.dumps({"said": text})}]}).encode()
    headers = (("x-note", text.encode("ascii", "replace").decode().replace("\n", " ")),)
    asked = Request("obs_1", "default", 1, "proxy", "obs_1", "POST", "/v1/messages", headers, body)
    return [asked, Response("obs_2", "default", 2, "proxy", "obs_1", "/v1/messages", 200, (("content-type", "text/event-stream"),), streamed(text), "complete")]


def held(store: Store, text: str) -> bool:
    answers = [found for _, seen in store.observations() if isinstance(seen, Response) for found in re.findall(r'"text": "(.*?)"}', seen.body.decode())]
    return text in spoken(store).decode("utf-8", "replace") or text in "".join(answers)


SAID = 'order 4711-8822 for "Zoë Müller" at\nAK~IA'.replace("~", "") + "ABCDEFGH12345678"


@pytest.mark.parametrize(
    ("wish", "gone", "stays"),
    [
        ({"rules": ["aws-key-id"]}, "ABCDEFGH12345678", "4711-8822"),
        ({"patterns": [r"\b\d{4}-\d{4}\b"]}, "4711-8822", "ABCDEFGH12345678"),
        ({"patterns": ["Zo[ëe] M[^ ]+er"]}, "M\\u00fcller", "4711-8822"),
        ({"texts": ["4711-8822"]}, "4711-8822", "ABCDEFGH12345678"),
        ({"texts": ['for "Zoë Müller"']}, "M\\u00fcller", "4711-8822"),
    ],
)
def test_what_a_person_chose_goes_and_the_rest_stays(wish: dict[str, list[str]], gone: str, stays: str) -> None:
    store = filled(open_sqlite("memory:"), conversation(SAID))
    assert (held(store, gone), held(store, stays)) == (True, True)
    search = chosen(**{"rules": [], "patterns": [], "texts": [], **wish})
    assert cleaned(store, search)["observations"] == 2
    assert (held(store, gone), held(store, stays)) == (False, True)
    assert store.count_unreadable() == 0
    assert cleaned(store, search)["observations"] == 0
    assert store.fact(RULES) is None


def test_every_rule_can_be_asked_for_by_the_name_of_its_mark() -> None:
    marks = {kind for each in PLANTED for kind in re.findall(r"\[redacted:([a-z0-9-]+)\]", rules_module.redact_json(each.text.encode()).decode())}
    assert len(marks) > 60
    assert marks <= set(NAMES)
    aws = planted("aws-key-id").text.encode()
    assert (by_rule("aws-key-id")(aws), by_rule("github-token")(aws)) == (b"[redacted:aws-key-id]", aws)


@pytest.mark.parametrize("text", ["", "abc", "redacted", ":text]"])
def test_a_text_that_would_be_found_everywhere_or_in_its_own_mark_is_refused(text: str) -> None:
    with pytest.raises(UserMistake):
        by_text(text)


@pytest.mark.parametrize("pattern", ["", "a*", "(", "[a-z]+", "redacted", "(?P<x", "x{99999999999}"])
def test_a_pattern_that_is_none_or_fits_nothing_or_its_own_mark_is_refused(pattern: str) -> None:
    with pytest.raises(UserMistake):
        by_pattern(pattern)


def test_a_pattern_that_would_take_forever_is_ended_and_nothing_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramify.capture.chosen.SECONDS", 0.2)
    store = filled(open_sqlite("memory:"), conversation("a" * 60 + "!"))
    before, began = spoken(store), time.process_time()
    with pytest.raises(UserMistake, match="took longer"):
        cleaned(store, chosen([], ["(a+)+0"], []))
    assert time.process_time() - began < 5
    assert spoken(store) == before
    assert signal.getsignal(signal.SIGVTALRM) == signal.SIG_DFL


# -- which rules --------------------------------------------------------------------------------------------------------


def test_doctor_says_when_the_rules_are_newer_than_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(ramify: Ramify) -> tuple[str, str]:
        [check] = [check for check in ramify.doctor() if check["check"] == "secrets"]
        return check["status"], check["hint"] or ""

    with opened(tmp_path) as ramify:
        ramify.ingest.step(everywhere())
        assert said(ramify) == ("ok", "")
        for module in ("ramify.app", "ramify.diagnosis"):
            monkeypatch.setattr(f"{module}.VERSION", VERSION + 1)
        assert said(ramify) == ("warn", "see what newer rules find: ramify redact --dry-run")
        ramify.redact({}, True, quiet)
        assert said(ramify)[0] == "warn"
        ramify.redact({}, False, quiet)
        assert said(ramify) == ("ok", "")


def test_a_copy_is_as_clean_as_the_less_clean_of_both(tmp_path: Path) -> None:
    urls = [f"sqlite:{tmp_path}/{name}.db" for name in ("new", "old", "unknown")]
    for url, rules, seen in zip(urls, (VERSION + 7, VERSION, None), (everywhere()[:2], everywhere()[2:4], everywhere()[4:6]), strict=True):
        store = filled(open_sqlite(url), seen)
        if rules is not None:
            store.set_fact(RULES, rules)
        store.close()
    for source, known in ((urls[1], VERSION), (urls[2], 0)):
        copy_store(source, urls[0], quiet)
        store = open_sqlite(urls[0])
        assert store.fact(RULES) == known
        store.close()


def test_rules_that_changed_have_another_version() -> None:
    """All that rules are made of but their code. Whoever changes a rule so that it finds more raises VERSION, and puts the new sum here."""
    shapes = [(family.probe.pattern, each.kind, each.shape.pattern) for family in rules_module.FAMILIES for each in family.patterns]
    words = [(each.begins.pattern, each.before.pattern, each.kind) for each in secret_words.BESIDE]
    values = [each.pattern for each in (secret_words.ASSIGNED, secret_words.QUOTED, secret_words.APART, secret_words.ARGUMENT, secret_words.ATTRIBUTE, secret_coding.CODED, secret_words.COOKIES, secret_words.FORM, secret_words.TAG, secret_keys.NAME, secret_keys.MANY, secret_keys.VARIABLE)]
    headers = [each.pattern for each in (rules_module.SECRET_HEADER, rules_module.PLAIN_HEADER)]
    names = [mesh_secrets.SECRET_KEYS, mesh_secrets.BESIDE, mesh_secrets.VERBATIM, sorted(adcp.HEADERS), adcp.NAMES, adcp.PLAIN, secret_words.KEYS]
    made = repr((shapes, words, values, headers, names)).encode()
    assert (VERSION, hashlib.sha256(made).hexdigest()[:16]) == (6, "aa21c1f182a5efc6")


# -- processes ----------------------------------------------------------------------------------------------------------


def opened(folder: Path) -> "closing[Ramify]":
    return closing(Ramify(open_sqlite(f"sqlite:{folder}/store.db"), Settings(store=f"sqlite:{folder}/store.db")))


def test_what_waits_in_the_spool_is_cleaned_as_well(tmp_path: Path) -> None:
    with opened(tmp_path) as ramify:
        ramify.ingest.step(conversation(SAID))
        Spool(tmp_path / "store.db.spool", 1 << 24).append(everywhere())
        assert found_in(files(tmp_path)) != []
        answer = ramify.redact({"texts": ["4711-8822"], "rules": [], "patterns": []}, False, quiet)
        assert (answer["observations"], answer["waiting"]) == (2, 0)
        assert found_in(files(tmp_path)) == []
        assert b"4711-8822" not in files(tmp_path)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_cleaning_beside_a_writer_misses_nothing(engine: str, tmp_path: Path) -> None:
    """Another connection goes on storing, as an older version would: with secrets in it."""
    if ENGINES[engine].missing:
        pytest.skip(ENGINES[engine].missing)
    url = ENGINES[engine].address(tmp_path)
    writing, cleaning = open_store(url, busy_seconds=60), open_store(url, busy_seconds=60)
    seen = [*field(CASES[:3])]
    ingest = Ingest(writing)
    ingest.step(seen[:20])

    def write() -> None:
        for at in range(20, len(seen), 4):
            ingest.step(seen[at : at + 4])

    thread = threading.Thread(target=write)
    thread.start()
    while thread.is_alive():
        cleaned(cleaning)
    thread.join()
    cleaned(cleaning)
    other = filled(open_sqlite("memory:"), seen, Cleaner())
    assert difference(settled(writing), settled(other)) == []
    assert [one for _, one in writing.observations()] == [one for _, one in other.observations()]
    writing.close()
    cleaning.close()


class Wholly:
    """Nothing is one: the whole log is derived."""


@pytest.mark.parametrize("act", [cleaned, lambda store: rebuild(store, Rules(), Prices(), False, quiet)], ids=["redact", "rebuild"])
def test_what_is_forgotten_meanwhile_does_not_come_back(act: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By another process, between the reading and the turn of this one."""
    url = f"sqlite:{tmp_path}/store.db"
    store, other = filled(open_sqlite(url), everywhere()), open_sqlite(url)
    call = store.load("calls", call_id("obs_all0"))
    assert isinstance(call, Call)

    def replayed(log: Store, ingest: Ingest, after: int, *given: Any) -> int:
        last = replay(log, ingest, after, *given)
        if not after:
            forget(other, Rules(), Prices(), Wish(frozenset({call.conversation})), Gone(1, "test"), quiet)
        return last

    for module in ("ramify.redacting", "ramify.rebuild"):
        monkeypatch.setattr(f"{module}.replay", replayed)
    monkeypatch.setattr("ramify.redacting.Near", Wholly)
    with pytest.raises(StoreDown, match="forgotten or redacted meanwhile"):
        act(store)
    monkeypatch.undo()
    act(store)
    assert store.load("calls", call_id("obs_all0")) is None
    assert store.load("calls", call_id("obs_all1")) is not None
    store.close()
    other.close()


@pytest.mark.parametrize("act", ["cleaned", "rebuild"])
def test_what_is_redacted_meanwhile_does_not_come_back(act: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By another process, while this one derives the log with it."""
    url = f"sqlite:{tmp_path}/store.db"
    store, other = filled(open_sqlite(url), everywhere()), open_sqlite(url)
    waiting = [other]

    def replayed(*given: Any) -> int:
        last = replay(*given)
        while waiting:
            cleaned(waiting.pop())
        return last

    monkeypatch.setattr(f"ramify.{'redacting' if act == 'cleaned' else act}.replay", replayed)
    monkeypatch.setattr("ramify.redacting.Near", Wholly)
    with pytest.raises(StoreDown, match="redacted meanwhile"):
        cleaned(store) if act == "cleaned" else rebuild(store, Rules(), Prices(), False, quiet)
    store.close()
    other.close()


def test_pieces_of_what_is_redacted_while_others_are_swept_stay(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that has read the log already does not take what bodies are made of since."""
    filled(store, everywhere())
    before, waiting = Marks.read_on, [store]

    def read_on(marks: Marks) -> None:
        before(marks)
        if waiting:
            cleaned(waiting.pop())

    monkeypatch.setattr(Marks, "read_on", read_on)
    sweep(store)
    other = filled(open_sqlite("memory:"), everywhere(), Cleaner())
    assert [one for _, one in store.observations()] == [one for _, one in other.observations()]


KILLED = """
import os, signal, sys
import ramify.redacting as redacting
from ramify.cli.main import main
setattr(redacting, sys.argv[1], lambda *given: os.kill(os.getpid(), signal.SIGKILL))
main(["redact", "--store", sys.argv[2]])
"""


@pytest.mark.parametrize(("where", "changed"), [("_rewrite", False), ("put_difference", False), ("clean", True)])
def test_a_run_that_is_killed_has_done_nothing_or_left_the_sweeping(where: str, changed: bool, tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/store.db"
    filled(open_sqlite(url), [*field(CASES[:1]), *everywhere()]).close()
    ran = subprocess.run([sys.executable, "-c", KILLED, where, url], capture_output=True, timeout=120, check=False)
    assert ran.returncode == -signal.SIGKILL, ran.stderr.decode()
    store = open_sqlite(url)
    assert store.check() == "ok"
    assert (found_in(spoken(store)) == []) == changed
    assert rebuild(store, Rules(), prices_of(Settings(store=url)) if changed else Prices(), True, quiet)["moved"] == []
    assert found_in(files(tmp_path)) != []
    cleaned(store)
    store.close()
    assert found_in(files(tmp_path)) == []
    assert found_in(tables(tmp_path)) == []
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_the_command_tells_what_it_did_and_never_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:{tmp_path}/store.db"
    filled(open_sqlite(url), [*conversation(SAID), *everywhere()]).close()

    def run(*words: str, given: str = "") -> str:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        main(["redact", *words, "--store", url])
        said = "".join(capsys.readouterr())
        assert found_in(said.encode()) == []
        assert "4711-8822" not in said
        return said

    assert "14 observations read, 2 would be changed\n         2  text" in run("--text", "--dry-run", given="4711-8822\n")
    assert "14 observations read, 2 changed" in run("--text", given="4711-8822\n")
    assert "there is no rule 'x'" in run("--rule", "x")
    assert json.loads(run("--json"))["observations"] == 14
    assert "by command, 2 observations: text in 2" in run("--list")
    assert found_in(files(tmp_path)) == []


# -- streams of agents, stored slice by slice ------------------------------------------------------------------------------


def spoken_in_slices(text: str, agent: str = "planner", connection: str = "c1", size: int = 7) -> list[Observation]:
    """As an older version stored them: each slice searched by itself alone, or not at all."""
    ids = {"taskId": f"task-{connection}", "contextId": "ctx"}
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    events: list[Any] = [{"kind": "task", "id": ids["taskId"], "contextId": "ctx", "status": {"state": "working"}}]
    events += [
        {"kind": "artifact-update", **ids, "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": piece}]}, "append": at > 0}
        for at, piece in enumerate(pieces)
    ]
    lines: list[dict[str, Any]] = [{"kind": "request", "method": "POST", "path": "/", "body": {"jsonrpc": "2.0", "id": 1, "method": "message/stream"}}]
    lines.append({"kind": "response", "status": 200, "headers": {"content-type": "text/event-stream"}})
    for at, event in enumerate(events):
        raw = f"data: {json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': event})}\n\n"
        lines.append({"kind": "sse", "raw": raw} if at % 3 else {"kind": "sse", "raw_b64": b64encode(raw.encode()).decode()})
    lines.append({"kind": "end"})
    return [
        make_record("default", agent, connection, seq, 1000 + seq, "proxy", json.dumps({"agent": agent, "connection": connection, "seq": seq, "time": moment(1000 + seq), **line}).encode())
        for seq, line in enumerate(lines)
    ]


def told(store: Store) -> dict[str, str]:
    """The texts of all streams, by connection, put together."""
    texts: dict[str, str] = {}
    frames = sorted((json.loads(one.body) for _, one in store.observations() if isinstance(one, Record)), key=lambda frame: (frame["connection"], frame["seq"]))
    for frame in frames:
        raw = frame["raw"] if "raw" in frame else b64decode(frame.get("raw_b64", "")).decode()
        for part in json.loads(raw[6:])["result"].get("artifact", {}).get("parts", ()) if raw else ():
            texts[frame["connection"]] = texts.get(frame["connection"], "") + part["text"]
    return texts


KEPT = "the plan is ready, with commit 9fceb02d0ae598e95dc970b74767f19372d61af8 of yesterday"


def test_a_secret_in_several_slices_of_a_stream_goes_and_all_else_stays(store: Store) -> None:
    keys = planted("anthropic", 3), planted("github-personal", 4)
    first, second = (each.text for each in keys)
    seen = [
        *spoken_in_slices(f"here it is: {first} and {second}; that was all"), *spoken_in_slices(KEPT, connection="c2"),
        *spoken_in_slices(f"{first}", connection="c3", size=400), *spoken_in_slices(f"once more {second}", agent="other", connection="c4", size=11),
    ]  # fmt: skip
    Random(7).shuffle(seen)
    filled(store, seen)
    before = told(store)
    assert (first in before["c1"], second in before["c1"], before["c2"]) == (True, True, KEPT)
    look_only = look(store, Order(Cleaner(), 1, "test", VERSION), quiet)
    answer = cleaned(store)
    after = told(store)
    assert after["c1"] == "here it is: sk[redacted:anthropic-key] and g[redacted:github-token]; that was all"  # `sk` and `g` might have been words
    assert (after["c2"], after["c3"]) == (KEPT, "[redacted:anthropic-key]")
    assert [leak for each in keys for leak in leaks(str(after).encode(), each)] == []
    assert (look_only["observations"], look_only["kinds"]) == (answer["observations"], answer["kinds"])
    assert set(answer["kinds"]) == {"anthropic-key", "github-token"}
    again = cleaned(store)
    assert (again["observations"], again["kinds"], again["pieces"]) == (0, {}, 0)
    log = [one for _, one in store.observations()]
    other = filled(open_sqlite("memory:"), log, Cleaner())
    assert difference(settled(store), settled(other)) == []  # what follows is what follows from the log as it is now
    assert store.size()["raw_bytes"] == other.size()["raw_bytes"]
    other.close()


def test_half_of_a_secret_that_comes_while_the_log_is_read_is_found_with_the_other(tmp_path: Path) -> None:
    key = planted("anthropic", 3).text
    slices = spoken_in_slices(f"it is  {key} .")
    with closing(open_sqlite(f"sqlite:{tmp_path}/store.db")) as store:
        filled(store, slices[:8])
        writer = Ingest(store)
        stored = False

        def meanwhile(done: int, total: int) -> None:
            nonlocal stored
            if not stored:
                stored = True
                writer.step(slices[8:])

        redact(store, Rules(), Prices(), Order(Cleaner(), 1, "test", VERSION), meanwhile)
        assert stored
        assert told(store)["c1"] == "it is  [redacted:anthropic-key] ."


def test_where_the_whole_log_is_derived_again_such_a_half_is_left_for_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = planted("anthropic", 3).text
    known = [each for name in ("k1", "k2") for each in spoken_in_slices(f"known: {key}", connection=name, size=400)]
    slices = [*known, *spoken_in_slices(f"it is  {key} .")]
    monkeypatch.setattr("ramify.redacting.SMALL", 0)
    with closing(open_sqlite(f"sqlite:{tmp_path}/store.db")) as store:
        filled(store, slices[: len(known) + 5])
        writer = Ingest(store)
        calls = iter(range(1000))

        def meanwhile(done: int, total: int) -> None:
            if next(calls) == 1:  # it was read once, and is being derived
                writer.step(slices[len(known) + 5 :])

        with pytest.raises(UserMistake, match="older version"):
            redact(store, Rules(), Prices(), Order(Cleaner(), 1, "test", VERSION), meanwhile)
        assert key in told(store)["k1"]
        cleaned(store)
        assert told(store) == {**dict.fromkeys(("k1", "k2"), "known: [redacted:anthropic-key]"), "c1": "it is  [redacted:anthropic-key] ."}
