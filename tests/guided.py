"""Readers of strangers' bytes, each as a function of bytes, with recordings to begin from. Imported only by `tests.fuzz_guided`."""

import contextlib
import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from random import Random
from typing import Any

from ramify.app import Ramify
from ramify.capture.a2a.cards import rewrite
from ramify.capture.a2a.slices import Slices
from ramify.capture.redact import redact_json, redact_sse
from ramify.model.observation import Observation, Record, Request, Response
from ramify.protocols import model_api
from ramify.protocols.otel.request import read_json, read_protobuf
from ramify.protocols.wire.coding import decode
from ramify.protocols.wire.sse import payloads
from ramify.query.filter import BadFilter, read_filter
from tests.damage import recorded

Reader = Callable[[bytes], None]
FRESH = 200  # inputs that one store takes, so that they meet each other and it stays small
LINES = 6
CODINGS = (["gzip"], ["deflate"], ["br"], ["zstd"], ["gzip", "br"], ["identity", "x"])
PIECES = (1, 7, 64)
numbers = count()


class Taking:
    """A store that takes what it is given, and is another one from time to time."""

    def __init__(self) -> None:
        self._ramify: Ramify | None = None
        self._taken = 0

    def __call__(self, seen: list[Observation]) -> None:
        if self._ramify is None or self._taken >= FRESH:
            if self._ramify is not None:
                self._ramify.close()
            self._ramify, self._taken = Ramify.open("memory:"), 0
        self._taken += 1
        ingest = self._ramify.ingest
        ingest.step(seen)
        assert (ingest.unlinked, ingest.lost) == (0, 0)


taking = Taking()


def read_stream(raw: bytes) -> None:
    assert all(isinstance(payload, bytes) for payload in payloads(raw))
    clean = redact_sse(raw)
    assert redact_sse(clean) == clean


def search(raw: bytes) -> None:
    clean = redact_json(raw)
    assert redact_json(clean) == clean


def filtering(raw: bytes) -> None:
    with contextlib.suppress(BadFilter):
        read_filter(raw.decode("utf-8", "replace"))


def answering(path: str) -> Reader:
    def read(raw: bytes) -> None:
        for kind in ("text/event-stream", "application/json"):
            seen = Response("a", "default", 2, "proxy", "r", path, 200, (("content-type", kind),), raw, "complete", 2)
            model_api.decode_response(seen, model_api.read_answer(seen))

    return read


def asking(path: str) -> Reader:
    def read(raw: bytes) -> None:
        id = f"r{next(numbers)}"
        taking([Request(id, "default", 1, "proxy", id, "POST", path, (("x-claude-code-session-id", "s"),), raw)])

    return read


def reporting(format: str) -> Reader:
    """Lines as they come: decoder, linking and store."""

    def read(raw: bytes) -> None:
        first = next(numbers)
        lines = raw.split(b"\n")[:LINES]
        taking([Record(f"o{first}-{at}", "default", first, "test", format, f"{first}", line) for at, line in enumerate(lines)])

    return read


def spans(raw: bytes) -> None:
    with contextlib.suppress(ValueError):
        taking(list(read_json(raw, "default", "x").records))


def packed_spans(raw: bytes) -> None:
    for signal in ("traces", "logs"):
        with contextlib.suppress(ValueError):
            taking(list(read_protobuf(raw, signal, "default", "/v1/x").records))  # type: ignore[arg-type]


def unpacking(raw: bytes) -> None:
    found = decode(raw[1:], CODINGS[(raw[0] if raw else 0) % len(CODINGS)])
    assert found is None or isinstance(found, bytes)


def slicing(raw: bytes) -> None:
    for size in PIECES:
        slices = Slices(1000)
        got = [slices.add(raw[at : at + size]) for at in range(0, len(raw), size)]
        assert b"".join([*got, slices.rest()]) == raw


def card(raw: bytes) -> None:
    assert isinstance(rewrite(raw, "http://agent:1", "http://127.0.0.1:8377/a2a/a").body, bytes)


# -- how to go on ------------------------------------------------------------------------------------------------------

VALUES: tuple[object, ...] = (None, True, 0, -1, 1 << 63, 1e308, "", "x", "\ud83d", [], {}, [[]], {"": None}, "2026-01-01T00:00:00Z", "tool_use", "user")


