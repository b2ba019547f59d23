"""Fills the full-text index behind the writer, from the log: people's and agents' words, tool inputs and results."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from ramify.model import ids
from ramify.model.entity import Call, Entity, Message, Note, ToolCall
from ramify.model.event import MessageSaid
from ramify.model.kept_text import kept_texts
from ramify.model.observation import Observation, Record, Request, Response
from ramify.protocols.anthropic.normal import blocks_of, normal_text, result_text
from ramify.protocols.claude import decode as claude
from ramify.protocols.model_api import is_model_call, messages_of, read_answer
from ramify.storage.base import Store, StoreDown, Words
from ramify.storage.wording import project_word

LONGEST = 200_000  # characters of one text; the rest of a giant result is found by looking, not by searching
SMALLER = 5  # times are stretches while the writer has work
STRETCH_CHARACTERS = 4_000_000
GIVE_WAY = 4  # times as long as it has worked it rests while the writer has work
PATIENCE = 5.0  # seconds that the index may lag because the writer is at work; then it goes on, and gives way
LOOK_SECONDS = 0.05
WINDOW, LOADED = 0.25, 0.2  # of so many seconds the writer works this part or more: what comes may go on
RETRY_SECONDS = 5.0
CLOSE_SECONDS = 2.0  # that the end of a writer may be put off for words that nobody has indexed yet
FORM, EDITION = "words", 2  # one more whenever texts are indexed in another form
log = logging.getLogger("ramify")
Load = Callable[[str], Entity | None]
"""A call by its id."""


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


def words_of(load: Load, seen: Observation) -> list[Words]:
    if isinstance(seen, Request) and is_model_call(seen.method, seen.path):
        return _asked(load(ids.call_id(seen.id)), seen)
    if isinstance(seen, Response) and is_model_call("POST", seen.path):
        return _answered(seen)
    if isinstance(seen, Record) and seen.format in claude.FORMATS:
        return _reported(seen)
    return []


def ever_words_of(store: Store, seen: Observation) -> list[Words]:
    """All that may have been indexed of it, whatever its rows said at that time."""
    if isinstance(seen, Request) and is_model_call(seen.method, seen.path):
        return marked(_said_in(seen, ids.call_id(seen.id), 0, 0), seen.project)
    return marked(words_of(lambda id: store.load("calls", id), seen), seen.project)


def marked(texts: Sequence[Words], project: str) -> list[Words]:
    """Whose a text is stands in it as a word: who may see one project is led to its texts by the index itself."""
    word = project_word(project)
    return [replace(one, text=f"{one.text} {word}") for one in texts]


def is_current(store: Store) -> bool:
    """An index of an earlier version holds its texts in another form."""
    return store.fact(FORM) == EDITION


def _asked(call: Entity | None, seen: Request) -> list[Words]:
    if not isinstance(call, Call) or call.attempt_of:
        return []
    return _said_in(seen, call.id, call.new_message, call.new_block)


def _said_in(seen: Request, call: str, new_message: int, new_block: int) -> list[Words]:
    messages = messages_of(seen)
    found: list[Words] = []
    for index in range(new_message, len(messages)):
        try:
            message = msgspec.json.decode(messages[index])
        except (msgspec.MsgspecError, RecursionError):
            continue
        first = new_block if index == new_message else 0
        for at, block in enumerate(blocks_of(message.get("content") if isinstance(message, dict) else None)):
            if at >= first:
                found += [Words(call, "request", index, at, kind, text[:LONGEST]) for kind, text in texts_of(block) if text]
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


def _reported(seen: Record) -> list[Words]:
    """What somebody said. The client's own attachments are the same in every session: nobody looks for those."""
    found: list[Words] = []
    for event in claude.decode(seen):
        if isinstance(event, MessageSaid) and event.hint.kind != "reminder":
            id = ids.message_id(seen.project, event.place.id or seen.id)
            found += [
                Words(id, "message", 0, at, kind, text[:LONGEST])
                for at, block in enumerate(event.blocks)
                for kind, text in texts_of(block)
                if text
            ]
    return found


