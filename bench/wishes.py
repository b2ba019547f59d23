"""What a client asks for, and what an upstream will answer to it: a pure function of a number, so that both can be compared.

A wish stands in the last words of a request: its number, how it is asked, and how the upstream is to fail.
"""

import json
import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from bench.traffic import prose
from ramify.demo.wire import Json, Reply, error_body, events, text, whole

WAYS = ("stream", "plain", "chat", "chatplain", "agent")
FAULTS = ("ok", "error", "cut", "drop", "slow", "large")
WEIGHTS = (70, 7, 7, 3, 8, 5)
STATUSES = (429, 500, 529)
MARK = re.compile(rb"soak-(\d+)-([a-z]+)-([a-z]+)")
MODEL = "claude-sonnet-5"
LARGE = 300_000


class Wish(NamedTuple):
    number: int
    way: str
    fault: str

    @property
    def mark(self) -> str:
        return f"soak-{self.number}-{self.way}-{self.fault}"


class Answered(NamedTuple):
    """`pieces` as they go out; `sent` of them before the upstream cuts the connection (None: it does not)."""

    status: int
    type: str
    pieces: tuple[bytes, ...]
    sent: int | None = None
    pause: float = 0.0  # seconds between two pieces

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces[: self.sent])


def drawn(number: int, source: random.Random) -> Wish:
    return Wish(number, source.choice(WAYS), source.choices(FAULTS, WEIGHTS)[0])


def wished(raw: bytes) -> Wish:
    """Histories hold the wishes of earlier turns: the last one counts. Who only asks how a task is gets an error."""
    number, way, fault = (MARK.findall(raw) or [(b"1", b"plain", b"error")])[-1]
    return Wish(int(number), way.decode(), fault.decode())


# -- what is asked -----------------------------------------------------------------------------------------------------------


def asked(wish: Wish, history: list[Json]) -> tuple[str, Json]:
    """The path, and the body."""
    said = {"role": "user", "content": f"{prose(random.Random(wish.number), 400)} {wish.mark}"}
    if wish.way == "agent":
        parts = [{"text": said["content"]}]
        message = {"messageId": f"m{wish.number}", "role": "ROLE_USER", "parts": parts}
        return "/a2a/soak/", {"jsonrpc": "2.0", "id": wish.number, "method": "SendStreamingMessage", "params": {"message": message}}
    if wish.way.startswith("chat"):
        return "/openai/v1/chat/completions", {"model": "gpt-5.2", "stream": wish.way == "chat", "messages": [*history, said]}
    return "/v1/messages", {"model": MODEL, "max_tokens": 4000, "stream": wish.way == "stream", "messages": [*history, said]}


# -- what is answered --------------------------------------------------------------------------------------------------------


def answer(wish: Wish) -> Answered:
    if wish.fault == "error":
        status = STATUSES[wish.number % len(STATUSES)]
        return Answered(status, "application/json", (json.dumps(error_body(status, "", f"req_{wish.number}")).encode(),))
    pieces = tuple(PIECES[wish.way](wish, words(wish)))
    kind = "application/json" if wish.way.endswith("plain") else "text/event-stream"
    sent = {"cut": max(1, len(pieces) // 2), "drop": 0}.get(wish.fault)
    if sent is not None and len(pieces) == 1:  # a whole answer is cut in the middle of its only piece
        pieces = (pieces[0][: len(pieces[0]) // 2], pieces[0][len(pieces[0]) // 2 :])
    return Answered(200, kind, pieces, sent, 3.0 / len(pieces) if wish.fault == "slow" else 0.0)


def words(wish: Wish) -> str:
    source = random.Random(f"answer {wish.number}")
    return prose(source, LARGE if wish.fault == "large" else source.randint(60, 900))


def spoken(wish: Wish, said: str) -> Iterator[bytes]:
    yield from grouped(events(Reply(content=(text(said),)), f"{wish.number:024d}", MODEL))


def written(wish: Wish, said: str) -> Iterator[bytes]:
    yield json.dumps(whole(Reply(content=(text(said),)), f"{wish.number:024d}", MODEL)).encode()


def chatted(wish: Wish, said: str) -> Iterator[bytes]:
    def chunk(delta: Json, reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        body = {"id": f"chatcmpl-{wish.number}", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": "gpt-5.2", "choices": [choice]}
        return b"data: %s\n\n" % json.dumps(body).encode()

    yield chunk({"role": "assistant", "content": ""})
    yield from grouped(chunk({"content": said[at : at + 40]}) for at in range(0, len(said), 40))
    yield chunk({}, "stop")
    yield b"data: [DONE]\n\n"


def chatted_whole(wish: Wish, said: str) -> Iterator[bytes]:
    choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29}
    yield json.dumps({"id": f"chatcmpl-{wish.number}", "object": "chat.completion", "created": 1, "model": "gpt-5.2", "choices": [choice], "usage": usage}).encode()


def worked(wish: Wish, said: str) -> Iterator[bytes]:
    """A task of an A2A agent, from its beginning to its end."""
    task, context = f"task-{wish.number}", f"context-{wish.number // 20}"

    def told(result: dict[str, Any]) -> bytes:
        return b"data: %s\n\n" % json.dumps({"jsonrpc": "2.0", "id": wish.number, "result": result}).encode()

    def moved(state: str) -> bytes:
        return told({"statusUpdate": {"taskId": task, "contextId": context, "status": {"state": f"TASK_STATE_{state}"}}})

    yield told({"task": {"id": task, "contextId": context, "status": {"state": "TASK_STATE_SUBMITTED"}}})
    yield moved("WORKING")
    for at in range(0, len(said), 4000):
        artifact = {"artifactId": f"a{wish.number}", "parts": [{"text": said[at : at + 4000]}]}
        last = at + 4000 >= len(said)
        yield told({"artifactUpdate": {"taskId": task, "contextId": context, "artifact": artifact, "append": at > 0, "lastChunk": last}})
    yield moved("COMPLETED")


def grouped(pieces: Iterator[bytes], most: int = 40) -> Iterator[bytes]:
    """Together where there are very many: a large answer is no long one."""
    every = list(pieces)
    size = max(1, len(every) // most)
    for at in range(0, len(every), size):
        yield b"".join(every[at : at + size])


PIECES = {"stream": spoken, "plain": written, "chat": chatted, "chatplain": chatted_whole, "agent": worked}
