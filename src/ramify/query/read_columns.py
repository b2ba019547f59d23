"""Columns of views that stand in no table: what was said and done is read from the log, row by row, when somebody asks for it.

Only an engine in this process can be given such functions; other tools that open the file see the views without them.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from ramify.linking.mesh import names
from ramify.linking.mesh.telling import entries_of
from ramify.model.entity import Call, Task, ToolCall
from ramify.model.observation import Record
from ramify.protocols.sam.tabular import COLUMNS, Told, answer_words, told_by
from ramify.query import mesh_views
from ramify.query.assembly import tool_shapes
from ramify.query.content import Content, answer_of
from ramify.query.told import said_in, units
from ramify.storage.base import Further, Store

AT_HAND = 16  # rows whose other columns are probably asked for next
BODIES = 64  # questions for which bodies are remembered
TOOLS = """
SELECT v.*, tool_input(v.id) AS input, tool_result(v.id) AS result FROM own.ramify_tool_calls v"""
MESSAGES = """
SELECT v.id, v.project, v.conversation, v.task, v.model_call, v.role, v.author,
    CASE WHEN v.model_call IS NULL THEN v.text ELSE call_text(v.model_call) END AS text, v.timestamp, v.at_us FROM own.ramify_messages v"""
VIEWS = {"ramify_tool_calls": TOOLS, "ramify_messages": MESSAGES, **mesh_views.VIEWS}
_task = msgspec.msgpack.Decoder(Task).decode
_tool = msgspec.msgpack.Decoder(ToolCall).decode


def further(store: Store) -> Further:
    """For one question: what is read is remembered for as long as that takes."""
    reading = Reading(store)
    functions: dict[str, Callable[..., Any]] = {
        "tool_input": reading.tool_input,
        "tool_result": reading.tool_result,
        "call_text": reading.call_text,
        "sam_message": reading.message,
        "sam_entries": entries_of,
        "sam_root": reading.root,
        "sam_task": task_column,
        "sam_tool": tool_column,
        "sam_sorted": lambda texts: json.dumps(sorted(filter(None, json.loads(texts)))),
    }
    return Further(VIEWS, functions)


class Reading:
    def __init__(self, store: Store) -> None:
        self.store = store
        self._roots: dict[str, str] = {}
        self._told = lru_cache(AT_HAND)(self._read_told)
        self._content = Content(store)
        self._read = 0

    def root(self, id: str, parent: str) -> str:
        """The uppermost task of a mesh above this one, or itself: links may lead into other protocols, and end there."""
        if parent and parent not in self._roots:
            self._roots[parent] = ""  # a circle ends here
            above = self.store.load("tasks", parent)
            if isinstance(above, Task) and above.protocol == names.PROTOCOL:
                self._roots[parent] = self.root(above.id, above.parent)
        return self._roots.get(parent) or id

    def message(self, ref: str, column: str) -> Any:
        told = self._told(ref)
        return None if told is None else COLUMNS[column](told)

    def _read_told(self, ref: str) -> Told | None:
        """A later delivery may have brought the properties that the first lacked."""
        _, first, *rest = ref.split(" ")
        told = self._told_by(first)
        later = self._told_by(rest[0]) if rest else None
        if told is not None and later is not None:
            told.found = msgspec.structs.replace(told.found, properties=later.found.properties)
        return told

    def _told_by(self, observation: str) -> Told | None:
        seen = self.store.observation(observation)
        return told_by(seen) if isinstance(seen, Record) else None

    def tool_input(self, id: str) -> str | None:
        row = self.store.load("tools", id)
        if not isinstance(row, ToolCall):
            return None
        if row.protocol:
            return row.args.decode() or None
        caller = self.store.load("calls", row.call)
        block = self.content.use(row, caller if isinstance(caller, Call) else None) or self.content.reported(row)[0]
        return as_json(block.get("input", block.get("input_text")))

    def tool_result(self, id: str) -> str | None:
        row = self.store.load("tools", id)
        if not isinstance(row, ToolCall):
            return None
        return row.result.decode() or None if row.protocol else as_json(tool_shapes(self.store, [row], self.content)[0]["result"])

    @property
    def content(self) -> Content:
        """Calls of one request stand side by side; all bodies of a store would not fit into memory."""
        self._read += 1
        if self._read % BODIES == 0:
            self._content = Content(self.store)
        return self._content

    def call_text(self, id: str) -> str | None:
        row = self.store.load("calls", id)
        return "\n".join(self._words(row)) or None if isinstance(row, Call) else None

    def _words(self, call: Call) -> list[str]:
        if call.protocol == names.PROTOCOL:
            told = self._told_by(call.response)
            return answer_words(told.parts) if told is not None else []
        if call.relation != "seen":
            return [block["text"] for block in answer_of(self.store, call).blocks if block.get("type") == "text"]
        rows = [row for unit in units(self.store, [call.task]) for row in unit.rows if row.answer and row.answer == call.message]
        return [block["text"] for row in rows if (event := said_in(self.store, row)) for block in event.blocks if block.get("type") == "text"]


def as_json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def task_column(doc: bytes, column: str) -> Any:
    row = task_at_hand(doc)
    return row.active if column == "active" else row.native.get(column)


def tool_column(doc: bytes, column: str) -> Any:
    row = tool_at_hand(doc)
    match column:
        case "input_args":
            return row.args.decode() or None
        case "output_result":
            return row.result.decode() or None
        case "call_type":
            return row.phases[-1] if row.phases else None
        case "duration_ms":
            return (row.closed - row.begun) / 1000 if 0 < row.begun <= row.closed else None
        case _:
            return getattr(row, column) or None


@lru_cache(AT_HAND)
def task_at_hand(doc: bytes) -> Task:
    return _task(doc)


@lru_cache(AT_HAND)
def tool_at_hand(doc: bytes) -> ToolCall:
    return _tool(doc)
