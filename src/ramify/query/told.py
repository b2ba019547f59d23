"""Messages that were reported: read again from their records, and left out where the wire shows the same."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from ramify.linking.authorship import CALLER, MODEL, TOOL, Author, flagged, judge_reported
from ramify.model.entity import Call, Message, Task
from ramify.model.event import MessageSaid
from ramify.model.ids import seen_call_id
from ramify.model.moment import iso
from ramify.model.observation import Record
from ramify.protocols.claude.decode import decode
from ramify.query.writers import writer_of
from ramify.storage.base import Store

Shape = dict[str, Any]
Block = dict[str, Any]
# How the client wraps, for the model, what came in while it worked.
WRAPPED = (
    "The user sent a new message while you were working:",
    "The coordinator sent a message while you were working:",
    "Another Claude session sent a message:",
    "<agent-message",
)


TAGS = re.compile(r"</?system-reminder>")


class Unit(Struct):
    """One reported message, or all pieces of one answer."""

    at: int
    rows: list[Message]


def units(store: Store, tasks: Sequence[str]) -> list[Unit]:
    """In the order in which they were said. What the wire answered itself is not asked of the reports."""
    rows = [row for row in store.among("messages", "line", list(tasks)) if isinstance(row, Message)]
    answered = {seen_call_id(row.project, row.answer) for row in rows if row.answer}
    on_the_wire = {call.id for call in store.among("calls", "id", sorted(answered)) if isinstance(call, Call) and call.twin and not call.lent}
    again = _told_again(store, rows)
    found: dict[tuple[str, str], Unit] = {}
    for row in sorted(rows, key=lambda row: (row.at, row.position, row.id)):
        if row.id in again or (row.answer and seen_call_id(row.project, row.answer) in on_the_wire):
            continue
        place = (row.line, row.answer or row.id)
        if place in found:
            found[place].rows.append(row)
        else:
            found[place] = Unit(row.at, [row])
    return list(found.values())


def _told_again(store: Store, rows: list[Message]) -> set[str]:
    """What an old client writes on a side line and prints inside a tool call has two ids: the side line has all of it."""
    sides = {row.line for row in rows if row.side}
    doubted = [row for row in rows if row.line in sides and not row.side]
    lines = {row.line for row in doubted}
    shown = {(row.line, *told) for row in rows if row.side and row.line in lines for told in _contents(store, row)}
    return {row.id for row in doubted if all((row.line, *told) in shown for told in _contents(store, row))}


def _contents(store: Store, row: Message) -> list[tuple[str, str]]:
    event = said_in(store, row)
    return [_named(block) or (str(block.get("type")), _words(block)) for block in (event.blocks if event else ())]


def said_in(store: Store, row: Message) -> MessageSaid | None:
    seen = store.observation(row.observation)
    events = decode(seen) if isinstance(seen, Record) else ()
    return next((event for event in events if isinstance(event, MessageSaid)), None)


def shapes(store: Store, unit: Unit, task: Task | None, wire: "Wire | None") -> list[Shape]:
    """A message of its own for each author; an answer's pieces together."""
    found: list[Shape] = []
    for row in unit.rows:
        event = said_in(store, row)
        for number, (author, blocks) in enumerate(_by_author(event, row)) if event else ():
            if wire is not None and wire.has(author, blocks):
                continue
            if found and row.answer and found[-1]["role"] == "assistant":
                found[-1]["blocks"] += blocks
            else:
                writer = writer_of(store, task, author, blocks, row.at, event.hint.agent if event else "")
                found.append(_shape(row, number, event.part.role if event else "user", author, blocks, writer))
    return found


def _by_author(event: MessageSaid, row: Message) -> list[tuple[Author, list[Block]]]:
    judged = {
        text.block: author
        for text, author in judge_reported(event.part, event.hint, bool(row.agent), behind_command=row.command == 2)
    }
    groups: list[tuple[Author, list[Block]]] = []
    for at, block in enumerate(event.blocks):
        author = TOOL if block.get("type") == "tool_result" else judged.get(at) or _other(event, row)
        if groups and groups[-1][0] == author:
            groups[-1][1].append(block)
        else:
            groups.append((author, [block]))
    return groups


def _other(event: MessageSaid, row: Message) -> Author:
    """A block without words: an image, thinking, a tool call."""
    if event.hint.author:
        return flagged(event.hint, "")
    if event.part.role == "assistant":
        return MODEL
    return CALLER if row.agent else Author("human", "", "beside a person's words")


def _shape(row: Message, number: int, role: str, author: Author, blocks: list[Block], writer: str) -> Shape:
    return {
        "id": f"{row.id}.{number}" if number else row.id,
        "task": row.line or None,
        "call": seen_call_id(row.project, row.answer) if row.answer else None,
        "role": role,
        "author": author.author,
        "author_id": writer or None,
        "author_kind": author.kind or None,
        "reason": author.reason,
        "blocks": blocks,
        "timestamp": iso(row.at),
        "source": row.source,
    }


class Wire:
    """What the wire shows of a task, so that reports do not say it again. Texts differ a little between the two."""

    def __init__(self, messages: Iterable[Shape]) -> None:
        self.tools: set[tuple[str, str]] = set()
        self.texts: dict[str, int] = {}
        self.harness: list[str] = []
        self.wrapped: list[str] = []
        for message in messages:
            for block in message["blocks"]:
                self._add(message, block)

    def _add(self, message: Shape, block: Block) -> None:
        if named := _named(block):
            self.tools.add(named)
        words = _words(block)
        if not words:
            return
        self.texts[words] = self.texts.get(words, 0) + 1
        if message["author"] == "harness":
            self.harness.append(words)
        if words.startswith(WRAPPED):
            self.wrapped.append(words)

    def has(self, author: Author, blocks: list[Block]) -> bool:
        return all(self._has(author, block) for block in blocks)

    def _has(self, author: Author, block: Block) -> bool:
        if named := _named(block):
            return named in self.tools
        words = _words(block)
        if self.texts.get(words, 0):
            self.texts[words] -= 1
            return True
        if author.author == "harness":
            return author.kind == "reminder" or not words or any(words in known for known in self.harness)
        return any(words in known for known in self.wrapped)


def _named(block: Block) -> tuple[str, str] | None:
    id = block.get("id") or block.get("tool_use_id")
    return (str(block.get("type")), id) if isinstance(id, str) else None


def _words(block: Block) -> str:
    text = block.get("text")
    return " ".join(TAGS.sub(" ", text).split()) if isinstance(text, str) else ""


def reasoning(store: Store, unit: Unit, task: Task | None) -> list[Shape]:
    found: list[Shape] = []
    for row in unit.rows:
        event = said_in(store, row) if row.answer else None
        for block in event.blocks if event else ():
            if block.get("type") in ("thinking", "redacted_thinking"):
                text = str(block.get("thinking") or "")
                found.append(_thought(row, text, task))
    return found


def _thought(row: Message, text: str, task: Task | None) -> Shape:
    return {
        "task": row.line or None,
        "message_id": row.answer or None,
        "call": seen_call_id(row.project, row.answer),
        "timestamp": iso(row.at),
        "agent_name": (task.agent_type or task.agent or None) if task else None,
        "kind": "thinking",
        "text": text,
        "withheld": not text,
        "model": None,
        "conversation_history": None,
    }
