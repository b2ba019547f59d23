"""Findings, comparisons and sums over HTTP, from a real server on a real store; the shapes are those that are described."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from ramify.web.insight_shapes import Comparison, Findings, Statistics
from tests.browser.world import World, world
from tests.linking.world_builder import Story, result, use
from tests.test_notifying import listener


def ask(server: World, path: str) -> Any:
    with urllib.request.urlopen(server.url + path) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def server() -> Iterator[World]:
    with world() as served:
        story = Story()
        for session in ("a", "b"):
            line = story.line(session=session).ask(f"{session}1", "use [redacted] to count", use(f"toolu_{session}", command=f"count {session}"))
            line.ask(f"{session}2", result(f"toolu_{session}"), "done")
        served.see(one for seen in story.seen for one in seen)
        yield served


def test_sums_are_answered_in_their_shape(server: World) -> None:
    answer = ask(server, "/api/stats?by=day,model&since=all")
    told = msgspec.convert({**answer}, Statistics)
    assert told.by == ["day", "model"]
    assert told.total.calls is not None
    assert told.total.calls.count == 4
    assert answer["seq"] > 0
    assert "conversations" in ask(server, "/api/stats")


def test_a_comparison_is_answered_in_its_shape(server: World) -> None:
    told = msgspec.convert(ask(server, "/api/compare?a=a&b=b"), Comparison)
    assert told.parting is not None
    assert told.parting.kind == "input"
    assert told.parting.a is not None
    assert told.parting.a.act is not None
    assert told.parting.a.act.text == "count a"


def test_findings_are_answered_in_their_shape(server: World) -> None:
    told = msgspec.convert(ask(server, "/api/lint"), Findings)
    assert [one.check for one in told.items] == ["secret-in-prompt"] * 2
    assert told.hook is None
    assert len(ask(server, "/api/lint?id=a")["items"]) == 1
    assert ask(server, "/api/lint?check=looping")["items"] == []


@pytest.mark.parametrize("path", ["/api/stats?by=week", "/api/compare?a=a", "/api/lint?check=all", "/api/stats?by=day&since=soon"])
def test_a_mistake_is_the_askers(server: World, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as raised:
        ask(server, path)
    assert raised.value.code == 400
    assert json.load(raised.value)["error"]["message"]


def test_a_server_tells_the_address_that_was_named_and_says_so_in_health() -> None:
    with listener() as (url, heard), world(on_finding=url) as served:
        time.sleep(0.1)
        story = Story()
        story.line(session="s").ask("a", "use [redacted] now", "done", at=time.time() - 1_790_000_000)
        served.see(one for seen in story.seen for one in seen)
        end = time.monotonic() + 30
        while not heard and time.monotonic() < end:
            time.sleep(0.2)
        while ask(served, "/api/health")["findings"]["told"] == 0 and time.monotonic() < end:
            time.sleep(0.2)
        assert json.loads(heard[0])["check"] == "secret-in-prompt"
        assert ask(served, "/api/lint")["hook"] == {"told": 1, "failed": 0, "waiting": 0, "problem": None}
