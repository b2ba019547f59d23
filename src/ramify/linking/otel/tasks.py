"""Tasks that spans make: what is known of each, and under whom it stands."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from ramify.linking import adoption
from ramify.linking.otel import claims, content, traces
from ramify.linking.otel.nodes import Node, Nodes, is_client_run, shown_task, span_of, tool_row, trace_of
from ramify.linking.otel.outside import owner_in_client
from ramify.linking.otel.peers import Peers
from ramify.linking.otel.structure import MISSING, Standing
from ramify.linking.otel.traces import Traces, stand_in
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import NativeRef, Task
from ramify.model.link import Link
from ramify.model.otel_event import SpanSeen
from ramify.model.standing import DONE
from ramify.model.usage import NOTHING, Usage

PROTOCOL = "otel"
SAME_TRACE, SPAN_LINK = 0.5, 0.8
MOST_LINKS = 64


class Sum(Struct):
    """What a batch adds to a task."""

    usage: Usage = NOTHING
    calls: int = 0
    tools: int = 0


class Tasks:
    def __init__(self, world: World, nodes: Nodes, peers: Peers, all_traces: Traces) -> None:
        self.world = world
        self.nodes = nodes
        self.peers, self.structure = peers, peers.structure
        self.traces = all_traces
        self.wanted: dict[str, Node | None] = {}  # None: as it was, with other sums
        self.sums: dict[str, Sum] = {}
        self.gone: dict[str, str] = {}  # and what stands for it now
        self.refused: dict[str, Link | None] = {}
        self.rehung: dict[str, None] = {}  # tasks that stand under another one now: somebody else asked
        self.retooled: dict[str, None] = {}  # tool calls whose children are others now

    # -- which task ----------------------------------------------------------------------------------------------------

    def id_of(self, seen: SpanSeen) -> str:
        return shown_task(self.world, seen)

    def owner(self, node: Node) -> str:
        """Whose a call is."""
        above = self.nodes.get(node.seen.project, self.structure.standing(node).owner)
        if above is None or is_client_run(above):
            return self.traces.of(node).main
        return self.id_of(above.seen)

    def add(self, task: str, usage: Usage, calls: int = 0, tools: int = 0) -> None:
        one = self.sums.get(task) or self.sums.setdefault(task, Sum())
        if usage is not NOTHING:
            one.usage = one.usage + usage
        one.calls, one.tools = one.calls + calls, one.tools + tools
        self.wanted.setdefault(task, None)

    # -- taking in -----------------------------------------------------------------------------------------------------

    def put(self, node: Node) -> None:
        id = self.id_of(node.seen)
        if node.table == "tasks" and node.row != id:
            self.gone[node.row] = id
        if (node.table, node.row, node.task) != ("tasks", id, id):
            node.table, node.row, node.task = "tasks", id, id
            self.nodes.changed(node)
        self.wanted[id] = self._speaker(node)

    def _speaker(self, node: Node) -> Node:
        """Of several spans about one task, the earliest tells."""
        if not node.seen.task:
            return node
        named = key("otel-named", f"{node.seen.project}:{node.seen.task}")
        found = (self.nodes.get(node.seen.project, ref) for _, ref in self.world.span(named))
        agents = [one for one in found if one is not None and self.structure.is_agent(one)]
        return min(agents, key=lambda one: (one.seen.opened, one.seen.place), default=node)

    def clear(self, node: Node) -> None:
        inner, speaker = self.structure.inner_half(node), self._speaker(node)
        if speaker is not node and self.id_of(speaker.seen) == node.row:
            self.wanted[node.row] = speaker  # another span tells of the same task
        else:
            self.gone[node.row] = self.id_of(inner.seen) if inner is not None else self.owner(node)
        node.table = node.row = node.task = ""
        self.nodes.changed(node)

    def replaced(self, project: str, trace: str, was: str, main: str) -> None:
        if was == stand_in(project, trace):
            self.gone[was] = main

    # -- writing -------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        for project, id in sorted(self.traces.moved):
            if self.traces.get(project, id).main == stand_in(project, id):
                self._put_stand_in(project, id)
        for id, node in self.wanted.items():
            if id in self.gone:
                continue
            row = self.world.task(id)
            node = node or self._teller(row)
            if node is not None and (row is None or row.protocol == PROTOCOL):
                self._put_task(id, row or Task(id, node.seen.project, protocol=PROTOCOL), node)
            elif node is not None and row is not None:
                self._witness(row, node)
            elif row is not None and id in self.sums:  # of a trace whose own task was put above, nothing is left to count
                self._count(row)
                self._attach(row, row.found)
        for id, instead in self.gone.items():
            self._remove(id, instead)
        self._try_again()

    def _teller(self, row: Task | None) -> Node | None:
        """Of a task whose calls are others now, the span that describes it."""
        places = [ref.value for ref in row.refs if (ref.protocol, ref.kind) == (PROTOCOL, "span")] if row is not None else []
        found = (self.nodes.get(row.project, place) for place in places) if row is not None else ()
        node = next((one for one in found if one is not None and row is not None and one.row == row.id and self.structure.is_agent(one)), None)
        return self._speaker(node) if node is not None else None

    def _remove(self, id: str, instead: str) -> None:
        row = self.world.task(id)
        if row is None or row.protocol != PROTOCOL:
            return
        self._retie(row, None)
        adoption.remove(self.world, id)
        if instead:
            self.world.aliases[id] = instead

    def _put_task(self, id: str, row: Task, node: Node) -> None:
        seen = node.seen
        self._count(row)
        outer = self.structure.outer_halves(node)
        link = self._link(id, node, outer)
        row.opened, row.active = min([seen.opened, *(one.seen.opened for one in outer)]), max(seen.closed, seen.opened)
        row.status, row.native_status = seen.status, seen.native_status
        row.closed = max([seen.closed, *(one.seen.closed for one in outer)]) if seen.status in DONE else 0
        row.agent, row.agent_type = seen.agent, seen.agent_type if seen.agent_type != seen.agent else ""
        row.prompt = seen.prompt or self._first_words(id, seen.project)
        row.title = first_line(row.prompt) or seen.agent or seen.name
        row.refs = self._refs(id, node, outer)
        row.home = conversation_id(seen.project, self._conversation(node))
        row.native = self._native(row, node, outer)
        row.refers = self._refers(id, node)
        self._attach(row, link)

    def _witness(self, row: Task, node: Node) -> None:
        """A task of another protocol: the span only says whose it is, where nobody said so."""
        self._count(row)
        link = self._link(row.id, node, self.structure.outer_halves(node))
        own = row.found is not None and row.found.rule not in ("span-parent", "traceparent", "same-trace")
        if own and link is not None and link.via_id:
            self.retooled[link.via_id] = None  # it seemed to be its child until the protocol itself named another parent
        self._attach(row, row.found if own or link is None else link)

    def _put_stand_in(self, project: str, id: str) -> None:
        trace = self.traces.get(project, id)
        row = self.world.task(trace.main) or Task(trace.main, project, protocol=PROTOCOL)
        self._count(row)
        bare = self.traces.at(project, id, traces.BARE, 1)
        top = self.nodes.get(project, self.structure.standing(bare[0]).top) if bare else None
        row.opened, row.active, row.agent = trace.first, trace.last, trace.service
        row.status, row.closed = ("working", 0) if top is None else (top.seen.status, trace.last if top.seen.status in DONE else 0)
        row.prompt = self._first_words(row.id, project)
        row.title = trace.service or first_line(row.prompt) or "trace"
        row.refs = (NativeRef(PROTOCOL, "trace", id), *context_refs(trace.conversation or id))
        row.home = conversation_id(project, trace.conversation or id)
        self._attach(row, self._outside(bare[0]) if bare else None)

    def _outside(self, node: Node) -> Link | None:
        """Calls inside a tool of the Claude client, with no agent between."""
        above = self.nodes.get(node.seen.project, self.structure.standing(node).owner)
        return client_link(self.world, above, (node.seen.observation, above.seen.observation)) if above is not None else None

    def _attach(self, row: Task, link: Link | None) -> None:
        self._retie(row, link)
        if row.protocol == PROTOCOL:
            row.prompt_author = "agent" if link is not None else "human" if row.prompt else "unknown"
        before = row.parent
        if not adoption.put(self.world, row, link):
            self.refused[row.id] = link
        if row.parent != before:
            self.rehung[row.id] = None

    def _try_again(self) -> None:
        """What was refused stood under itself only until the others had moved; spans that truly do stay where they are."""
        waiting = self.refused
        while waiting:
            self.refused = {}
            for id, link in waiting.items():
                if (row := self.world.task(id)) is not None:
                    self._attach(row, link)
            if len(self.refused) == len(waiting):
                break
            waiting = self.refused

    def _retie(self, row: Task, link: Link | None) -> None:
        was, now = row.found.via_id if row.found is not None else "", link.via_id if link is not None else ""
        if was != now or (now and link is not None):
            for tool, put in ((was, self.world.unmark), (now, self.world.mark)):
                if tool:
                    put(key("otel-children", tool), 0, row.id)
                    self.retooled[tool] = None

    def _count(self, row: Task) -> None:
        added = self.sums.pop(row.id, None)
        if added is not None:
            row.usage, row.calls, row.tool_calls = row.usage + added.usage, row.calls + added.calls, row.tool_calls + added.tools

    # -- what is known of it -------------------------------------------------------------------------------------------

    def _conversation(self, node: Node) -> str:
        return node.seen.conversation or self.traces.of(node).conversation or trace_of(node.seen.place)

    def _first_words(self, task: str, project: str) -> str:
        for _, place in self.world.span(key("otel-in", task), limit=1):
            node = self.nodes.get(project, place)
            if node is not None:
                around = [one.seen for one in reversed([node, *self.peers.witnesses(node)])]
                teller = content.shown_by(self.world, around)
                return content.first_words(self.world, teller) if teller is not None else ""
        return ""

    def _refs(self, id: str, node: Node, outer: Iterable[Node]) -> tuple[NativeRef, ...]:
        found = {NativeRef(PROTOCOL, "span", one.seen.place) for one in (node, *outer)}
        seen, trace = node.seen, self.traces.of(node)
        if seen.task:
            protocol, _, native = seen.task.partition(":")
            found.add(NativeRef(protocol, "task", native))
            named = self.world.span(key("otel-named", f"{seen.project}:{seen.task}"))
            found |= {NativeRef(PROTOCOL, "span", place) for _, place in named}
        if trace.main == id:
            found.add(NativeRef(PROTOCOL, "trace", trace.id))
        return (*sorted(found), *context_refs(self._conversation(node)))

    def _native(self, row: Task, node: Node, outer: list[Node]) -> dict[str, Any]:
        """What an agent says it used is a claim: counted only where no call is known that explains it."""
        seen, tokens = node.seen, claims.of(node, outer)
        native = {**seen.native, "dialect": seen.dialect, "service": seen.service} if seen.service else {**seen.native, "dialect": seen.dialect}
        claimed = NOTHING
        if tokens is not None:
            native["claim"] = claims.shown(tokens)
            if not node.calls:
                native["claimed"] = True
                claimed = claims.counted(tokens, claims.below(self.nodes, self.structure, node))
        row.usage, row.extra = row.usage - row.extra + claimed, claimed
        return native

    # -- under whom ----------------------------------------------------------------------------------------------------

    def _link(self, id: str, node: Node, outer: list[Node]) -> Link | None:
        if named := self._stated(node):
            return named
        top = outer[-1] if outer else node
        standing = self.structure.standing(top)
        above = self.nodes.get(node.seen.project, standing.owner)
        remote = standing.remote or any(one.seen.remote for one in (node, *outer))
        passed: set[str] = set()  # spans may stand above each other in a circle
        while above is not None and not is_client_run(above) and self.id_of(above.seen) == id and above.seen.place not in passed:
            passed.add(above.seen.place)
            standing = self.structure.standing(above)
            remote = remote or standing.remote
            above = self.nodes.get(node.seen.project, standing.owner)
        if above is None:
            return self._in_trace(id, node, standing)
        evidence = tuple(dict.fromkeys((node.seen.observation, above.seen.observation)))
        if is_client_run(above):
            return client_link(self.world, above, evidence) or self._in_trace(id, node, Standing("", MISSING, top=standing.top))
        via, via_id = self._via(node.seen.project, standing.tool)
        rule = "traceparent" if remote else "span-parent"
        return Link("spawned", self.id_of(above.seen), rule, 1.0, via, via_id, evidence)

    def _stated(self, node: Node) -> Link | None:
        if not node.seen.above:
            return None
        self.world.mark(key("otel-awaited", f"{node.seen.project}:{node.seen.above}"), 0, node.seen.place)
        parent = ids.short("task", node.seen.project, "otel", node.seen.above)
        known = self.world.task(parent) is not None or parent in self.wanted
        return Link("spawned", parent, "parentTaskId", 1.0, evidence=(node.seen.observation,)) if known else None

    def _in_trace(self, id: str, node: Node, standing: Standing) -> Link | None:
        """Its parent is not here, or it has none: the trace's own task is all that can be said."""
        main = self.traces.of(node).main
        if main in ("", id):
            return None
        evidence = (node.seen.observation,)
        if standing.end == MISSING:
            return Link("spawned", main, "same-trace", SAME_TRACE, evidence=evidence)
        if main != stand_in(node.seen.project, trace_of(node.seen.place)):
            return None  # a second root
        inside = standing.top != node.seen.place
        return Link("spawned", main, "span-parent" if inside else "same-trace", 1.0 if inside else SAME_TRACE, evidence=evidence)

    def _via(self, project: str, place: str) -> tuple[str, str]:
        tool = self.nodes.get(project, place)
        if tool is None:
            return "", ""
        around = self.nodes.get(project, self.structure.inner_of(tool)) or tool
        return around.seen.tool_call or span_of(around.seen.place), tool_row(self.world, around.seen)

    def _refers(self, id: str, node: Node) -> tuple[Link, ...]:
        """Links of a span, and of what is around it up to the next agent, lead to tasks without being their children."""
        found: dict[str, Link] = {}
        way, above = [node], self.nodes.parent(node)
        while above is not None and len(way) < MOST_LINKS and not self.structure.is_agent(above) and not is_client_run(above):
            way.append(above)
            above = self.nodes.parent(above)
        for place in (place for one in way for place in one.seen.links[:MOST_LINKS]):
            for where in (place, trace_of(place)):  # a trace that has another task now may be where the link leads
                self.world.mark(key("otel-linked", f"{node.seen.project}:{where}"), 0, node.seen.place)
            self.world.add(key("otel-links", node.seen.project), 0, "")
            target = self.nodes.get(node.seen.project, place)
            task = "" if target is None else self.id_of(target.seen) if self.structure.is_agent(target) else self.owner(target)
            if task and task != id:
                found.setdefault(task, Link("refers", task, "span-link", SPAN_LINK, evidence=(node.seen.observation,)))
        return tuple(found.values())


def first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:200]


def conversation_id(project: str, native: str) -> str:
    return ids.short("conv", project, PROTOCOL, native)


def context_refs(conversation: str) -> tuple[NativeRef, ...]:
    return (NativeRef(PROTOCOL, "context", conversation),)


def client_link(world: World, above: Node, evidence: tuple[str, ...]) -> Link | None:
    """To a task of the Claude client, by the tool call inside which the span was made."""
    parent, via, via_id = owner_in_client(world, above)
    if not parent or world.task(parent) is None:
        return None
    return Link("spawned", parent, "traceparent", 1.0, via, via_id, evidence)
