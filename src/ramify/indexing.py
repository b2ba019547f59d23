"""Fills the full-text index behind the writer, from the log: people's and agents' words, tool inputs and results."""

import threading
from collections.abc import Iterator
from typing import Any

import msgspec

from ramify.model import ids
from ramify.model.entity import Call
from ramify.model.observation import Observation, Request, Response
from ramify.protocols.anthropic.decode import is_model_call, plain_body, read_answer
from ramify.protocols.anthropic.normal import blocks_of, normal_text, result_text
from ramify.protocols.anthropic.wire import Envelope, read_envelope
from ramify.storage.base import Store, Words

LONGEST = 200_000  # characters of one text; the rest of a giant result is found by looking, not by searching
BATCH = 100


def texts_of(block: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(block, dict):
        return
    match block.get("type"):
        case "text":
            yield "text", normal_text(str(block.get("text") or ""))
        case "thinking":
            yield "thinking", str(block.get("thinking") or "")
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            yield "input", msgspec.json.encode(block.get("input", block.get("input_text"))).decode()
        case "tool_result":
            yield "result", normal_text(result_text(block.get("content")))
        case _:
            pass


def words_of(store: Store, seen: Observation) -> list[Words]:
    if isinstance(seen, Request) and is_model_call(seen.method, seen.path):
        return _asked(store, seen)
    if isinstance(seen, Response) and is_model_call("POST", seen.path):
        return _answered(seen)
    return []


def _asked(store: Store, seen: Request) -> list[Words]:
    call = store.load("calls", ids.call_id(seen.id))
    envelope = read_envelope(plain_body(seen.body, seen.headers))
    if not isinstance(call, Call) or call.attempt_of or not isinstance(envelope, Envelope):
        return []
    found: list[Words] = []
    for index in range(call.new_message, len(envelope.messages)):
        try:
            message = msgspec.json.decode(envelope.messages[index])
        except (msgspec.MsgspecError, RecursionError):
            continue
        first = call.new_block if index == call.new_message else 0
        for at, block in enumerate(blocks_of(message.get("content") if isinstance(message, dict) else None)):
            if at >= first:
                found += [Words(call.id, "request", index, at, kind, text[:LONGEST]) for kind, text in texts_of(block) if text]
    return found


def _answered(seen: Response) -> list[Words]:
    answer = read_answer(seen)
    call = ids.call_id(seen.request)
    return [
        Words(call, "response", 0, at, kind, text[:LONGEST])
        for at, block in enumerate(answer.blocks)
        for kind, text in texts_of(block)
        if text
    ]


class Indexer:
    """A thread that follows the log at its own pace."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._more = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ramify-index", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._more.set()

    def catch_up(self) -> int:
        """Indexes what is new; how many observations that were."""
        texts: list[Words] = []
        seen_count, last = 0, self.store.search.indexed()
        for seq, seen in self.store.observations(last):
            texts += words_of(self.store, seen)
            seen_count, last = seen_count + 1, seq
            if seen_count % BATCH == 0:
                self.store.search.add(texts, last)
                texts = []
                if self._stop.is_set():
                    return seen_count
        if seen_count % BATCH:
            self.store.search.add(texts, last)
        return seen_count

    def _run(self) -> None:
        while not self._stop.is_set():
            self._more.wait(timeout=30)
            self._more.clear()
            if not self._stop.is_set():
                self.catch_up()
                self._stop.wait(0.2)  # gather: many small transactions cost more than one

    def close(self) -> None:
        self._stop.set()
        self._more.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)
