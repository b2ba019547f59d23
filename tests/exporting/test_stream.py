"""Everything that ends goes to an endpoint as spans: once, whole, bounded, and never in the way of capture."""

import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from ramify.app import Ramify
from ramify.exporting import stream as module
from ramify.exporting.offer import spans
from ramify.exporting.sending import Endpoint
from ramify.exporting.stream import SpanStream
from ramify.exporting.wish import Wish
from ramify.model.entity import Task
from ramify.query.scope import scope
from tests.browser.world import World, world
from tests.exporting.test_sending import Receiver, receiving
from tests.exporting.world import conversations, told


def until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)


def arrived(server: Receiver) -> dict[bytes, bytes]:
    """Parents by span, as the endpoint has them."""
    every = [span for one in server.requests for group in one.resource_spans for own in group.scope_spans for span in own.spans]
    assert len({span.span_id for span in every}) == len(every), "each once"
    return {span.span_id: span.parent_span_id for span in every}


def whole(ramify: Ramify) -> dict[bytes, bytes]:
    found = [span for id in conversations(ramify) for span in spans(ramify.questions, scope(ramify.questions, id), Wish("otlp"))]
    return {span.id: span.parent for span in found if "ramify.open" not in span.attributes or not span.attributes["ramify.open"]}


def stream(ramify: Ramify, server: Receiver | str, settle: float = 0.0) -> SpanStream:
    address = server if isinstance(server, str) else server.address
    return SpanStream(ramify.store, Endpoint(address, {}), False, lambda: 0, settle)


def rows(ramify: Ramify) -> dict[tuple[str, str], object]:
    return {(table, row.id): row for table in ("tasks", "calls", "tools") for row in ramify.store.docs(table)}


@pytest.mark.parametrize("store", ["memory:", "sqlite"])
def test_a_server_sends_on_what_it_captures(store: str, tmp_path: Path) -> None:
    """Also where its writer is a process of its own."""
    place = store if store == "memory:" else f"sqlite:{tmp_path}/store.db"
    with receiving() as server, world(otlp_to=server.address, store=place) as served:
        served.play()
        wanted = whole(served.served)
        assert len(wanted) > 20
        until(lambda: len(arrived(server)) >= len(wanted))
        assert arrived(server) == wanted
        until(lambda: figures(served) == {"sent_total": len(wanted), "dropped_total": 0, "waiting": 0})
        health = served.served.health()["otlp"]
        assert (health["sent"], health["problem"]) == (len(wanted), None)
        assert "gen_ai.input.messages" not in str(server.requests)


def figures(server: World) -> dict[str, int]:
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    found = dict(line.split() for line in lines if line.startswith("ramify_otlp"))
    return {name.removeprefix("ramify_otlp_").removeprefix("spans_"): int(value) for name, value in found.items()}


def test_nothing_is_lost_while_the_endpoint_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.1)
    ramify = told("claude/nested")
    with receiving() as server:
        server.answers = [(503, {}, b"")] * 3
        sending = stream(ramify, server)
        sending.start()
        sending.heard(rows(ramify))  # type: ignore[arg-type]
        until(lambda: sending.state()["problem"] is not None)
        assert sending.state()["sent"] == 0
        until(lambda: sending.state()["sent"] == 12)
        assert arrived(server) == whole(ramify)
        sending.heard(rows(ramify))  # type: ignore[arg-type]
        time.sleep(0.6)
        assert sending.state() == {"to": f"{server.address}/v1/traces", "sent": 12, "dropped": 0, "waiting": 0, "problem": None}
        sending.close()


def test_what_is_refused_is_dropped_and_counted() -> None:
    ramify = told("claude/nested")
    with receiving() as server:
        server.answers = [(400, {}, b"no")]
        sending = stream(ramify, server)
        sending.start()
        sending.heard(rows(ramify))  # type: ignore[arg-type]
        until(lambda: sending.state()["dropped"] == 12)
        assert "answered 400" in sending.state()["problem"]
        sending.close()


def test_what_waits_is_bounded_and_hearing_never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 1000)
    sending = stream(Ramify.open("memory:"), "http://127.0.0.1:1")
    began = time.monotonic()
    for start in range(0, 5000, 100):
        sending.heard({("tasks", f"task_{n}"): Task(f"task_{n}", status="completed", closed=1) for n in range(start, start + 100)})
    assert time.monotonic() - began < 1.0
    assert (sending.state()["waiting"], sending.state()["dropped"]) == (1000, 4000)


def test_what_has_not_ended_is_not_sent_and_an_end_sends_what_waits() -> None:
    ramify = told("claude/nested")
    with receiving() as server:
        sending = stream(ramify, server, settle=60.0)
        sending.start()
        sending.heard(rows(ramify))  # type: ignore[arg-type]
        sending.heard({("tasks", "task_x"): Task("task_x", status="working", opened=1)})
        assert sending.state()["waiting"] == 12
        sending.close()
        assert arrived(server) == whole(ramify)


def test_what_others_wrote_is_found() -> None:
    ramify = told("sam/parallel")
    with receiving() as server:
        sending = stream(ramify, server)
        sending.start()
        sending.heard(None)
        until(lambda: len(server.requests) > 0)
        sending.close()
        assert arrived(server) == whole(ramify)
