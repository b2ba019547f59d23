"""What clients, agents, files and askers may send is bounded in size, depth and time; one test for each bound that no other file has."""

import gzip
import io
import json
import logging
import os
import random
import re
import string
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from ramify.capture.a2a.secrets import redact_frame
from ramify.capture.cleaner import Cleaner
from ramify.capture.formats import sources
from ramify.capture.mesh_secrets import redact_message
from ramify.capture.redact import redact_json
from ramify.cli.main import main
from ramify.cli.sheets import cell, write_sheet
from ramify.indexing import Indexer
from ramify.ingest import Ingest
from ramify.linking.compaction import body_of
from ramify.log_lines import FORMAT, Harmless
from ramify.model.echoes import Echoes
from ramify.model.entity import Task
from ramify.model.mistake import UserMistake
from ramify.model.observation import Observation, Record, Request, Response
from ramify.model.steering import STEERING
from ramify.model.tags import contents, tag_pattern, tagged, without
from ramify.protocols.adcp.redact import redact_line
from ramify.protocols.anthropic.normal import normal_text, notices_in
from ramify.protocols.wire import coding
from ramify.query.at_hand import _like
from ramify.storage.base import Bounds, Store
from ramify.storage.postgres_words import words
from ramify.storage.sqlite import open_sqlite
from tests.contracts.engines import ENGINES
from tests.storage.test_sql import ask


def seconds(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return time.process_time() - began


def grows_with_the_text(act: Callable[[int], object], size: int) -> bool:
    """Four times the text takes four times as long, and sixteen times where it is the square; the best of three, for clocks lie."""
    small, large = (min(seconds(lambda size=one: act(size)) for _ in range(3)) for one in (size, 4 * size))  # type: ignore[misc]
    return large < 0.05 or large < 9 * small


# -- texts --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "act",
    [
        lambda size: normal_text("<system-reminder>" + " " * size),
        lambda size: normal_text("<system-reminder>" * size),
        lambda size: notices_in("<task-notification>" * size),
        lambda size: notices_in("<task-notification>" + "<task-id>" * size + "</task-notification>"),
        lambda size: body_of("\n" * size + "Summary"),
        lambda size: redact_json(b'{"password":"' + b"\\" * size + b"x"),
        lambda size: redact_message(b'{"secret":' + b"eyJ" * size),
        lambda size: redact_line(b'{"a":"http://x/' + b"?" * size + b'="}'),
        lambda size: _like("a" * size, "*a" * 20 + "*b"),
        lambda size: coding.decode(gzip.compress(b"") * (size // 40), ["gzip"]),
    ],
    ids=["space", "openings", "notices", "ids", "breaks", "backslashes", "tokens", "questions", "stars", "members"],
)
def test_a_text_that_was_made_to_be_slow_is_not(act: Callable[[int], object]) -> None:
    assert grows_with_the_text(act, 40_000)


@pytest.mark.parametrize("redact", [redact_frame, redact_line])
def test_a_message_with_thousands_of_secrets_is_searched_once(redact: Callable[[bytes], bytes]) -> None:
    source = random.Random(1)

    def message(size: int) -> bytes:
        secrets = ["".join(source.choices(string.ascii_letters, k=14)) for _ in range(size)]
        body = {"all": [{"password": one} for one in secrets], "text": " ".join(secrets)}
        return json.dumps({"seq": 1, "agent": "a", "connection": "c", "kind": "request", "body": body, "eventId": "e"}).encode()

    given = {size: message(size) for size in (1000, 4000)}
    assert grows_with_the_text(lambda size: redact(given[size]), 1000)
    assert not re.search(rb"[A-Za-z]{14}", redact(given[1000]))


@given(st.dictionaries(st.text("ab", min_size=1, max_size=4), st.sampled_from(["#", ""]), max_size=40), st.text("abc", max_size=60))
def test_many_texts_are_replaced_as_one_pattern_would(found: dict[str, str], text: str) -> None:
    longest = sorted(found, key=len, reverse=True)
    expected = re.sub("|".join(map(re.escape, longest)), lambda match: found[match[0]], text) if found else text
    assert Echoes(found).out_of(text) == expected


@given(st.text("<>/tag x", max_size=80))
def test_tags_are_found_as_a_pattern_would(text: str) -> None:
    shape = re.compile("<tag>(.*?)</tag>", re.DOTALL)
    assert contents(tag_pattern("tag"), text) == shape.findall(text)
    assert without(tag_pattern("tag"), text, "-") == shape.sub("-", text)
    assert [(start, end) for start, _, _, end in tagged(tag_pattern("tag"), text)] == [found.span() for found in shape.finditer(text)]


@given(st.text("ab", max_size=12), st.text("ab*", max_size=8))
def test_a_star_stands_for_anything(value: str, wanted: str) -> None:
    assert _like(value, wanted) == fnmatchcase(value, wanted)


# -- packed -------------------------------------------------------------------------------------------------------------------

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress,
}  # fmt: skip


@pytest.mark.parametrize("name", PACKED)
def test_a_bomb_is_cut_at_the_limit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "LARGEST_DECODED", 1 << 20)
    bomb = PACKED[name](b"a" * (32 << 20))
    assert len(bomb) < 100_000
    found = coding.decode(bomb, [name])
    assert found is not None
    assert 0 < len(found) <= 1 << 20