def kept_words(store: Store, batch: Sequence[Observation]) -> dict[str, list[Words]]:
    """Protocols whose words stand in rows: those that rest on these observations, read together."""
    told = [seen.id for seen in batch if isinstance(seen, Record) and seen.format not in claude.FORMATS]
    found: dict[str, list[Words]] = {}
    for table in ("messages", "notes", "tools"):
        for row in store.among(table, "observation", told):
            if isinstance(row, Message | Note | ToolCall):
                texts = enumerate(kept_texts(row))
                words = [Words(row.id, table, 0, at, kind, text[:LONGEST]) for at, (kind, text) in texts if text]
                found.setdefault(row.observation, []).extend(words)
    return found


class Indexer:
    """A thread that follows the log at its own pace. Storing and linking go first: `busy` says when they have work, `worked` how
    many seconds they have spent on it by now."""

    def __init__(self, store: Store, busy: Callable[[], bool] = lambda: False, worked: Callable[[], float] = lambda: 0.0) -> None:
        self.store = store
        self.busy = busy
        self.worked = worked
        self._looked, self._had_worked, self._loaded = time.monotonic(), 0.0, False
        self._trouble = ""  # that was told
        self._more = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ramify-index", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._more.set()

    def catch_up(self) -> int:
        """Indexes what is new; how many observations that were."""
        count = 0
        while not self._stop.is_set() and (found := self._stretch(self.store.search.stretch)):
            count += found
        return count

    def _stretch(self, limit: int) -> int:
        if not self.store.search.fed:
            return 0
        if not is_current(self.store):
            self.store.search.clear()
            self.store.set_fact(FORM, EDITION)
        texts: list[Words] = []
        count, size, after = 0, 0, self.store.search.indexed()
        last = after
        batch = list(islice(self.store.observations(after), limit))
        kept = kept_words(self.store, [seen for _, seen in batch])
        asked = [ids.call_id(seen.id) for _, seen in batch if isinstance(seen, Request)]
        calls: dict[str, Entity] = {call.id: call for call in self.store.among("calls", "id", asked)}
        for seq, seen in batch:
            found = marked([*self._words(calls.get, seen), *kept.get(seen.id, ())], seen.project)
            texts += found
            size += sum(len(words.text) for words in found)
            count, last = count + 1, seq
            if size > STRETCH_CHARACTERS:
                break
        if count:
            self.store.search.add(texts, after, last)
        return count

    def _words(self, load: Load, seen: Observation) -> list[Words]:
        """What one observation holds is not worth the words of all that follow."""
        try:
            return words_of(load, seen)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            log.exception("could not index observation id=%s", seen.id)
            return []

    def _run(self) -> None:
        while not self._stop.is_set():
            self._more.wait(timeout=30)
            self._more.clear()
            try:
                self._follow()
                self._trouble = ""
            except StoreDown as problem:  # locked, full: the index may lag, and it goes on where it was
                self._warn(str(problem))
                self._again()
            except Exception:
                log.exception("indexing failed; it is tried again")
                self._again()
            self._stop.wait(0.2)  # gather: many small transactions cost more than one

    def _warn(self, trouble: str) -> None:
        """Once, not with every try: a store may be away for hours."""
        if trouble != self._trouble:
            log.warning("indexing failed problem=%r; it is tried again until it succeeds", trouble)
        self._trouble = trouble

    def _again(self) -> None:
        self._more.set()
        self._stop.wait(RETRY_SECONDS)

    def _follow(self) -> None:
        """A burst is let pass: between two of its requests the writer rests for a moment only."""
        lags_since = time.monotonic()
        while not self._stop.is_set():
            began, loaded = time.monotonic(), self._is_loaded()
            if loaded and began - lags_since < PATIENCE:
                self._stop.wait(LOOK_SECONDS)
                continue
            if not self._stretch(self.store.search.stretch // (SMALLER if loaded else 1)):
                return
            if self._is_loaded():
                self._stop.wait(GIVE_WAY * (time.monotonic() - began))

    def _is_loaded(self) -> bool:
        """Whether the writer has work, or had much of it just now."""
        now, worked = time.monotonic(), self.worked()
        if now - self._looked >= WINDOW:
            self._loaded = worked - self._had_worked >= LOADED * (now - self._looked)
            self._looked, self._had_worked = now, worked
        return self._loaded or self.busy()

    def close(self, seconds: float = 0.0) -> None:
        """For so long it goes on with what is left; the rest is for the next start."""
        self._stop.set()
        self._more.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end and self._stretch(self.store.search.stretch):
                pass
        except StoreDown as problem:
            log.warning("indexing ends early problem=%r; the next start goes on with it", str(problem))
