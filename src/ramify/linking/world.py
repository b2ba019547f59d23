"""What the rules may look at and change: rows and look-up keys, read from a store when needed, written back together.

The world holds no rule and does no input or output of its own; a `Loader` is handed to it.
"""

from bisect import insort
from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from ramify.linking.chain import Chain, build
from ramify.model import ids
from ramify.model.entity import Call, Conversation, Correction, Entity, Line, Message, Report, Task, ToolCall
from ramify.model.event import Event, MessageSaid, ModelAnswered, ModelCalled, Part

Entry = tuple[int, str]
NEWEST = 64  # entries of one key that are looked at; more than that many equal ones tell nothing new
DAY = 24 * 3600 * 1_000_000
FOREVER = (1 << 63) - 1


class Loader(Protocol):
    def find(self, keys: Sequence[int]) -> dict[int, list[Entry]]: ...
    def span(self, key: int, low: int, high: int, limit: int, newest: bool) -> list[Entry]: ...
    def load(self, table: str, id: str) -> Entity | None: ...
    def members(self, conversation: str) -> Sequence[Call]: ...
    def corrected(self) -> Sequence[Correction]: ...
    def called(self, request: str) -> ModelCalled | None: ...
    def answered(self, response: str) -> ModelAnswered | None: ...
    def told(self, observation: str) -> Sequence[Event]: ...
    def message(self, observation: str) -> MessageSaid | None: ...


class Rules(Struct, frozen=True):
    """What people may set."""

    spawn_tools: frozenset[str] = frozenset({"Agent", "Task", "task"})
    window: int = DAY
    windows: dict[str, int] = {}

    def window_of(self, project: str) -> int:
        return self.windows.get(project, self.window)


def key(kind: str, *parts: str | bytes) -> int:
    return int.from_bytes(ids.small_digest(kind, *parts)[:8], "big", signed=True)


_SALTS = {kind: int.from_bytes(ids.digest("salt", kind)[:8], "big", signed=True) for kind in ("end", "after", "watch")}


def chain_key(kind: str, hash: bytes) -> int:
    """A chain's hash is already spread evenly, and begins with its project: no need to hash it again."""
    return int.from_bytes(hash[:8], "big", signed=True) ^ _SALTS[kind]