def test_a_body_that_was_packed_again_and_again_is_not_unpacked() -> None:
    packed = b"x"
    for _ in range(coding.MOST_CODINGS + 1):
        packed = gzip.compress(packed)
    assert coding.decode(packed, ["gzip"] * (coding.MOST_CODINGS + 1)) is None
    assert coding.decode(gzip.decompress(packed), ["gzip"] * coding.MOST_CODINGS) == b"x"


# -- depth --------------------------------------------------------------------------------------------------------------------

DEPTHS = (50, 300, 480, 700, 950, 2_000, 100_000)


def nested(depth: int) -> Iterator[bytes]:
    yield b"[" * depth + b"]" * depth
    yield b'{"a":' * depth + b"1" + b"}" * depth
    yield b"[" * depth


def deep(depth: int, form: bytes, id: str) -> list[Observation]:
    """In whatever may be nested, of every format."""
    bodies = {
        "a2a": b'{"seq":1,"agent":"a","connection":"c","kind":"request","path":"/","headers":{},"body":%b}',
        "adcp": b'{"eventId":"e","eventType":"task","payload":%b}',
        "sam": b'{"topic":"a/b","user_properties":{"password":%b},"payload":{"secret":%b}}',
        "otel": b'{"resourceSpans":[{"resource":{"attributes":[{"key":"k","value":%b}]},"scopeSpans":[]}]}',
        "claude": b'{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":%b}}',
        "stream-json": b'{"type":"assistant","session_id":"s","message":{"role":"assistant","content":[%b]}}',
        "claude-hook": b'{"hook_event_name":"PreToolUse","session_id":"s","tool_input":%b}',
        "unknown": b"%b",
    }
    found: list[Observation] = [
        Record(f"obs_{id}{name}", "p", 5, name, name, "x:1", body.replace(b"%b", form)) for name, body in bodies.items()
    ]
    for at, (path, body) in enumerate(
        {
            "/v1/messages": b'{"model":"m","system":%b,"tools":%b,"messages":[{"role":"user","content":%b}]}',
            "/openai/v1/chat/completions": b'{"model":"m","messages":[{"role":"user","content":%b}]}',
            "/openai/v1/responses": b'{"model":"m","input":%b}',
        }.items()
    ):
        one = f"obs_{id}r{at}"
        found.append(Request(one, "p", 6, "proxy", one, "POST", path, (), body.replace(b"%b", form)))
        events = b'event: message_start\ndata: {"type":"message_start","message":%b}\n\ndata: {"choices":[{"delta":%b}]}\n\n'.replace(b"%b", form)
        found.append(Response(f"{one}a", "p", 7, "proxy", one, path, 200, (("content-type", "text/event-stream"),), events, "complete"))
    return found


