"""Spans as a fold keeps them: each in a sheet of its own, found by its place, with the spans below it."""

from collections.abc import Sequence
from functools import lru_cache

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Sheet, ToolCall
from ramify.model.otel_event import AGENT, CLIENT_RUN, LOOP, MODEL, NO_CONTENT, TOOL, WORKFLOW, LogTold, SpanSeen

TRACE = 32  # characters of a trace's id
Place = tuple[str, str]
"""A project, and a span's place in it: nothing links across projects."""


class Node(Struct, array_like=True, gc=False):
    """A span, and what was made of it when it was judged last."""

    seen: SpanSeen
    table: str = ""  # tasks, calls, tools; empty: no row
    row: str = ""
    task: str = ""  # whose row it is; of a task, itself
    stands: str = ""  # root, loose or bare, where no agent is above; how it is listed in its trace
    through: bool = False  # walked through, although it is an agent's
    calls: bool = False  # a model was called in it, or below
    referred: str = ""  # the tasks that its links lead to
    claims: bool = False  # an agent says what it used, here or below


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Node).decode


def sheet_id(project: str, place: str) -> str:
    return f"span:{project}:{place}"


def load(world: World, project: str, place: str) -> Node | None:
    sheet = world.get("sheets", sheet_id(project, place)) if place else None
    return _decode(sheet.state) if isinstance(sheet, Sheet) else None


def place_key(kind: str, project: str, place: str) -> int:
    """Keys of one trace stand together, so that those of a batch are read at once."""
    return key(kind, project, trace_of(place), place)


def trace_of(place: str) -> str:
    return place[:TRACE]


def span_of(place: str) -> str:
    return place[TRACE + 1 :]


def task_id(seen: SpanSeen) -> str:
    return _named_task(seen.project, seen.task or seen.place)


def shown_task(world: World, seen: SpanSeen) -> str:
    """A task of A2A that somebody saw is that task; a span about it is only a witness."""
    protocol, _, native = seen.task.partition(":")
    if protocol == "a2a":
        known = world.span(key("a2a-shown", seen.project, native))
        if len(known) == 1:
            return known[0][1].partition(" ")[0]
    return task_id(seen)


@lru_cache(8192)
def _named_task(project: str, native: str) -> str:
    return ids.short("task", project, "otel", native)


def call_id(seen: SpanSeen) -> str:
    return placed_call(seen.project, seen.place)


@lru_cache(8192)
def placed_call(project: str, place: str) -> str:
    return ids.short("call", project, "otel", place)


@lru_cache(8192)
def tool_id(project: str, trace: str, native: str) -> str:
    return ids.short("tool", project, "otel", trace, native)


def tool_key(project: str, native: str) -> int:
    """Where spans of any trace stand that tell of a tool call with this id: the wire may show who asked for it."""
    return key("otel-tool", f"{project}:{native}")


def tool_row(world: World, seen: SpanSeen) -> str:
    """The wire's own row, where the wire has the call that asked for it."""
    if seen.tool_call and (wire := wire_tool(world, seen.project, seen.tool_call)) is not None:
        return wire.id
    return tool_id(seen.project, trace_of(seen.place), seen.tool_call or seen.place)


def wire_tool(world: World, project: str, native: str) -> ToolCall | None:
    """Clients that have sessions report their tool calls themselves: only those without are looked for."""
    if not world.find(key("free-wire", project)):
        return None
    tool = world.tool(ids.tool_call_id(project, "", native))
    return tool if tool is not None and tool.call else None


