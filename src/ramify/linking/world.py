"""What the rules may look at and change: rows and look-up keys, read from a store when needed, written back together.

The world holds no rule and does no input or output of its own; a `Loader` is handed to it.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from ramify.linking.chain import Chain, build
from ramify.linking.keys import FOREVER, NEWEST, KeyLoader, Keys, chain_key, key
from ramify.model import ids
from ramify.model.entity import Call, Conversation, Correction, Entity, Line, Message, Report, Sheet, Task, ToolCall
from ramify.model.event import Event, MessageSaid, ModelAnswered, ModelCalled, Part
from ramify.model.mesh_event import Stir
from ramify.model.observation import Record
from ramify.model.otel_event import LogTold, SpanSeen
from ramify.model.share import COUNTED, Share, share_of

DAY = 24 * 3600 * 1_000_000
UNKNOWN = Sheet("")  # in place of a row that nobody has asked for
__all__ = ["FOREVER", "NEWEST", "Loader", "Rules", "World", "chain_key", "children_of", "key"]


def children_of(call: Call) -> int:
    """The calls that go on from it, among the keys of its session."""
    return key("child", call.project, call.session, call.id)


class Loader(KeyLoader, Protocol):
    def load(self, table: str, id: str) -> Entity | None: ...
    def many(self, table: str, ids: Sequence[str]) -> Sequence[Entity]: ...
    def members(self, conversation: str) -> Sequence[Call]: ...
    def owned(self, table: str, task: str) -> Sequence[Entity]:
        """The calls of a task, or the tools that are its own, as they are stored."""

    def corrected(self) -> Sequence[Correction]: ...
    def called(self, request: str) -> ModelCalled | None: ...
    def answered(self, response: str) -> ModelAnswered | None: ...
    def told(self, observation: str) -> Sequence[Event]: ...
    def record(self, observation: str) -> Record | None: ...
    def message(self, observation: str) -> MessageSaid | None: ...


class EventBounds(Struct, frozen=True):
    """How much of the event log is kept for each session; 0: all of it. `forgetful`: what goes leaves the log as well."""

    per_session: int = 0
    session_bytes: int = 0
    forgetful: bool = False


class Rules(Struct, frozen=True):
    """What people may set."""

    spawn_tools: frozenset[str] = frozenset({"Agent", "Task", "task"})
    window: int = DAY
    windows: dict[str, int] = {}
    events: EventBounds = EventBounds()

    def window_of(self, project: str) -> int:
        return self.windows.get(project, self.window)


class World:
    def __init__(self, loader: Loader, rules: Rules) -> None:
        self.loader = loader
        self.rules = rules
        self._rows: dict[tuple[str, str], Entity | None] = {}
        self.counted: dict[tuple[str, str], Share] = {}  # what rows added to the sums of their days, as they were stored
        self.named: dict[tuple[str, str], int] = {}  # rows whose names in other protocols are written, and by what mark
        keys = self._keys = Keys(loader)
        self.find, self.add, self.remove, self.prefetch = keys.find, keys.add, keys.remove, keys.prefetch
        self.foresee, self.is_whole, self.are_new = keys.foresee, keys.is_whole, keys.are_new
        self.every, self.span, self.mark, self.unmark, self.wipe = keys.every, keys.span, keys.mark, keys.unmark, keys.wipe
        self._chains: dict[str, Chain] = {}
        self._lines: dict[tuple[str, ...], Chain] = {}
        self._corrected: dict[str, str] | None = None
        self.begin()

    # -- a batch -----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self.dirty: dict[tuple[str, str], Entity | None] = {}
        self.homeless: dict[str, None] = {}  # calls without a session, or with one by a report, that a report may have another for
        self.agenda: dict[str, None] = {}
        self.openings: dict[str, None] = {}
        self.unplaced: dict[str, None] = {}
        self.renamed: dict[tuple[str, str, str], str] = {}  # tool calls whose agent is another now, and which it was
        self.doubted: dict[str, None] = {}  # messages that may be prompts, or no longer
        self.retold: dict[str, None] = {}  # tasks of which a report said something new
        self.asking: dict[str, None] = {}  # tool calls of which only reports of their own tell, and which may have another asker
        self.silent: dict[tuple[str, str], None] = {}  # sessions in which turns may have failed without a word
        self.recounted: dict[str, None] = {}  # conversations whose client's sums must be compared again
        self.recalled: dict[str, None] = {}  # tasks whose repetitions must be counted from the beginning
        self.aliases: dict[str, str] = {}  # ids that root tasks had before a report told of their prompt
        self.lines_heard: dict[str, list[tuple[int, str]]] = {}  # connections that wait to be read, with their frames
        self.forgotten: list[str] = []  # observations that a bounded store lets go
        self.called: dict[str, dict[str, None]] = {}  # tool calls of which other tasks may have come now, and which tasks
        self.stirred: dict[tuple[str, str], Stir] = {}  # tasks of a mesh of which something new was told
        self.spanned: list[SpanSeen | LogTold] = []  # spans that are put together when the batch is over
        self.moved: dict[str, None] = {}  # tasks with ids of their own that stand elsewhere now, or under another
        self.respanned: dict[tuple[str, str], None] = {}  # spans that something else has met: project and place
        self._keys.begin()

    def forget(self) -> None:
        """After a failed write nothing remembered can be trusted."""
        self._rows.clear()
        self.counted.clear()
        self.named.clear()
        self._keys.forget()
        self._chains.clear()
        self._lines.clear()
        self._corrected = None
        self.begin()

    def doubt(self, rows: Iterable[tuple[str, str]], keys: Iterable[int]) -> None:
        """Others have written these, and nothing else: the rest is as it was. What stands in a chain for results that were cleared is known from tools."""
        tools = False
        for place in rows:
            self._rows.pop(place, None)
            self.counted.pop(place, None)
            self.named.pop(place, None)
            tools = tools or place[0] == "tools"
            if place[0] == "corrections":
                self._corrected = None
        self._keys.doubt(keys)
        if tools:
            self._chains = {call: chain for call, chain in self._chains.items() if not chain.cleared}
            self._lines = {line: chain for line, chain in self._lines.items() if not chain.cleared}
        self.begin()

    def trim(self, rows: int = 40_000, chains: int = 1_000) -> None:
        """Between batches: what is remembered stays bounded, whatever the history."""
        if len(self._rows) > rows:
            for place in list(self._rows)[: -rows * 3 // 4]:
                del self._rows[place]
                self.counted.pop(place, None)
        self._keys.trim(rows * 2)
        if len(self._chains) > chains:
            self._chains = dict(list(self._chains.items())[-chains // 2 :])
        if len(self._lines) > chains:
            self._lines = dict(list(self._lines.items())[-chains // 2 :])

    @property
    def added(self) -> dict[tuple[int, int, str], bool]:
        """Keys that this batch put there, or took away."""
        return self._keys.added

    # -- rows --------------------------------------------------------------------------------------------------------

    def _get(self, table: str, id: str) -> Entity | None:
        place = (table, id)
        known = self._rows.get(place, UNKNOWN)
        if known is not UNKNOWN:
            return known
        row = self._rows[place] = self.loader.load(table, id) if id else None
        if row is not None and table in COUNTED:
            self.count(place, share_of(row))
        return row

    def get(self, table: str, id: str) -> Entity | None:
        return self._get(table, id)

    def gather(self, table: str, ids: Iterable[str]) -> None:
        """Rows that will be asked for one by one are read together."""
        missing = [id for id in dict.fromkeys(ids) if id and (table, id) not in self._rows]
        if len(missing) < 2:
            return
        for id in missing:
            self._rows[table, id] = None
        for row in self.loader.many(table, missing):
            self._rows[table, row.id] = row
            if table in COUNTED:
                self.count((table, row.id), share_of(row))

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

    def corrected(self) -> list[str]:
        """All about whom people have said something."""
        return sorted(self._parents())

    def correct(self, row: Correction) -> None:
        self._parents()[row.id] = row.parent
        self.save("corrections", row)

    def _parents(self) -> dict[str, str]:
        if self._corrected is None:
            self._corrected = {row.id: row.parent for row in self.loader.corrected()}
        return self._corrected

    def save(self, table: str, row: Entity) -> None:
        self._meet(table, row.id)
        self._rows[table, row.id] = self.dirty[table, row.id] = row

    def lacks(self, table: str, id: str) -> None:
        """Nobody can have written it."""
        self._rows.setdefault((table, id), None)

    def drop(self, table: str, id: str) -> None:
        self._meet(table, id)
        self._rows[table, id] = self.dirty[table, id] = None

    def _meet(self, table: str, id: str) -> None:
        """What is written over without having been looked at has added to the sums all the same."""
        if table in COUNTED and (table, id) not in self._rows:
            self._get(table, id)

    def count(self, place: tuple[str, str], share: Share | None) -> None:
        if share is None:
            self.counted.pop(place, None)
        else:
            self.counted[place] = share

    def is_new(self, call: Call) -> None:
        """Nothing can hang on a call that was never heard of: what is certainly absent is not looked for."""
        task = ids.opened_task_id(call.id)
        self.are_new(children_of(call), key("attempt", call.id), key("spawned", call.id), key("in", task), key("cut-off", task))
        for place in (("tasks", task), ("lines", task), ("lines", call.id)):
            self._rows.setdefault(place, None)
        if not call.session:
            conversation = ids.rooted_conversation_id(call.id)
            self._rows.setdefault(("conversations", conversation), None)
            self.are_new(*(key(kind, conversation) for kind in ("roots", "loose", "member")))

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
