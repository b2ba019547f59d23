"""What a real backend shows of the spans that Ramify sends. It is large, so it is only asked when somebody wants it: `make phoenix`."""

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.ports import free_port
from ramify.exporting.wish import Wish
from ramify.query.scope import scope
from tests.exporting.world import conversations, quiet, told
from tests.peers.a2a.environments import Unavailable, environment

REQUIREMENTS = ("arize-phoenix==20.26.1",)
SECONDS = 180.0
pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(not os.environ.get("RAMIFY_TEST_PHOENIX"), reason="a backend of 850 MB: make phoenix"),
]


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        python = environment("phoenix", REQUIREMENTS)
    except Unavailable as problem:
        pytest.skip(f"no Phoenix: {problem}")
    port, folder = free_port(), tmp_path_factory.mktemp("phoenix")
    own = {
        "PHOENIX_WORKING_DIR": str(folder), "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(port), "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false", "PYTHONPATH": "",
    }  # fmt: skip
    with (Path(folder) / "log").open("wb") as log:
        server = subprocess.Popen([str(python), "-m", "phoenix.server.main", "serve"], env={**os.environ, **own}, stdout=log, stderr=log)
        try:
            yield waited_for(f"http://127.0.0.1:{port}", server)
        finally:
            server.terminate()
            server.wait(30)


def waited_for(url: str, server: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        assert server.poll() is None, "Phoenix ended by itself"
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=5):
                return url
        except OSError:
            time.sleep(0.5)
    raise AssertionError("Phoenix did not start")


def shown(url: str, count: int) -> list[dict[str, Any]]:
    """Once it has taken as many: it stores a little later than it answers."""
    for _ in range(60):
        with urllib.request.urlopen(f"{url}/v1/projects/default/spans?limit=1000", timeout=10) as answer:
            spans: list[dict[str, Any]] = json.load(answer)["data"]
        if len(spans) >= count:
            return spans
        time.sleep(0.5)
    raise AssertionError(f"{len(spans)} of {count} spans arrived")


def test_the_same_tree_is_there(phoenix: str) -> None:
    """Of every protocol, and sent twice: the second time changes nothing."""
    ramify = told("claude/nested", "claude/parallel", "sam/parallel", "a2a/v1-depth2-fanout2", "events/async_fanout")
    sent, tasks = 0, {}
    for id in conversations(ramify):
        answer = ramify.exports.send(id, Wish("otlp"), phoenix, quiet)
        assert (answer["rejected"], answer["message"]) == (0, None)
        assert ramify.exports.send(id, Wish("otlp"), phoenix, quiet)["spans"] == answer["spans"]
        sent += answer["spans"]
        tasks |= {task["id"]: task for task in scope(ramify.questions, id).tasks}
    spans = {span["context"]["span_id"]: span for span in shown(phoenix, sent)}
    assert len(spans) == sent
    above = {span["attributes"]["ramify.task.id"]: owner(spans, span) for span in spans.values() if span["span_kind"] == "AGENT"}
    assert above == {id: (task["link"] or {}).get("parent") for id, task in tasks.items()}
    tokens = sum(span["attributes"].get("gen_ai.usage.output_tokens", 0) for span in spans.values())
    assert tokens == sum(task["usage"]["output"] for task in tasks.values())


def owner(spans: dict[str, dict[str, Any]], span: dict[str, Any]) -> str | None:
    """The task above, past the tool call that gave it."""
    above = spans.get(span["parent_id"] or "")
    while above is not None and above["span_kind"] != "AGENT":
        above = spans.get(above["parent_id"] or "")
    return above["attributes"]["ramify.task.id"] if above else None