class Nodes:
    """Of one batch: read once, written once."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._known: dict[Place, Node | None] = {}
        self._kids: dict[Place, list[Node]] = {}
        self.fresh: set[Place] = set()  # that came with this batch, or came better
        self._changed: dict[Place, Node] = {}

    def expect(self, events: Sequence[SpanSeen | LogTold]) -> None:
        """Reads what is known around new spans at once."""
        spans = [event for event in events if isinstance(event, SpanSeen)]
        self._expect_keys(spans)
        near = [(seen.project, place) for seen in spans for place in (seen.place, seen.parent) if place]
        near += [(seen.project, kid) for seen in spans for _, kid in self.world.every(place_key("otel-kids", seen.project, seen.place))]
        self.world.gather("sheets", (sheet_id(*place) for place in near))
        self.world.gather("tools", (tool_id(seen.project, trace_of(seen.place), seen.tool_call or seen.place) for seen in spans if seen.role == TOOL))

    def _expect_keys(self, spans: Sequence[SpanSeen]) -> None:
        """Of traces that are not remembered whole."""
        traces = dict.fromkeys((seen.project, trace_of(seen.place)) for seen in spans)
        partly = {trace for trace in traces if not self.world.is_whole(key("otel-kids", *trace, ""))}
        some = [seen for seen in spans if (seen.project, trace_of(seen.place)) in partly] if partly else []
        keys = [place_key("otel-kids", seen.project, place) for seen in some for place in (seen.place, seen.parent) if place]
        keys += [place_key("otel-asks", seen.project, seen.place) for seen in some if seen.role == MODEL]
        keys += [
            key(kind, seen.project, trace_of(seen.place), seen.tool_call)
            for seen in some
            if seen.tool_call
            for kind in ("otel-runs", "otel-said")
        ]
        self.world.prefetch(keys)

    def get(self, project: str, place: str) -> Node | None:
        if not place:
            return None
        at = (project, place)
        if at not in self._known:
            self._known[at] = load(self.world, project, place)
        return self._known[at]

    def parent(self, node: Node) -> Node | None:
        return self.get(node.seen.project, node.seen.parent)

    def kids(self, node: Node) -> list[Node]:
        """Oldest first."""
        project, place = at = (node.seen.project, node.seen.place)
        known = self._kids.get(at)
        if known is None:
            below = self.world.every(place_key("otel-kids", project, place))
            if any((project, kid) not in self._known for _, kid in below):
                self.world.gather("sheets", (sheet_id(project, kid) for _, kid in below))
            known = self._kids[at] = [found for _, kid in below if (found := self.get(project, kid)) is not None]
        return known

    def is_fresh(self, node: Node) -> bool:
        return (node.seen.project, node.seen.place) in self.fresh

    def changed(self, node: Node) -> None:
        self._changed[node.seen.project, node.seen.place] = node

    def admit(self, seen: SpanSeen) -> Node | None:
        """None: it is known already, at least as well. Of two, the one that ends later counts; then the fuller."""
        known = self.get(seen.project, seen.place)
        if known is not None and not is_better(seen, known.seen):
            return None
        node = known or Node(seen)
        if known is None:
            self._is_new(seen)
        bare = replace(seen, content=NO_CONTENT)
        if known is not None and (known.seen.parent, known.seen.opened) != (seen.parent, seen.opened):
            self._mark(known.seen, False)
        if known is None or (known.seen.parent, known.seen.opened) != (seen.parent, seen.opened):
            self._mark(seen, True)
        node.seen = bare
        self._known[seen.project, seen.place] = node
        self.fresh.add((seen.project, seen.place))
        self.changed(node)
        return node

    def _is_new(self, seen: SpanSeen) -> None:
        """What is certainly absent is not looked for."""
        if seen.role == MODEL:
            self.world.lacks("calls", call_id(seen))
        elif seen.role in (AGENT, LOOP, WORKFLOW) and not seen.task:
            task = task_id(seen)
            self.world.are_new(key("otel-in", task), key("kids", task))
            for table in ("tasks", "lines"):
                self.world.lacks(table, task)

    def _mark(self, seen: SpanSeen, there: bool) -> None:
        if seen.parent:
            put = self.world.mark if there else self.world.unmark
            put(place_key("otel-kids", seen.project, seen.parent), seen.opened, seen.place)
            self._kids.pop((seen.project, seen.parent), None)

    def save(self) -> None:
        for (project, place), node in self._changed.items():
            seen = node.seen
            self.world.save("sheets", Sheet(sheet_id(project, place), "otel-span", seen.closed, seen.observation, _encode(node)))
        self._changed.clear()


def is_better(new: SpanSeen, old: SpanSeen) -> bool:
    if (new.closed, new.weight) != (old.closed, old.weight):
        return (new.closed, new.weight) > (old.closed, old.weight)
    return new.observation < old.observation


def is_client_run(node: Node) -> bool:
    return node.seen.role == CLIENT_RUN