def changed(raw: bytes, source: Random) -> bytes | None:
    """One value of one line of JSON becomes another one: bytes alone seldom stay JSON. None: there is none."""
    lines = raw.split(b"\n")
    at = source.randrange(len(lines))
    lead = b"data: " if lines[at].startswith(b"data: ") else b""
    try:
        document = json.loads(lines[at][len(lead) :])
    except (ValueError, RecursionError):
        return None
    places = list(places_in(document))
    if not places:
        return None
    above, key = source.choice(places)
    match source.randrange(5):
        case 0:
            del above[key]
        case 1:
            other, place = source.choice(places)
            above[key] = other[place]
        case 2 if isinstance(above, list):
            above.insert(key, above[key])
        case _:
            above[key] = source.choice(VALUES)
    try:
        lines[at] = lead + json.dumps(document).encode()
    except (ValueError, RecursionError):  # it has come to hold itself
        return None
    if source.randrange(6) == 0:
        source.shuffle(lines)
    return b"\n".join(lines)


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    waiting = [value]
    while waiting:
        above = waiting.pop()
        keys = list(above) if isinstance(above, dict) else range(len(above)) if isinstance(above, list) else ()
        for key in keys:
            yield above, key
            waiting.append(above[key])


# -- where to begin ----------------------------------------------------------------------------------------------------


@cache
def exchanges() -> list[dict[str, dict[str, object]]]:
    return [json.loads(line) for lines in recorded("anthropic/*/exchanges.jsonl") for line in lines[:4]]


def said() -> list[bytes]:
    found = [given["response"] for given in exchanges() if given.get("response")]
    return [str(one["sse"]).encode() for one in found if one.get("sse")] + [json.dumps(one["body"]).encode() for one in found if one.get("body")]


def asked() -> list[bytes]:
    return [json.dumps(given["request"].get("body")).encode() for given in exchanges()]


def lines(*patterns: str) -> Callable[[], list[bytes]]:
    return lambda: [b"\n".join(found[at : at + LINES]) for found in recorded(*patterns) for at in range(0, min(len(found), 40), LINES)]


def few_spans() -> list[bytes]:
    """A request of its own for each span: whole ones are too long to be changed quickly."""
    found: list[bytes] = []
    for line in (line for lines in recorded("**/otlp.jsonl") for line in lines):
        for resource in json.loads(line).get("resourceSpans", ()):
            for scope in resource.get("scopeSpans", ()):
                found += [json.dumps({"resourceSpans": [{**resource, "scopeSpans": [{**scope, "spans": [span]}]}]}).encode() for span in scope["spans"][:20]]
    return found


def traces() -> list[bytes]:
    from tests.fuzz_wire import packed_traces

    return packed_traces()


def filters() -> list[bytes]:
    return [b'tool:Bash status:failed cost>0.5 since:2h -is:subtask "two words"', b"tokens>=10k agent=HR* model:a,b", b"-(", b'"']


def cards() -> list[bytes]:
    return [
        b'{"name": "a", "url": "http://agent:1/x", "additionalInterfaces": [{"url": "http://agent:1/y", "transport": "JSONRPC"}]}',
        b'{"name": "a", "supportedInterfaces": [{"url": "http://agent:1/", "protocolBinding": "HTTP+JSON"}], "signatures": [{}]}',
    ]


def packed() -> list[bytes]:
    import gzip
    import zlib

    return [b"\x00" + gzip.compress(b"hello " * 50), b"\x01" + zlib.compress(b"hello " * 50), b"\x05" + b"plain"]


TARGETS: dict[str, tuple[Reader, Callable[[], list[bytes]]]] = {
    "sse": (read_stream, said),
    "secrets": (search, said),
    "filter": (filtering, filters),
    "anthropic-answer": (answering("/v1/messages"), said),
    "openai-chat-answer": (answering("/openai/v1/chat/completions"), said),
    "openai-responses-answer": (answering("/openai/v1/responses"), said),
    "anthropic-request": (asking("/v1/messages"), asked),
    "openai-chat-request": (asking("/openai/v1/chat/completions"), asked),
    "openai-responses-request": (asking("/openai/v1/responses"), asked),
    "claude": (reporting("claude"), lines("claude*/**/*-*-*-*-*.jsonl")),
    "stream-json": (reporting("stream-json"), lines("claude*/**/stream.jsonl")),
    "claude-hooks": (reporting("claude-hook"), lines("claude*/**/hooks.jsonl")),
    "a2a": (reporting("a2a"), lines("a2a/*/frames.jsonl")),
    "sam": (reporting("sam"), lines("sam/**/messages.jsonl")),
    "adcp": (reporting("adcp"), lines("events/**/records.jsonl")),
    "otlp": (spans, few_spans),
    "otlp-protobuf": (packed_spans, traces),
    "packed": (unpacking, packed),
    "slices": (slicing, said),
    "card": (card, cards),
}
