"""Rows in the making while a task is folded: on top of what is stored, or all of them anew."""

from typing import TypeVar

from msgspec import structs

from ramify.linking.mesh import names
from ramify.linking.mesh.state import State
from ramify.linking.world import World
from ramify.model.entity import Call, Entity, Note, ToolCall

Row = TypeVar("Row", Call, Note, ToolCall)


class Writing:
    """`anew`: nothing that was written before counts. What is not written again then goes."""

    def __init__(self, world: World, project: str, native: str, state: State, anew: bool) -> None:
        self.world = world
        self.project = project
        self.native = native
        self.task = names.task_id(project, native)
        self.state = state
        self.anew = anew
        self._made: dict[tuple[str, str], Entity] = {}
        self._possible: set[tuple[str, str]] = set()
        self.called: set[str] = set()  # the call ids under which tools were opened

    def put(self, table: str, row: Call | Note | ToolCall) -> None:
        self._made[table, row.id] = row

    def possible(self, table: str, id: str) -> None:
        """A row that another order of the same messages would have written."""
        self._possible.add((table, id))

    def glance(self, id: str) -> ToolCall | None:
        """A tool call as it is now, to be looked at only."""
        row = self._made.get(("tools", id)) or (None if self.anew else self.world.get("tools", id))
        return row if isinstance(row, ToolCall) else None

    def tool(self, id: str) -> ToolCall:
        return self._row("tools", id, ToolCall)

    def call(self, id: str) -> Call:
        return self._row("calls", id, Call)

    def note(self, id: str) -> Note:
        return self._row("notes", id, Note)

    def _row(self, table: str, id: str, kind: type[Row]) -> Row:
        row = self._made.get((table, id))
        if row is None:
            stored = None if self.anew else self.world.get(table, id)
            assert isinstance(stored, kind), (table, id)
            row = self._made[table, id] = copied(stored)
        assert isinstance(row, kind)
        return row

    def place(self, conversation: str, line: str) -> None:
        for row in self._made.values():
            if isinstance(row, Call):
                row.conversation, row.line = conversation, line

    def finish(self) -> list[tuple[ToolCall | None, ToolCall | None]]:
        """Writes what is other than before; gives the tool calls of which that is so, as they were and as they are."""
        changed: list[tuple[Entity | None, Entity | None]] = []
        for (table, id), row in self._made.items():
            stored = self.world.get(table, id)
            if isinstance(row, ToolCall) and isinstance(stored, ToolCall):
                row.children = stored.children  # a matter of links, not of this fold
            if row != stored:
                self.world.save(table, row)
                changed.append((stored, row))
        for table, id in self._possible - self._made.keys():
            gone = self.world.get(table, id)
            if gone is not None:
                self.world.drop(table, id)
                changed.append((gone, None))
        return [(as_tool(before), as_tool(after)) for before, after in changed if as_tool(before) or as_tool(after)]


def as_tool(row: Entity | None) -> ToolCall | None:
    return row if isinstance(row, ToolCall) else None


def copied(row: Row) -> Row:
    """Rows are shared with whoever remembers them."""
    return structs.replace(row, details=dict(row.details))
