"""Full-text search: newest hits first, with the words around them, and how far the index has come."""

import re
from typing import Any

import msgspec

from ramify.model.entity import Call, Message, Note, Task, ToolCall
from ramify.model.ids import seen_call_id
from ramify.model.kept_text import kept_texts
from ramify.model.moment import iso
from ramify.protocols.anthropic.normal import blocks_of, result_text
from ramify.query import told
from ramify.query.content import Content, parse
from ramify.query.errors import BadQuestion
from ramify.query.filter import BadFilter, Filter, Said, read_filter
from ramify.query.lists import KEPT_IN, clock, finding, quoted
from ramify.query.meaning import ORDER, meaning
from ramify.query.paging import OFFSET, no_cursor
from ramify.storage.base import Ask, Store, Test, Words

BEFORE, LENGTH = 30, 200  # the words that were found stand near the beginning, where a narrow column still shows them
KEPT = {"messages": "message", "notes": "note", "tools": "tool"}
Hit = tuple[int, Words]
BATCH, MOST = 400, 8000  # hits that are looked at together, and for one page at most; fewer than a store gathers at once


def search(store: Store, text: str, limit: int, cursor: str | None) -> dict[str, Any]:
    """Words, among which filters may stand; those are about the call, or the task, in which the words were said."""
    wanted = Narrowed(store, read_filter(text))
    if cursor is not None and not OFFSET.fullmatch(cursor):
        raise no_cursor(cursor)
    hits, looked, after = wanted.hits(limit, int(cursor) if cursor else None)
    content = Content(store)
    rows = store.among("calls", "id", list({words.call for _, words in hits if words.side not in KEPT_IN}))
    calls = {row.id: row for row in rows if isinstance(row, Call)}
    said = [(words, calls[words.call]) for _, words in hits if words.side not in KEPT_IN and words.call in calls]
    content.expect([call.response if words.side == "response" else call.request for words, call in said])
    found = (_item(store, content, words, wanted.terms, calls.get(words.call)) for _, words in hits)
    answer = {
        "items": list({(item["side"], item["call"], item["message"], item["block"]): item for item in found if item is not None}.values()),
        "next": None if after is None else str(after),
        "indexed": store.search.indexed(),
        "indexing": store.search.fed,
        "seq": store.seq(),
    }
    return {**answer, "looked": looked} if wanted.narrows else answer


class Narrowed:
    """The words of a search, and which of its hits the filters among them keep."""

    def __init__(self, store: Store, filter: Filter) -> None:
        self.store = store
        said = [term for term in filter.terms if isinstance(term, Said)]
        self.terms = [term.text for term in said if not term.negated and re.search(r"\w", term.text)]
        if not self.terms:
            raise BadQuestion(f"{filter.text!r} has no word to search for")
        without = [term.text for term in said if term.negated and re.search(r"\w", term.text)]
        self.query = " ".join(map(quoted, self.terms)) + "".join(f" NOT {quoted(text)}" for text in without)
        self.narrows = len(said) < len(filter.terms)
        self.calls = self._tests(filter, "calls")
        try:
            self.tasks: list[Test] | None = self._tests(filter, "tasks")
        except BadFilter:  # what means something for calls alone keeps nothing that only a report tells of
            self.tasks = None

    def _tests(self, filter: Filter, table: str) -> list[Test]:
        return meaning(filter, table, clock(), finding(self.store), full_text=True).tests

    def hits(self, limit: int, before: int | None) -> tuple[list[Hit], int, int | None]:
        """A page, how many hits were looked at for it, and behind which one the next begins."""
        kept: list[Hit] = []
        looked, size = 0, BATCH if self.narrows else limit + 1
        while True:
            found = self.store.search.find(self.query, size, before)
            looked += len(found)
            kept += self.kept(found)
            if len(kept) > limit:
                return kept[:limit], looked, kept[limit - 1][0]
            if len(found) < size:
                return kept, looked, None
            before = found[-1][0]
            if looked >= MOST:
                return kept, looked, before

    def kept(self, hits: list[Hit]) -> list[Hit]:
        if not self.narrows:
            return hits
        calls = self._passing("calls", {words.call for _, words in hits if words.side not in KEPT_IN}, self.calls)
        owners = {side: self._owners(table, [words.call for _, words in hits if words.side == side]) for side, table in KEPT_IN.items()}
        named = {task for found in owners.values() for task in found.values()}
        tasks = self._passing("tasks", named, self.tasks) if self.tasks is not None else set()
        return [hit for hit in hits if (owners[hit[1].side].get(hit[1].call) in tasks if hit[1].side in owners else hit[1].call in calls)]

    def _owners(self, table: str, ids: list[str]) -> dict[str, str]:
        """The task of each row."""
        rows = self.store.among(table, "id", sorted(set(ids)))
        return {row.id: row.line if isinstance(row, Message) else getattr(row, "task", "") for row in rows}

    def _passing(self, table: str, ids: set[str], tests: list[Test]) -> set[str]:
        ask = Ask(ORDER[table], limit=len(ids) + 1)
        mine = Test("id", "is", tuple(sorted(ids)))
        return {row.id for row in self.store.sift(table, ask, [mine, *tests], len(ids)).rows} if ids else set()


