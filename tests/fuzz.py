"""What was recorded, damaged in every way, read by everything that reads: `python -m tests.fuzz [--seconds 60] [TARGET…]`.

Each target has the same share of time, and new examples in every run; a failure is shrunk and printed with the seed that found it.
Reading never raises past its reader, so what counts as a failure is also what ingest had to keep unlinked because of a bug of ours.
"""

import argparse
import contextlib
import json
import logging
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from ramify.app import Ramify
from ramify.capture.a2a.secrets import redact_stream
from ramify.capture.redact import redact_headers, redact_json, redact_sse
from ramify.model.mistake import UserMistake
from ramify.model.observation import Request, Response
from ramify.protocols.wire.sse import payloads
from ramify.query.filter import BadFilter, read_filter
from tests.damage import damaged, file_of, recorded
from tests.fuzz_wire import WIRE, resident

ROUND = 50
SLOWEST = 10.0
"""Seconds of CPU for one example of a few kilobytes."""
# -- targets -----------------------------------------------------------------------------------------------------------


def importing(format: str, name: str, *patterns: str) -> Callable[[st.DataObject], None]:
    """Through the importer, the decoder, linking and a store, and asked about afterwards."""
    known = recorded(*patterns)
    assert known, patterns

    def check(data: st.DataObject) -> None:
        raw = file_of(known, data)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(raw)
            ramify = Ramify.open("memory:")
            try:
                with contextlib.suppress(UserMistake):  # a file of no known kind, which is said so
                    ramify.import_paths([path], format, lambda done, total: None)
                assert (ramify.ingest.unlinked, ramify.ingest.lost) == (0, 0), raw
                for task in ramify.questions.tasks()["items"][:3]:
                    ramify.questions.tree(task["id"])
            finally:
                ramify.close()

    return check


def answered(path: str) -> Callable[[st.DataObject], None]:
    """A request and an answer as the proxy hands them on, whatever the answer is."""
    streams = [json.loads(line).get("response") or {} for lines in recorded("anthropic/*/exchanges.jsonl") for line in lines]
    raws = [given["sse"].encode() for given in streams if given.get("sse")]
    body = b'{"model": "m", "max_tokens": 1, "stream": true, "messages": [{"role": "user", "content": "hello"}]}'

    def check(data: st.DataObject) -> None:
        raw = b"\n".join(damaged(line, data) for line in data.draw(st.sampled_from(raws)).split(b"\n")[:60])
        kind = data.draw(st.sampled_from(["text/event-stream", "application/json", "", "text/event-stream; charset=x"]))
        coding = data.draw(st.sampled_from(["", "", "gzip", "br", "zstd", "deflate", "nonsense, gzip"]))
        headers = (("content-type", kind), ("content-encoding", coding))
        asked = Request("r", "default", 1, "proxy", "r", "POST", path, (), damaged(body, data))
        ramify = Ramify.open("memory:")
        try:
            ramify.ingest.step([asked, Response("a", "default", 2, "proxy", "r", path, 200, headers, raw, "complete", 2)])
            assert (ramify.ingest.unlinked, ramify.ingest.lost) == (0, 0), raw
        finally:
            ramify.close()

    return check


def read_any_stream(data: st.DataObject) -> None:
    raw = b"".join(data.draw(st.lists(st.sampled_from([b"data:", b" ", b"\n", b"\r", b"\r\n", b"event: x", b":", b"id"]) | st.binary(max_size=6), max_size=40)))
    for payload in payloads(raw):
        assert isinstance(payload, bytes)
    assert redact_sse(redact_sse(raw)) == redact_sse(raw)


TERMS = ["tool:", "status:", "cost>", "tokens>=", "since:", "is:", "-", '"', "\\", ",", "*", "2h", "0.5", "failed", " ", "agent=", "<", ":", "(", "🌳", "\x00"]


def read_any_filter(data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(TERMS) | st.text(max_size=4), max_size=30)))
    with contextlib.suppress(BadFilter):  # which says where it is wrong
        read_filter(text)


def search_any_text(data: st.DataObject) -> None:
    words = ["token=", "password: ", "Bearer ", "sk-", "eyJ", "://a:", "@", "cookie: a=", '"auth": "', "a1B2c3D4e5F6g7H8", "\\u002d", "\\u0022", "\\/", "\\u005c", '<api_key>', 'name="token"\r\n\r\n', "\\n", '\\"', '"', "_", ".", "\n", "-----BEGIN "]
    raw = "".join(data.draw(st.lists(st.sampled_from(words) | st.text(max_size=5), max_size=40))).encode("utf-8", "surrogatepass")
    clean = redact_json(raw)
    assert redact_json(clean) == clean
    redact_headers((("x", raw.decode("utf-8", "surrogatepass")),))