def test_nesting_without_end_is_survived_by_every_decoder() -> None:
    store = open_sqlite("memory:")
    ingest = Ingest(store, redaction=Cleaner())
    seen = [one for depth in DEPTHS for at, form in enumerate(nested(depth)) for one in deep(depth, form, f"{depth}-{at}-")]
    took = seconds(lambda: [ingest.take(seen[start : start + 20]) for start in range(0, len(seen), 20)])
    assert took < 30
    assert (ingest.lost, store.count("observations")) == (0, len(seen))
    assert all(len(one.body) > 0 for _, one in store.observations() if isinstance(one, Request))
    Indexer(store).catch_up()
    assert store.search.indexed() == store.seq()
    store.close()


# -- names --------------------------------------------------------------------------------------------------------------------


def long_names(size: int) -> list[Observation]:
    source = random.Random(size)

    def name() -> str:
        return "".join(source.choices(string.ascii_letters, k=size))

    use = {"type": "tool_use", "id": name(), "name": name(), "input": {"prompt": "do it", "subagent_type": name()}}
    asked = {"model": name(), "metadata": {"user_id": name()}, "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": [use]}]}
    headers = (("x-claude-code-session-id", name()), ("x-claude-code-agent-id", name()))
    given = {"id": name(), "type": "message", "role": "assistant", "model": name(), "content": [{**use, "id": name()}], "usage": {}}
    task = {"kind": "task", "id": name(), "contextId": name(), "status": {"state": "working"}}
    frame = {"seq": 1, "agent": name(), "connection": name(), "kind": "response", "status": 200, "headers": {}, "body": {"id": name(), "result": task}}
    line = {"type": "assistant", "sessionId": name(), "uuid": name(), "timestamp": "2026-01-01T00:00:00Z", "message": {"id": name(), "role": "assistant", "model": name(), "content": [use]}}
    id = f"obs_{size}"
    return [
        Request(id, "p", 1, "proxy", id, "POST", "/v1/messages", headers, json.dumps(asked).encode()),
        Response(f"{id}a", "p", 2, "proxy", id, "/v1/messages", 200, (), json.dumps(given).encode(), "complete"),
        Record(f"{id}f", "p", 3, "a2a", "a2a", "x:1", json.dumps(frame).encode()),
        Record(f"{id}l", "p", 4, "claude", "claude", "x:1", json.dumps(line).encode()),
    ]


def test_names_of_any_length_are_stored_and_hold_up_nobody(store: Store) -> None:
    """An index may not take them: then they are stored without links, and said to be."""
    ingest = Ingest(store, redaction=Cleaner())
    seen = [one for size in (3_000, 300_000) for one in long_names(size)]
    plain = long_names(12)
    assert ingest.take([*seen, *plain]) == len(seen) + len(plain)
    assert (ingest.lost, {one.id for _, one in store.observations()}) == (0, {one.id for one in (*seen, *plain)})
    assert store.count_unreadable() == ingest.unlinked
    assert store.load("calls", next(row.id for row in store.docs("calls"))) is not None


# -- SQL ----------------------------------------------------------------------------------------------------------------------


