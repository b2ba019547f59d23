"""Somebody is told of each finding once, whatever happens between."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from ramify.ingest import Ingest
from ramify.messenger import Address, Command, NotDelivered, messenger
from ramify.notifying import KEPT, LEASE, MARGIN, SECOND, WAITS, Notifying
from ramify.query.flags import Patience
from ramify.query.service import Questions
from ramify.settings import load
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests.linking.world_builder import BEGIN, Story


class Ear:
    """Hears what is delivered, or refuses it."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.deaf = False

    def deliver(self, document: bytes) -> None:
        if self.deaf:
            raise NotDelivered("nobody is there")
        self.heard.append(json.loads(document))


class World:
    """A store that is written to, with a clock that is set."""

    def __init__(self, store: Sqlite | None = None) -> None:
        self.now = BEGIN
        self.store = store or open_sqlite("memory:")
        self.ingest = Ingest(self.store)
        self.story = Story()
        self.ear = Ear()

    def notifying(self, owner: str = "one") -> Notifying:
        lints = Questions(self.store, Patience(clock=lambda: self.now)).lints
        return Notifying(self.store, lints, self.ingest.claim, owner, self.ear, lambda: self.now)

    def slip(self, name: str) -> None:
        """A prompt with a secret in it."""
        self.story.now = (self.now - BEGIN) / SECOND
        self.story.line(session=name).ask(name, f"use [redacted] for {name}", "done")
        self.ingest.step(self.story.seen[-1])

    @property
    def titles(self) -> list[str]:
        return [one["title"].rpartition(" ")[2] for one in self.ear.heard]


def test_each_finding_is_told_once() -> None:
    world = World()
    telling = world.notifying()
    telling.look()
    world.slip("a")
    for _ in range(3):
        world.now += 5 * SECOND
        telling.look()
    world.slip("b")
    telling.look()
    assert world.titles == ["a", "b"]
    assert world.ear.heard[0]["check"] == "secret-in-prompt"
    assert telling.state() == {"told": 2, "failed": 0, "waiting": 0, "problem": None}


def test_a_restart_repeats_nothing_and_tells_what_came_meanwhile() -> None:
    world = World()
    world.notifying().look()
    world.slip("a")
    world.notifying().look()
    world.now += 3600 * SECOND
    world.slip("b")
    world.now += 60 * SECOND
    world.notifying().look()
    assert world.titles == ["a", "b"]


def test_what_is_older_than_the_first_look_is_not_told() -> None:
    world = World()
    world.slip("old")
    world.now += MARGIN + 60 * SECOND
    telling = world.notifying()
    telling.look()
    world.slip("new")
    telling.look()
    assert world.titles == ["new"]


def test_a_failure_is_tried_again_later_seen_and_at_last_given_up() -> None:
    world = World()
    telling = world.notifying()
    telling.look()
    world.slip("a")
    world.ear.deaf = True
    telling.look()
    telling.look()  # too early to try again
    assert telling.state() == {"told": 0, "failed": 0, "waiting": 1, "problem": "nobody is there"}
    for wait in WAITS:
        world.now += wait * SECOND
        telling.look()
    assert telling.state()["failed"] == 1
    world.ear.deaf = False
    world.now += 3600 * SECOND
    telling.look()
    assert world.titles == []


def test_what_could_not_be_told_before_a_restart_is_told_after_it() -> None:
    world = World()
    telling = world.notifying()
    telling.look()
    world.slip("a")
    world.ear.deaf = True
    telling.look()
    world.ear.deaf = False
    world.now += WAITS[0] * SECOND
    world.notifying().look()
    assert world.titles == ["a"]


def test_of_two_servers_one_tells_and_the_other_goes_on_when_it_is_gone() -> None:
    world = World()
    one, other = world.notifying("one"), world.notifying("other")
    one.look()
    other.look()
    world.slip("a")
    other.look()
    assert world.titles == []
    one.look()
    world.now += LEASE + SECOND
    world.slip("b")
    other.look()
    assert world.titles == ["a", "b"]
    one.look()
    assert world.titles == ["a", "b"]


def test_what_was_told_long_ago_is_forgotten() -> None:
    world = World()
    telling = world.notifying()
    telling.look()
    world.slip("a")
    telling.look()
    assert len(world.store.facts("found:")) == 1
    world.now += KEPT + LEASE
    world.notifying().look()
    assert world.store.facts("found:") == {}
    assert world.titles == ["a"]


@contextmanager
def listener(status: int = 200, leads_to: str = "") -> Iterator[tuple[str, list[bytes]]]:
    heard: list[bytes] = []

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(status)
            if leads_to:
                self.send_header("location", leads_to)
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *given: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", heard
    finally:
        server.shutdown()
        server.server_close()


def test_an_address_is_sent_the_document() -> None:
    with listener() as (url, heard):
        messenger(url).deliver(b'{"check": "stalled"}')
    assert heard == [b'{"check": "stalled"}']


def test_an_address_that_refuses_or_leads_elsewhere_is_told_so_and_nobody_else_is_asked() -> None:
    with listener() as (elsewhere, heard), listener(307, elsewhere) as (url, first):
        with pytest.raises(NotDelivered, match="status 307"):
            Address(url).deliver(b"{}")
        assert (len(first), heard) == (1, [])
    with listener(500) as (url, _), pytest.raises(NotDelivered, match="status 500"):
        Address(url).deliver(b"{}")
    with pytest.raises(NotDelivered, match="cannot be reached"):
        Address(url).deliver(b"{}")


def test_a_command_gets_the_document_on_its_input(tmp_path: Path) -> None:
    script = tmp_path / "note.py"
    script.write_text(f"import sys, pathlib; pathlib.Path({str(tmp_path / 'heard')!r}).write_bytes(sys.stdin.buffer.read())")
    messenger(f"{sys.executable} '{script}'").deliver(b'{"a": 1}')
    assert (tmp_path / "heard").read_bytes() == b'{"a": 1}'


def test_a_command_does_not_get_the_key_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAMIFY_ENCRYPTION_KEY", "ab" * 32)
    script = tmp_path / "told.py"
    script.write_text(f"import os, pathlib; pathlib.Path({str(tmp_path / 'told')!r}).write_text(repr(sorted(os.environ)))")
    Command(f"{sys.executable} {script}").deliver(b"{}")
    told = (tmp_path / "told").read_text()
    assert "PATH" in told
    assert "RAMIFY_ENCRYPTION_KEY" not in told


def test_a_command_that_fails_is_missing_or_takes_too_long_is_a_failure(tmp_path: Path) -> None:
    failing = tmp_path / "fail.py"
    failing.write_text("raise SystemExit('no room')")
    with pytest.raises(NotDelivered, match="ended with status 1: no room"):
        Command(f"{sys.executable} {failing}").deliver(b"{}")
    with pytest.raises(NotDelivered, match="cannot be run"):
        Command("/nowhere/at-all").deliver(b"{}")
    began = time.monotonic()
    with pytest.raises(NotDelivered, match="took longer"):
        Command(f"{sys.executable} -c 'import time; time.sleep(60)'", seconds=0.5).deliver(b"{}")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("text", "fits"), [("http://127.0.0.1:9000/x", True), ("notify-send 'a finding'", True), ("http://me:pw@host/", False), ("say 'open", False), ("http://", False)]
)
def test_the_setting_is_an_address_or_a_command(text: str, fits: bool) -> None:
    if fits:
        assert load({"store": "memory:", "on_finding": text}, {}).on_finding == text
    else:
        with pytest.raises(Exception, match="on_finding must be"):
            load({"store": "memory:", "on_finding": text}, {})
