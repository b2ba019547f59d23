"""Listening: a message is acknowledged when it is stored, and never before; what comes twice is there once."""

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ramify.capture.broker.message import records_of
from ramify.capture.broker.opening import Wanted, open_receiver
from ramify.capture.broker.receiver import Delivery
from ramify.capture.broker.replay import Replay
from ramify.capture.broker.topics import as_mqtt, is_excluded, subscriptions
from ramify.capture.cleaner import Cleaner
from ramify.ingest import Ingest
from ramify.listening import Listening
from ramify.model.mistake import UserMistake
from ramify.model.observation import Observation, Record
from ramify.query.service import Questions
from ramify.storage.base import StoreDown
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests import mesh_verdicts, story

SECRET = "hunter2-never-to-be-seen"


def deliveries(case: str) -> list[Delivery]:
    lines = [json.loads(line) for line in (story.CASES / "sam" / case / "messages.jsonl").read_bytes().splitlines()]
    return [Delivery(one["topic"], json.dumps(one["payload"]).encode(), one["user_properties"], handle=at) for at, one in enumerate(lines)]


class Scripted:
    """A broker that hands over what it is told to, and again whatever was not acknowledged when its listener died."""

    name = "scripted"
    gaps = 0
    reconnects = 0

    def __init__(self, waiting: list[Delivery]) -> None:
        self.waiting = list(waiting)
        self.out: dict[int, Delivery] = {}
        self.acknowledged: list[int] = []
        self.on_ack: Callable[[], None] = lambda: None

    @property
    def ended(self) -> bool:
        return not self.waiting

    def receive(self, seconds: float) -> Delivery | None:
        if not self.waiting:
            return None
        delivery = self.waiting.pop(0)
        self.out[delivery.handle] = delivery
        return delivery

    def ack(self, delivery: Delivery) -> None:
        self.on_ack()
        del self.out[delivery.handle]
        self.acknowledged.append(delivery.handle)

    def close(self) -> None:
        pass

    def redeliver(self) -> None:
        again = [Delivery(one.topic, one.payload, one.properties, True, one.handle) for one in self.out.values()]
        self.waiting = again + self.waiting
        self.out.clear()


class Died(Exception):
    pass


def listener(broker: Any, store: Sqlite, **options: Any) -> Listening:
    return Listening(broker, "default", Ingest(store, redaction=Cleaner()).take, **options)


def count(store: Sqlite) -> int:
    return len(list(store.observations()))


@pytest.mark.parametrize("case", ["simple", "workflow", "cancel"])
def test_what_a_broker_hands_over_becomes_the_run(case: str) -> None:
    store = open_sqlite("memory:")
    broker = Scripted(deliveries(case))
    listening = listener(broker, store)
    listening.run(threading.Event())
    assert mesh_verdicts.differences(Questions(store), story.expected("sam", case)) == []
    assert len(broker.acknowledged) == listening.heard.received == listening.heard.stored == len(deliveries(case))
    assert listening.heard.duplicates == 0


def test_death_between_commit_and_acknowledgement_loses_nothing_and_doubles_nothing() -> None:
    store = open_sqlite("memory:")
    broker = Scripted(deliveries("parallel"))
    deaths = 0

    def die() -> None:
        raise Died

    while not broker.ended or broker.out:
        broker.redeliver()
        broker.on_ack = die if deaths < 5 else (lambda: None)
        deaths += 1
        try:
            listener(broker, store).run(threading.Event())
        except Died:
            continue
    assert deaths > 5
    assert count(store) == len(deliveries("parallel"))
    assert mesh_verdicts.differences(Questions(store), story.expected("sam", "parallel")) == []


def test_nothing_is_acknowledged_while_the_store_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ramify.listening.RETRY_SECONDS", 0.01)
    broker, stopping, tries = Scripted(deliveries("plain")), threading.Event(), []

    def away(batch: list[Observation]) -> int:
        tries.append(len(batch))
        if len(tries) == 3:
            stopping.set()
        raise StoreDown("locked")

    Listening(broker, "default", away).run(stopping)
    assert len(tries) == 3
    assert broker.acknowledged == []


def test_what_cannot_be_understood_is_stored_and_acknowledged() -> None:
    store = open_sqlite("memory:")
    odd = [b"just words", b"\xff\x00", b"", b"[1, 2", b'{"a": NaN}', b'"text"']
    broker = Scripted([Delivery("x/y", payload, None, handle=at) for at, payload in enumerate(odd)])
    listener(broker, store).run(threading.Event())
    payloads = [json.loads(seen.body)["payload"] for _, seen in store.observations() if isinstance(seen, Record)]
    assert payloads[:4] == ["just words", {"binary_data": "ff00"}, None, "[1, 2"]
    assert len(broker.acknowledged) == len(odd) == len(payloads)