def _item(store: Store, content: Content, words: Words, terms: list[str], call: Call | None) -> dict[str, Any] | None:
    if words.side == "message":
        return _reported(store, words, terms)
    if words.side in KEPT:
        return _kept(store, words, terms)
    text = text_at(content, call, words) if call is not None else ""
    return {
        "call": words.call,
        "task": call.task or None if call is not None else None,
        "conversation": call.conversation or None if call is not None else None,
        "kind": words.kind,
        "side": words.side,
        "message": words.message,
        "block": words.block,
        "snippet": snippet(text, terms),
        "timestamp": iso(call.started) if call is not None else None,
    }


def _kept(store: Store, words: Words, terms: list[str]) -> dict[str, Any] | None:
    row = store.load(words.side, words.call)
    if not isinstance(row, Message | Note | ToolCall):
        return None
    id, at = (row.line, row.at) if isinstance(row, Message) else (row.task, row.at if isinstance(row, Note) else row.opened)
    task = store.load("tasks", id)
    texts = kept_texts(row)
    return {
        "call": None,
        "task": id or None,
        "conversation": task.conversation or None if isinstance(task, Task) else None,
        "kind": words.kind,
        "side": KEPT[words.side],
        "message": row.id,
        "block": words.block,
        "snippet": snippet(texts[words.block][1] if words.block < len(texts) else "", terms),
        "timestamp": iso(at),
    }


def _reported(store: Store, words: Words, terms: list[str]) -> dict[str, Any] | None:
    """None where the wire shows the same words, which are then found there."""
    row = store.load("messages", words.call)
    if not isinstance(row, Message) or row.echo:
        return None
    call = store.load("calls", seen_call_id(row.project, row.answer)) if row.answer else None
    task = store.load("tasks", row.line)
    first = store.load("calls", task.first) if isinstance(task, Task) else None
    if (isinstance(call, Call) and call.twin) or (not row.answer and isinstance(first, Call) and first.relation != "seen"):
        return None
    event = told.said_in(store, row)
    blocks = event.blocks if event else ()
    return {
        "call": call.id if isinstance(call, Call) else None,
        "task": row.line or None,
        "conversation": task.conversation or None if isinstance(task, Task) else None,
        "kind": words.kind,
        "side": words.side,
        "message": row.id,
        "block": words.block,
        "snippet": snippet(block_text(blocks[words.block], words.kind) if words.block < len(blocks) else "", terms),
        "timestamp": iso(row.at),
    }


def text_at(content: Content, call: Call, words: Words) -> str:
    if words.side == "response":
        blocks: list[Any] = content.answer(call).blocks
    else:
        raws = content.messages(call)
        message = parse(raws[words.message]) if words.message < len(raws) else {}
        blocks = blocks_of(message.get("content") if isinstance(message, dict) else None)
    return block_text(blocks[words.block], words.kind) if words.block < len(blocks) else ""


def block_text(block: Any, kind: str) -> str:
    if not isinstance(block, dict):
        return ""
    match kind:
        case "thinking":
            return str(block.get("thinking") or "")
        case "input":
            return msgspec.json.encode(block.get("input", block.get("input_text"))).decode()
        case "result":
            return result_text(block.get("content"))
        case _:
            return str(block.get("text") or "")


def snippet(text: str, terms: list[str]) -> str:
    """Around all words in a row, if they stand like that; else around the longest, which is the rarest."""
    flat = " ".join(text.split())
    lower = flat.lower()
    wanted = (" ".join(terms), *sorted(terms, key=len, reverse=True))
    places = (at for term in wanted if (at := lower.find(term.lower())) >= 0)
    start = max(next(places, 0) - BEFORE, 0)
    end = start + LENGTH
    return ("…" if start else "") + flat[start:end] + ("…" if end < len(flat) else "")
