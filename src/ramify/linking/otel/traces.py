"""A trace as a whole: the task that stands for it until its root has come, and what no agent is above of."""

from functools import lru_cache

import msgspec
from msgspec import Struct

from ramify.linking.otel.nodes import Node, Nodes, shown_task, trace_of
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Sheet
from ramify.model.otel_event import AGENT, LOOP, WORKFLOW

ROOT, LOOSE, BARE, CARRIER = "root", "loose", "bare", "carrier"
"""An agent at the top; what hangs on a span that is not here yet; a call at the top, with no agent around it; any other
span with no agent above in which requests were sent."""


class Trace(Struct, array_like=True):
    id: str = ""
    main: str = ""  # the task that its id leads to
    first: int = 0
    start: str = ""  # the earliest span
    service: str = ""
    conversation: str = ""
    last: int = 0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Trace).decode


def stand_in(project: str, trace: str) -> str:
    return ids.short("task", project, "otel", "trace", trace)


@lru_cache(1024)
def listed(project: str, trace: str, how: str) -> int:
    return key(f"otel-{how}", f"{project}:{trace}")


@lru_cache(1024)
def silent(project: str, trace: str) -> int:
    return key("otel-silent", f"{project}:{trace}")


class Traces:
    def __init__(self, world: World, nodes: Nodes) -> None:
        self.world = world
        self.nodes = nodes
        self._known: dict[tuple[str, str], Trace] = {}
        self.moved: set[tuple[str, str]] = set()  # of which something at the top has changed
        self._renamed: set[tuple[str, str]] = set()  # of which the conversation is another now

    def of(self, node: Node) -> Trace:
        return self.get(node.seen.project, trace_of(node.seen.place))

    def get(self, project: str, trace: str) -> Trace:
        if (project, trace) not in self._known:
            sheet = self.world.get("sheets", f"trace:{project}:{trace}")
            self._known[project, trace] = _decode(sheet.state) if isinstance(sheet, Sheet) else Trace(trace)
        return self._known[project, trace]

    def note(self, node: Node) -> None:
        """What the earliest of its spans says."""
        seen, trace = node.seen, self.of(node)
        if not seen.conversation and seen.role in (AGENT, LOOP, WORKFLOW):
            self.world.mark(silent(seen.project, trace.id), seen.opened, seen.place)
        trace.last = max(trace.last, seen.closed, seen.opened)
        if not trace.start or (seen.opened, seen.place) < (trace.first, trace.start):
            trace.first, trace.start, trace.service = seen.opened, seen.place, seen.service
        if seen.conversation and (not trace.conversation or seen.conversation < trace.conversation):
            trace.conversation = seen.conversation
            self._renamed.add((seen.project, trace.id))
        self.moved.add((seen.project, trace.id))

    def renamed(self) -> list[Node]:
        """Agents that do not say themselves to which conversation they belong, of traces whose conversation is another now."""
        found = (self.nodes.get(project, ref) for project, trace in self._renamed for _, ref in self.world.span(silent(project, trace)))
        return [node for node in found if node is not None]

    def stand(self, node: Node, how: str) -> None:
        seen, trace = node.seen, trace_of(node.seen.place)
        if seen.task:
            self.moved.add((seen.project, trace))  # it may turn out to be a task that somebody else shows
        if node.stands == how:
            return
        if node.stands:
            self.world.unmark(listed(seen.project, trace, node.stands), seen.opened, seen.place)
        if how:
            self.world.mark(listed(seen.project, trace, how), seen.opened, seen.place)
        node.stands = how
        self.nodes.changed(node)
        self.moved.add((seen.project, trace))

    def at(self, project: str, trace: str, how: str, limit: int = 1_000_000) -> list[Node]:
        found = (self.nodes.get(project, ref) for _, ref in self.world.span(listed(project, trace, how), limit=limit))
        return [node for node in found if node is not None]

    def main_of(self, project: str, trace: str) -> str:
        """The earliest agent at the top, unless there is something that it cannot have done."""
        bare = self.at(project, trace, BARE, 1)
        roots = self.at(project, trace, ROOT, 1)
        if bare or (not roots and self.at(project, trace, LOOSE, 1)):
            return stand_in(project, trace)
        return shown_task(self.world, roots[0].seen) if roots else ""

    def settle(self) -> list[tuple[str, str, str, str]]:
        """Traces whose main task is another now, with what it was and is."""
        found: list[tuple[str, str, str, str]] = []
        for project, id in sorted(self.moved):
            trace = self.get(project, id)
            main = self.main_of(project, id)
            if main != trace.main:
                found.append((project, id, trace.main, main))
                trace.main = main
        return found

    def save(self) -> None:
        for project, id in self.moved:
            trace = self.get(project, id)
            self.world.save("sheets", Sheet(f"trace:{project}:{id}", "otel-trace", trace.last, trace.start, _encode(trace)))