class World:
    def __init__(self, loader: Loader, rules: Rules) -> None:
        self.loader = loader
        self.rules = rules
        self._rows: dict[tuple[str, str], Entity | None] = {}
        self._keys: dict[int, list[Entry]] = {}
        self._chains: dict[str, Chain] = {}
        self._lines: dict[tuple[str, ...], Chain] = {}
        self._corrected: dict[str, str] | None = None
        self.begin()

    # -- a batch -----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self.dirty: dict[tuple[str, str], Entity | None] = {}
        self.added: dict[tuple[int, int, str], bool] = {}
        self.agenda: dict[str, None] = {}
        self.openings: dict[str, None] = {}
        self.unplaced: dict[str, None] = {}
        self.retold: dict[str, None] = {}  # tasks of which a report said something new
        self.recounted: dict[str, None] = {}  # conversations whose client's sums must be compared again
        self.aliases: dict[str, str] = {}  # ids that root tasks had before a report told of their prompt
        self._marked: dict[int, dict[Entry, bool]] = {}
        self._pending: dict[int, dict[Entry, bool]] = {}

    def forget(self) -> None:
        """After a failed write nothing remembered can be trusted."""
        self._rows.clear()
        self._keys.clear()
        self._chains.clear()
        self._lines.clear()
        self._corrected = None
        self.begin()

    def trim(self, rows: int = 60_000, chains: int = 2_000) -> None:
        """Between batches: what is remembered stays bounded, whatever the history."""
        if len(self._rows) > rows:
            self._rows = dict(list(self._rows.items())[-rows // 2 :])
        if len(self._keys) > rows * 2:
            self._keys = dict(list(self._keys.items())[-rows:])
        if len(self._chains) > chains:
            self._chains = dict(list(self._chains.items())[-chains // 2 :])
        if len(self._lines) > chains:
            self._lines = dict(list(self._lines.items())[-chains // 2 :])

    # -- rows --------------------------------------------------------------------------------------------------------

    def _get(self, table: str, id: str) -> Entity | None:
        place = (table, id)
        if place in self._rows:
            return self._rows[place]
        row = self._rows[place] = self.loader.load(table, id) if id else None
        return row

    def call(self, id: str) -> Call | None:
        row = self._get("calls", id)
        return row if isinstance(row, Call) else None

    def task(self, id: str) -> Task | None:
        row = self._get("tasks", id)
        return row if isinstance(row, Task) else None

    def tool(self, id: str) -> ToolCall | None:
        row = self._get("tools", id)
        return row if isinstance(row, ToolCall) else None

    def line(self, id: str) -> Line | None:
        row = self._get("lines", id)
        return row if isinstance(row, Line) else None

    def conversation(self, id: str) -> Conversation | None:
        row = self._get("conversations", id)
        return row if isinstance(row, Conversation) else None

    def message(self, id: str) -> Message | None:
        row = self._get("messages", id)
        return row if isinstance(row, Message) else None

    def report(self, id: str) -> Report | None:
        row = self._get("reports", id)
        return row if isinstance(row, Report) else None

    def correction(self, id: str) -> Correction | None:
        """Asked for every task, there for few: their ids are all remembered."""
        row = self._get("corrections", id) if id in self._parents() else None
        return row if isinstance(row, Correction) else None

    def corrected_under(self, parent: str) -> list[str]:
        """The children that people gave to a parent."""
        return sorted(child for child, above in self._parents().items() if above == parent)

    def correct(self, row: Correction) -> None:
        self._parents()[row.id] = row.parent
        self.save("corrections", row)

    def _parents(self) -> dict[str, str]:
        if self._corrected is None:
            self._corrected = {row.id: row.parent for row in self.loader.corrected()}
        return self._corrected

    def save(self, table: str, row: Entity) -> None:
        self._rows[table, row.id] = self.dirty[table, row.id] = row

    def drop(self, table: str, id: str) -> None:
        self._rows[table, id] = self.dirty[table, id] = None

    # -- keys --------------------------------------------------------------------------------------------------------

    def prefetch(self, keys: Iterable[int]) -> None:
        missing = [key for key in dict.fromkeys(keys) if key not in self._keys]  # each once: pending entries are used up
        if missing:
            found = self.loader.find(missing)
            for key in missing:
                self._keys[key] = self._with_pending(key, found.get(key, []))

    def is_new(self, call: Call) -> None:
        """Nothing can hang on a call that was never heard of: what is certainly absent is not looked for."""
        for kind in ("child", "attempt", "spawned"):
            self._keys.setdefault(key(kind, call.id), [])
        task = ids.opened_task_id(call.id)
        self._keys.setdefault(key("in", task), [])
        for place in (("tasks", task), ("lines", task), ("lines", call.id)):
            self._rows.setdefault(place, None)
        if not call.session:
            conversation = ids.rooted_conversation_id(call.id)
            self._rows.setdefault(("conversations", conversation), None)
            for kind in ("roots", "loose", "member"):
                self._keys.setdefault(key(kind, conversation), [])

    def find(self, key: int) -> list[Entry]:
        """The newest entries, oldest first."""
        if key not in self._keys:
            self.prefetch((key,))
        return self._keys[key]

    def _with_pending(self, key: int, entries: list[Entry]) -> list[Entry]:
        """What this batch added or removed before anybody asked for the key."""
        for entry, there in self._pending.pop(key, {}).items():
            if there and entry not in entries:
                insort(entries, entry)
            elif not there and entry in entries:
                entries.remove(entry)
        return entries[-NEWEST:]

    def add(self, key: int, at: int, ref: str) -> None:
        """Most keys are written and not asked for: those are not read either."""
        entry = (at, ref)
        entries = self._keys.get(key)
        if entries is None:
            self._pending.setdefault(key, {})[entry] = True
        elif entry in entries:
            return
        else:
            insort(entries, entry)
            if len(entries) > NEWEST:
                del entries[0]
        self.added[key, at, ref] = True

    def remove(self, key: int, at: int, ref: str) -> None:
        entry = (at, ref)
        entries = self._keys.get(key)
        if entries is None:
            self._pending.setdefault(key, {})[entry] = False
        elif entry in entries:
            entries.remove(entry)
        self.added[key, at, ref] = False

    # -- lines in time: keys of which any stretch can be asked for ------------------------------------------------------

    def mark(self, key: int, at: int, ref: str) -> None:
        self.add(key, at, ref)
        self._marked.setdefault(key, {})[at, ref] = True

    def unmark(self, key: int, at: int, ref: str) -> None:
        self.remove(key, at, ref)
        self._marked.setdefault(key, {})[at, ref] = False

    def span(self, key: int, low: int = 0, high: int = FOREVER, limit: int = 1_000_000, newest: bool = False) -> list[Entry]:
        """Entries from `low` to `high`, oldest first: the first `limit` of them, or the last."""
        marked = self._marked.get(key, {})
        found = self.loader.span(key, low, high, limit + len(marked), newest)
        if marked:
            inside = {entry for entry, there in marked.items() if there and low <= entry[0] <= high}
            found = sorted(({*found} | inside) - {entry for entry, there in marked.items() if not there})
        return found[-limit:] if newest else found[:limit]

    def calls_at(self, key: int) -> list[Call]:
        return [call for _, ref in self.find(key) if (call := self.call(ref)) is not None]

    def calls_since(self, key: int, at: int) -> list[Call]:
        return [call for when, ref in self.find(key) if when >= at and (call := self.call(ref)) is not None]

    def calls_until(self, key: int, at: int, most: int) -> list[Call]:
        """The newest that did not begin later, oldest first."""
        refs = [ref for when, ref in self.find(key) if when <= at][-most:]
        return [call for ref in refs if (call := self.call(ref)) is not None]

    def members(self, conversation: str) -> list[Call]:
        """Every call of a conversation, as this batch has it."""
        stored = {call.id: call for call in self.loader.members(conversation)}
        for (table, id), row in self.dirty.items():
            if table == "calls" and isinstance(row, Call) and (id in stored or row.conversation == conversation):
                stored[id] = row
        return [call for call in stored.values() if call.conversation == conversation]

    def tools_at(self, key: int) -> list[ToolCall]:
        return [tool for _, ref in self.find(key) if (tool := self.tool(ref)) is not None]

    # -- chains ------------------------------------------------------------------------------------------------------

    def chain(self, call: Call) -> Chain:
        """Remembered, or read again from the log."""
        if call.id not in self._chains:
            seen = self.loader.called(call.request)
            self.read_chain(call, seen.parts if seen else ())
        return self._chains[call.id]

    def read_chain(self, call: Call, parts: tuple[Part, ...]) -> Chain:
        line = (call.project, call.session, call.agent, parts[0].strict.hex() if parts else "")
        start = ids.digest("chain", call.project)
        chain = build(parts, start, lambda native: self.result_atom(call, native), self._lines.get(line))
        self._chains[call.id] = chain
        self._lines.pop(line, None)
        self._lines[line] = chain
        return chain

    def forget_chain(self, call: Call) -> None:
        self._chains.pop(call.id, None)

    def result_atom(self, call: Call, native: str) -> bytes | None:
        """What came back before this call: a later request may be judged by this one, and so is no witness."""
        tool = self.tool(ids.tool_call_id(call.project, call.session, native))
        return tool.result_atom if tool and tool.result_atom and tool.closed < call.started else None