def test_no_way_of_writing_reaches_the_inner_tables_of_postgres(tmp_path: Path) -> None:
    if ENGINES["postgres"].missing:
        pytest.skip(ENGINES["postgres"].missing)
    store: Any = ENGINES["postgres"].open(tmp_path)
    schema = store._server.schema
    inner = f"(SELECT count(*) FROM {schema}.facts)"
    for query in (
        f"SELECT {inner}", f"SELECT {inner.upper()}", f'SELECT (SELECT count(*) FROM "{schema}" . "facts")', f"SELECT (SELECT count(*) FROM {schema}/**/.facts)",
        f"SELECT 1 AS a$b$, {inner} AS c$b$", f"SELECT E'\\'', {inner}, 'x'", f"SELECT e'\\\\\\'', {inner}, 'x'", f"SELECT 1 AS \"a'\", {inner} AS \"b'\"",
        f"SELECT 1 AS \"a--\", {inner}", f"SELECT '/*', {inner}, '*/'", f"SELECT 1 /* /* */ ' */, {inner} /* ' */", f"SELECT 1$a$ ' $a$, {inner}, 1$a$ ' $a$",
        f"SELECT $a$ $b$ $a$, {inner}, '$b$'", f"SELECT '\\', {inner}, '\\'", f"SELECT U&\"\\0066\", {inner}", "SELECT query_to_xml('SELECT 1', true, false, '')",
        "SELECT \"query_to_xml\"('SELECT 1', true, false, '')", "SELECT 'a", "SELECT $a$ b", "SELECT \"a", "SELECT /* a", f"SELECT 1 AS \"\"\"\", {inner} AS \"'\"",
    ):  # fmt: skip
        with pytest.raises(UserMistake):
            print(query, store.sql(query, Bounds()).rows)
    assert ask(store, f"SELECT '{schema}.facts' AS a, $q$ it's $q$ AS c, 'it''s' AS \"cost ($)\" /* '{schema}.' */ -- don't") == [
        {"a": f"{schema}.facts", "c": " it's ", "cost ($)": "it's"}
    ]
    assert grows_with_the_text(lambda size: words("SELECT " + "'a'," * size + "1"), 20_000)
    store.close()