SECRET = "sk-ant-api03-Zq8Kx2Lm7Np4Rt9Vw3Yb6Dc1Fg5Hj0Qs"
GROWING: dict[str, tuple[Callable[[str], object], Callable[[bytes], bytes]]] = {
    "a2a": (
        lambda text: {"artifactUpdate": {"taskId": "t", "append": True, "artifact": {"artifactId": "a", "parts": [{"text": text}]}}},
        redact_stream,
    ),
    "anthropic": (lambda text: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}, redact_sse),
    "openai": (lambda text: {"choices": [{"index": 0, "delta": {"content": text}}]}, redact_sse),
}


def grow_any_text(data: st.DataObject) -> None:
    """A secret among words, cut anywhere, with other events between; whole or damaged, no half of it may stay where it can be read."""
    form, redact = GROWING[data.draw(st.sampled_from(sorted(GROWING)))]
    words = data.draw(st.lists(st.sampled_from(["the key is ", "\n", "token=", "-", " and ", "`", "é", "🌳", "\\", '"']) | st.text(max_size=4), max_size=6))
    at = data.draw(st.integers(0, len(words)))
    text = "".join([*words[:at], " ", SECRET, " ", *words[at:]])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    ending = data.draw(st.sampled_from(["\n\n", "\r\n\r\n", "\r\r"]))
    told = [f"data: {json.dumps(form(piece))}{ending}".encode("utf-8", "surrogatepass") for piece in pieces]
    clean = redact(b"".join(told))
    assert SECRET not in read_back(clean), clean
    assert redact(clean) == clean
    redact(b"".join(damaged(event, data) for event in told))


def read_back(raw: bytes) -> str:
    """What whoever reads the stream puts together."""
    texts: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, dict):
            texts.extend(one for name, one in value.items() if name in ("text", "content") and isinstance(one, str))
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(inner)

    for payload in payloads(raw):
        walk(json.loads(payload))
    return "".join(texts)


TARGETS: dict[str, Callable[[st.DataObject], None]] = {
    "sse": read_any_stream,
    "filter": read_any_filter,
    "secrets": search_any_text,
    "growing-secrets": grow_any_text,
    "anthropic-answer": answered("/v1/messages"),
    "openai-chat-answer": answered("/openai/v1/chat/completions"),
    "openai-responses-answer": answered("/openai/v1/responses"),
    "exchanges": importing("exchanges", "exchanges.jsonl", "anthropic/*/exchanges.jsonl"),
    "claude": importing("claude", "0c3e8b52-1111-4222-8333-444455556666.jsonl", "claude*/**/*-*-*-*-*.jsonl"),
    "stream-json": importing("stream-json", "stream.jsonl", "claude*/**/stream.jsonl"),
    "claude-hooks": importing("claude-hooks", "hooks.jsonl", "claude*/**/hooks.jsonl"),
    "a2a": importing("a2a", "frames.jsonl", "a2a/*/frames.jsonl"),
    "sam": importing("sam", "messages.jsonl", "sam/**/messages.jsonl"),
    "adcp": importing("adcp", "records.jsonl", "events/**/records.jsonl"),
    "otlp": importing("otlp", "otlp.jsonl", "**/otlp.jsonl"),
    "auto": importing("auto", "anything.jsonl", "anthropic/l*/exchanges.jsonl", "a2a/*/frames.jsonl", "sam/**/messages.jsonl", "events/**/records.jsonl"),
    **WIRE,
}


# -- running -----------------------------------------------------------------------------------------------------------


def timed(check: Callable[[st.DataObject], None]) -> Callable[[st.DataObject], None]:
    def run(data: st.DataObject) -> None:
        began = time.process_time()
        check(data)
        assert time.process_time() - began < SLOWEST, "one example took too long"

    return run


def run_target(name: str, seconds: float, first: int) -> tuple[int, int | None]:
    """How many examples there were, and the seed of the round that failed."""
    end = time.monotonic() + seconds
    number = first
    relaxed = settings(
        max_examples=ROUND, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate, Phase.shrink]
    )
    while time.monotonic() < end:
        try:
            seed(number)(relaxed(given(st.data())(timed(TARGETS[name]))))()
        except Exception:
            traceback.print_exc()
            return (number - first + 1) * ROUND, number
        number += 1
    return (number - first) * ROUND, None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first round; later ones count on")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    failed = []
    for name in asked.targets or TARGETS:
        examples, bad = run_target(name, asked.seconds, asked.seed)
        print(f"{name:26}{examples:8} examples {resident():6.0f} MiB  {'ok' if bad is None else f'FAILED with --seed {bad}'}", flush=True)
        failed += [] if bad is None else [name]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