def test_a_topic_that_is_excluded_is_acknowledged_and_not_stored() -> None:
    store = open_sqlite("memory:")
    broker = Scripted([Delivery("n/a2a/v1/discovery/agentcards", b"{}", None, handle=1), Delivery("n/x", b"{}", None, handle=2)])
    listening = listener(broker, store, exclude=("n/a2a/v1/discovery/>",))
    listening.run(threading.Event())
    assert (listening.heard.received, listening.heard.excluded, count(store)) == (2, 1, 1)
    assert broker.acknowledged == [1, 2]


def test_a_replay_is_an_import_with_acknowledgements() -> None:
    lines = (story.CASES / "sam/simple/messages.jsonl").read_bytes()
    store = open_sqlite("memory:")
    replay = Replay("x", io.BytesIO(lines + b"\nnot json\n" + lines))
    listening = listener(replay, store)
    listening.run(threading.Event())
    assert (listening.heard.received, listening.heard.stored, listening.heard.duplicates, listening.heard.unreadable) == (55, 28, 27, 1)
    assert replay.acknowledged == 55
    assert mesh_verdicts.differences(Questions(store), story.expected("sam", "simple")) == []


def test_secrets_beside_a_message_are_not_stored() -> None:
    delivery = Delivery("t", b'{"metadata": {"api_key": "%s"}}' % SECRET.encode(), {"authToken": SECRET, "a": {"b": f"Bearer {SECRET}"}, "c": "eyJh.e30.x"})
    (read,) = records_of(delivery, "p", 1, "x", "UTC")
    assert isinstance(read.observations[0], Record)
    body = json.loads(read.observations[0].body)
    assert body["user_properties"] == {"authToken": "[redacted]", "a": {"b": "[redacted]"}, "c": "[redacted]"}
    assert SECRET not in read.observations[0].body.decode()


def test_the_subscriptions_are_those_of_the_namespace() -> None:
    assert subscriptions("demo/mesh/", (), ()) == ("demo/mesh/a2a/v1/>", "demo/mesh/sam/>", "sam/feedback/v1")
    assert "n/a2a/v1/gateway/>" in subscriptions("n", (), ("n/a2a/v1/discovery/>",))
    assert subscriptions("", ("a/*/b",), ()) == ("a/*/b",)
    assert as_mqtt("a/*/b/>") == "a/+/b/#"
    with pytest.raises(UserMistake, match="no namespace"):
        subscriptions("", (), ())


@pytest.mark.parametrize(
    ("topic", "pattern", "fits"),
    [("a/b/c", "a/>", True), ("a", "a/>", False), ("a/b", "a/*", True), ("a/b/c", "a/*", False), ("a/b", "a/b", True)],
)
def test_topics_fit_patterns(topic: str, pattern: str, fits: bool) -> None:
    assert is_excluded(topic, (pattern,)) is fits


def test_credentials_are_shown_nowhere() -> None:
    wanted = Wanted(broker="solace", host="tcp://127.0.0.1:1", namespace="n", username="u", password=SECRET)
    assert SECRET not in repr(wanted)
    with pytest.raises(UserMistake, match="holds a name or a password"):
        open_receiver(Wanted(broker="mqtt", host=f"mqtt://u:{SECRET}@h", namespace="n"))
    with pytest.raises(UserMistake, match="no broker"):
        open_receiver(Wanted(broker="mqtt", namespace="n"))


def test_a_client_that_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for broker, package in (("solace", "solace"), ("mqtt", "paho")):
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.setitem(sys.modules, f"{package}.messaging" if package == "solace" else "paho.mqtt", None)
        with pytest.raises(UserMistake) as mistake:
            open_receiver(Wanted(broker=broker, host=f"{'tcp' if broker == 'solace' else 'mqtt'}://127.0.0.1:1", namespace="n", username="me"))
        assert f"ramify[{broker}]" in str(mistake.value.hint)


def test_the_command_replays_from_standard_input(tmp_path: Path) -> None:
    lines = (story.CASES / "sam/plain/messages.jsonl").read_bytes()
    command = [sys.executable, "-m", "ramify", "listen", "solace", "--replay", "-", "--store", f"sqlite:{tmp_path}/x.db", "--json"]
    environment = {**os.environ, "SOLACE_BROKER_PASSWORD": SECRET}
    ran = subprocess.run(command, input=lines, capture_output=True, timeout=60, env=environment, check=True)
    assert json.loads(ran.stdout)["stored"] == 5
    assert SECRET.encode() not in ran.stdout + ran.stderr + (tmp_path / "x.db").read_bytes()