# -- files --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["auto", "exchanges", "stream-json"])
def test_what_is_no_file_is_not_opened(format: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    for path in (tmp_path / "pipe.jsonl", Path("/dev/zero"), Path("/dev/stdin")):
        with pytest.raises(UserMistake, match="is no file"):
            sources([path], format)


def test_a_folder_is_not_left_by_a_link(tmp_path: Path) -> None:
    outside, folder = tmp_path / "private.jsonl", tmp_path / "given"
    outside.write_text('{"type": "user", "session_id": "s"}\n')
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.jsonl").write_text(outside.read_text())
    folder.mkdir()
    (folder / "own.jsonl").write_text(outside.read_text())
    (folder / "link.jsonl").symlink_to(outside)
    (folder / "same.jsonl").symlink_to(folder / "own.jsonl")
    (folder / "deeper").symlink_to(tmp_path / "more")
    os.mkfifo(folder / "pipe.jsonl")
    found, _ = sources([folder], "stream-json")
    assert {source.path.name for source in found} == {"own.jsonl", "same.jsonl"}


# -- what is printed ----------------------------------------------------------------------------------------------------------

EVIL = "a\x1b[31m\x1b]8;;http://x\x07\x9b2J\u202e\u2066\r\n\tb\x00\x7f\u200f=1+1"


def hostile_store(url: str) -> list[str]:
    """Evil in whatever is shown: prompts, models, tools, agents, places, errors. Ids of what may be asked about."""
    store = open_sqlite(url)
    use = {"type": "tool_use", "id": "toolu_1", "name": EVIL, "input": {EVIL: EVIL, "prompt": EVIL, "subagent_type": EVIL}}
    messages = [{"role": "user", "content": EVIL}, {"role": "assistant", "content": [{"type": "thinking", "thinking": EVIL}, {"type": "text", "text": EVIL}, use]}]
    asked = {"model": EVIL, "system": EVIL, "messages": [*messages, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": EVIL, "is_error": True}]}]}
    given = {"id": EVIL, "type": "message", "role": "assistant", "model": EVIL, "content": [{"type": "text", "text": EVIL}], "usage": {"input_tokens": 3}, "stop_reason": EVIL}
    frame = {"seq": 1, "agent": EVIL, "connection": EVIL, "kind": "response", "at": "2026-01-01T00:00:00Z", "status": 200, "headers": {}, "body": {"id": 1, "result": {"kind": "task", "id": EVIL, "contextId": EVIL, "status": {"state": "failed", "message": {"role": "agent", "parts": [{"kind": "text", "text": EVIL}]}}}}}
    Ingest(store, redaction=Cleaner()).take(
        [
            Request("obs_0", EVIL, 1, EVIL, "obs_0", "POST", "/v1/messages", (), json.dumps({"model": EVIL, "messages": messages[:1]}).encode()),
            Response("obs_0a", EVIL, 2, EVIL, "obs_0", "/v1/messages", 500, (), json.dumps({"type": "error", "error": {"type": EVIL, "message": EVIL}}).encode(), "complete", error=EVIL),
            Request("obs_1", EVIL, 3, EVIL, "obs_1", "POST", "/v1/messages", (("x-claude-code-session-id", EVIL),), json.dumps(asked).encode()),
            Response("obs_1a", EVIL, 4, EVIL, "obs_1", "/v1/messages", 200, (), json.dumps(given).encode(), "complete"),
            Record("obs_2", EVIL, 5, "a2a", "a2a", EVIL, json.dumps(frame).encode()),
            Record("obs_3", EVIL, 6, "claude", "claude", EVIL, f'{{"type": "{EVIL}"'.encode()),
        ]
    )
    Indexer(store).catch_up()
    store.set_fact("forgotten:conv_x", json.dumps({"at": 1, "by": EVIL}).encode())
    ids = [row.id for table in ("conversations", "tasks", "calls", "tools") for row in store.docs(table)]
    assert len([row for row in store.docs("tasks") if isinstance(row, Task)]) >= 2
    store.close()
    return ids


def test_no_command_lets_foreign_words_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:{tmp_path}/store.db"
    ids = hostile_store(url)
    bad = tmp_path / f"x{EVIL.replace(chr(0), '').replace('/', '')}.jsonl"
    bad.write_bytes(b"{}\n")
    evil = EVIL.replace("\x00", "")
    lists = ["conversations", "tasks", "calls", "operations", "events", "lint", "stats", "doctor"]
    lines = [[name] for name in lists] + [["search", "a"], ["tasks", "--roots"], ["stats", "--by", "model,agent,tool"], ["forget", "--list"], ["redact", "--dry-run"], ["redact", "--list"]]
    lines += [["sql", "SELECT * FROM ramify_tasks"], ["sql", "SELECT * FROM ramify_messages"], ["import", str(bad)], ["import", "--format", "stream-json", str(bad)], ["tasks", evil], ["sql", evil], ["tree", evil]]
    lines += [[name, id] for id in ids for name in ("tree", "show", "messages", "flow", "subtasks", "tools", "tool", "reasoning", "why")]
    lines += [["compare", ids[0], ids[1]], ["forget", "--dry-run", ids[0]], ["export", next(id for id in ids if id.startswith("task_")), "-", "--to", "markdown"]]
    lines += [["audit"], ["audit", "--json"], ["token", "list"], ["token", "revoke", evil], ["audit", "--who", evil]]  # what was asked above is in there
    shown = 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    for command in lines:
        main([*command, "--store", url])
        out, err = capsys.readouterr()
        shown += "\\u{202e}" in out
        steering = [found for found in STEERING.findall(out + err) if found not in "\n\t"]
        assert steering == [], command
    assert shown > 15


def test_a_line_of_the_log_steers_no_terminal() -> None:
    record = logging.LogRecord("ramify", logging.INFO, "x.py", 1, "could not read place=%s", (EVIL,), None)
    said = Harmless(FORMAT).format(record)
    assert "could not read place=a␛[31m" in said
    assert [found for found in STEERING.findall(said) if found not in "\n\t"] == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_sheet_holds_texts_and_no_formulas_and_steers_no_terminal() -> None:
    rows: Sequence[Sequence[Any]] = [["=cmd|' /C calc'!A0", "+1", "-1", "@x", "\tx", -1, 1.5, None, "a=b", EVIL]]
    file = io.StringIO()
    write_sheet(file, rows)
    assert file.getvalue().startswith("'=cmd|' /C calc'!A0,'+1,'-1,'@x,'\tx,-1,1.5,,a=b,")
    assert EVIL in file.getvalue()  # a file gets what was said
    terminal = Terminal()
    write_sheet(terminal, rows)
    assert [found for found in STEERING.findall(terminal.getvalue()) if found != "\n"] == []
    assert cell("plain", True) == "plain"
