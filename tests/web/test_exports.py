"""Runs as files over HTTP: named, never shown as a page of ours, and told about beforehand."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any

import pytest

from tests.browser.world import World, world


@pytest.fixture(scope="module")
def server() -> Iterator[World]:
    with world() as served:
        served.play()
        yield served


def get(server: World, path: str) -> tuple[HTTPResponse, bytes]:
    with urllib.request.urlopen(f"{server.url}/api/{path}", timeout=30) as response:
        return response, response.read()


@pytest.mark.parametrize(("to", "kind", "ending", "begins"), [
    ("html", "text/html", "html", b"<!doctype html>"),
    ("markdown", "text/markdown", "md", b"# "),
    ("jsonl", "application/x-ndjson", "jsonl", b'{"ramify":"observations"'),
    ("otlp", "application/x-ndjson", "otlp.jsonl", b'{"resourceSpans":'),
    ("parquet", "application/zip", "parquet.zip", b"PK"),
])  # fmt: skip
@pytest.mark.parametrize("place", ["tasks", "conversations"])
def test_every_format_comes_as_a_file(server: World, place: str, to: str, kind: str, ending: str, begins: bytes) -> None:
    id = getattr(server.served.questions, place)()["items"][0]["id"]
    response, body = get(server, f"{place}/{id}/export?to={to}")
    assert body.startswith(begins)
    assert response.headers["content-type"] == kind
    assert response.headers["content-disposition"] == f'attachment; filename="ramify-{id}.{ending}"'
    assert response.headers["content-security-policy"] == "sandbox; default-src 'none'"


def test_a_preview_says_what_would_be_in_it(server: World) -> None:
    id = server.served.questions.conversations()["items"][0]["id"]
    preview: dict[str, Any] = json.loads(get(server, f"conversations/{id}/export/preview?to=html&results=false")[1])
    assert preview["holds"]["tasks"] > 3
    assert "what tools gave back" in preview["left_out"]
    _, body = get(server, f"conversations/{id}/export?to=html&results=false")
    assert preview["bytes"] == len(body)
    assert preview["redacted"] == {}


@pytest.mark.parametrize(("path", "status"), [("tasks/nobody/export?to=html", 404), ("tasks/ID/export?to=pdf", 400), ("tasks/ID/export", 400), ("tasks/ID/export?to=jsonl&results=false", 400)])
def test_mistakes_are_explained(server: World, path: str, status: int) -> None:
    id = server.served.questions.tasks()["items"][0]["id"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(server, path.replace("ID", id))
    with refused.value as answer:
        assert answer.code == status
        assert json.load(answer)["error"]["hint"]
