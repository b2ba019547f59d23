"""From spans to tasks, model calls and tool calls. All spans of a batch are known before any of them is judged."""

from collections.abc import Sequence

from ramify.linking import explicit
from ramify.linking.otel import claims, content, traces
from ramify.linking.otel.calls import Calls
from ramify.linking.otel.joining import Joining
from ramify.linking.otel.nodes import Node, Nodes, Place, is_client_run, trace_of
from ramify.linking.otel.peers import Peers, answers_key, natives
from ramify.linking.otel.structure import MISSING, Reach, Structure
from ramify.linking.otel.tasks import Tasks
from ramify.linking.otel.tools import Tools, is_spoken_of, run_id
from ramify.linking.otel.traces import Traces
from ramify.linking.sighting import Price
from ramify.linking.world import World
from ramify.model.entity import Call
from ramify.model.event import Result, Scope, TaskReferred, ToolReturned
from ramify.model.otel_event import MODEL, TOOL, LogTold, SpanSeen
from ramify.model.usage import NOTHING


class Fold:
    """Of one batch."""

    def __init__(self, world: World, price: Price) -> None:
        self.world = world
        self.price = price
        self.nodes = Nodes(world)
        self.structure = Structure(self.nodes)
        self.reach = Reach(self.nodes, self.structure)
        self.peers = Peers(world, self.nodes, self.structure)
        self.traces = Traces(world, self.nodes)
        self.tasks = Tasks(world, self.nodes, self.peers, self.traces)
        self.tools = Tools(world, self.nodes, self.peers, self.tasks)
        self.calls = Calls(world, self.nodes, self.peers, self.tasks, price)
        self.joining = Joining(world, self.nodes, self.structure, self.tasks)

    def take(self, events: Sequence[SpanSeen | LogTold]) -> None:
        self.nodes.expect(events)
        self.world.foresee(answers_key(event.project, native) for event in events if isinstance(event, SpanSeen) for native in natives(event))
        fresh = [node for event in events if isinstance(event, SpanSeen) and (node := self._admit(event)) is not None]
        for event in events:
            if isinstance(event, LogTold):
                self._add_log(event)
        for node in fresh:
            self.reach.spread(node)
            self._note_calls(node)
            claims.note(self.nodes, node)

    def wake(self, places: Sequence[Place]) -> None:
        """Spans that something else has met: a request on the wire, a task of another protocol."""
        for place in places:
            if (node := self.nodes.get(*place)) is not None:
                self.reach.touch(node)
                if node.seen.role == TOOL or node.seen.task:
                    self.reach.descend(node)  # whom it started is told by which call, and what is in it by which task

    def _admit(self, seen: SpanSeen) -> Node | None:
        known = self.nodes.get(seen.project, seen.place)
        before = known.seen if known is not None else None
        node = self.nodes.admit(seen)
        if node is None:
            return None
        self.traces.note(node)
        self.joining.note(node, before)
        if seen.role == MODEL:
            content.put_messages(self.world, seen, before.messages if before is not None else 0)
            self.tools.note_content(node, seen.content)
        elif seen.role == TOOL:
            self.tools.note_run(node, seen.content)
        return node

    def _add_log(self, told: LogTold) -> None:
        """It may come before its span, or without it."""
        content.put_log(self.world, told)
        node = self.nodes.get(told.project, told.place)
        if node is not None:
            self.reach.touch(node)

    def _note_calls(self, node: Node) -> None:
        """That a model was called below: then what an agent says of its usage is only a claim."""
        if node.seen.role != MODEL and not any(kid.calls for kid in self.nodes.kids(node)):
            return
        above: Node | None = node
        while above is not None and not above.calls:
            above.calls = True
            self.nodes.changed(above)
            self.reach.touch(above)
            above = self.nodes.parent(above)

    # -- judging -------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        self.reach.spread_turned()
        for node in self.traces.renamed():
            self.reach.touch(node)
        for above in claims.above(self.nodes, list(self.reach.touched.values())):
            self.reach.touch(above)
        for node in [node for node in self.reach.touched.values() if node.seen.role == MODEL]:
            for other in self.peers.known_as(node):
                self.reach.touch(other)
        for node in list(self.reach.touched.values()):
            self._stand(node)
        self._turn_traces()
        for node in list(self.reach.touched.values()):
            if waiting := self.joining.waiting_for(node):
                self.wake(waiting)
        self._read_rows()
        touched = sorted(self.reach.touched.values(), key=lambda node: (self.structure.standing(node).depth, node.seen.opened, node.seen.place))
        for node in touched:
            self._put(node)
        for node in touched:
            if node.seen.role != MODEL and not is_client_run(node):
                self._carry(node)
        self.tools.settle()
        self.tasks.settle()
        self.calls.settle()
        self.tools.finish()
        self.joining.settle(touched)
        self.nodes.save()
        self.traces.save()

    def _read_rows(self) -> None:
        """What spans made when they were judged last, all of it at once."""
        known = [node for node in self.reach.touched.values() if node.row]
        calls = [node.seen for node in known if node.table == "calls"]
        tools = [node.seen for node in known if node.table == "tools" and (self.nodes.is_fresh(node) or is_spoken_of(self.world, node.seen))]
        self.world.gather("calls", (node.row for node in known if node.table == "calls"))
        self.world.gather("tools", (node.row for node in known if node.table == "tools"))
        self.world.gather("messages", (id for seen in calls for id in content.message_ids(seen)))
        self.world.gather("sheets", (run_id(seen) for seen in tools))

    def _stand(self, node: Node) -> None:
        """How it is listed in its trace, where no agent is above it."""
        standing = self.structure.standing(node)
        agent = self.structure.is_agent(node)
        how = ""
        if not standing.owner and (agent or self._is_call(node)):
            how = traces.LOOSE if standing.end == MISSING else traces.ROOT if agent else traces.BARE
        elif not standing.owner and self.joining.carried(node):
            how = traces.CARRIER
        self.traces.stand(node, how)

    def _is_call(self, node: Node) -> bool:
        if node.seen.role == MODEL:
            return self._is_own(node)
        return node.seen.role == TOOL and not self.structure.inner_of(node)

    def _turn_traces(self) -> None:
        """Where another task stands for the trace now, what hangs on it is placed again."""
        for project, trace, was, main in self.traces.settle():
            for how in (traces.ROOT, traces.LOOSE, traces.BARE, traces.CARRIER):
                for node in self.traces.at(project, trace, how):
                    self.reach.touch(node)
            self.wake(self.joining.linked_to(project, trace))
            self.tasks.replaced(project, trace, was, main)

    def _put(self, node: Node) -> None:
        if is_client_run(node):
            self._refer(node)
        elif self.structure.is_agent(node):
            self.tasks.put(node)
        elif self._is_own(node):
            self._put_call(node)
        elif node.seen.role == TOOL:
            self.tools.put(node)
        else:
            self._clear(node)

    def _put_call(self, node: Node) -> None:
        self.calls.put(node)
        around = self.peers.witnesses(node)
        if any(trace_of(one.seen.place) != trace_of(node.seen.place) for one in around):  # its task may have other words now
            self.traces.moved.add((node.seen.project, trace_of(node.seen.place)))
            self.tasks.add(self.tasks.owner(node), NOTHING)
        for one in (node, *around):
            self.tools.asked_by(one)
        wire = self.joining.wire_of(node, around)
        if wire is not None:
            self._meet(node, wire)

    def _meet(self, node: Node, wire: Call) -> None:
        """One call, two witnesses: the wire's figures count, in the task that the span says."""
        self.calls.join(node, wire.id)
        self.joining.give(wire, self._sent_by(wire) or self.tasks.owner(node))
        for native in wire.uses:
            self.tools.met(node, native)

    def _carry(self, node: Node) -> None:
        """Requests that were sent in a span which is no model call: inside one, or right in a task."""
        for wire in self.joining.carried(node):
            model = self.nodes.get(node.seen.project, self.structure.standing(node).model)
            if model is not None and model.table == "calls":
                self._meet(model, wire)
            elif task := self._sent_by(wire):
                self.joining.give(wire, task)

    def _sent_by(self, wire: Call) -> str:
        """The span that it was sent in knows whose it is, before any that only names its answer."""
        node = self.nodes.get(wire.project, wire.span)
        if node is None or is_client_run(node):
            return ""
        return self.tasks.id_of(node.seen) if self.structure.is_agent(node) else self.tasks.owner(node)

    def _is_own(self, node: Node) -> bool:
        """A call to a model of which no other span tells better."""
        return node.seen.role == MODEL and not self.structure.is_wrapper(node) and self.peers.is_own(node)

    def _clear(self, node: Node) -> None:
        """It made a row when less was known."""
        if node.seen.role == MODEL and not self.structure.is_wrapper(node) and self.peers.primary(node) is None:
            for one in (node, *self.structure.wrappers(node)):
                content.show(self.world, one.seen, None, "")
        match node.table:
            case "tasks":
                self.tasks.clear(node)
            case "calls":
                self.calls.clear(node)
                self.tools.asked_by(node)
            case _:
                pass

    def _refer(self, node: Node) -> None:
        """Spans of a sub-agent of the Claude client stand inside the tool call that started it."""
        seen = node.seen
        if not seen.agent or not seen.session:
            return
        above, passed = self.nodes.parent(node), {seen.place}
        while above is not None and is_client_run(above) and above.seen.session == seen.session and not above.seen.tool_call:
            if above.seen.place in passed:
                return
            passed.add(above.seen.place)
            above = self.nodes.parent(above)
        if above is None or not above.seen.tool_call or above.seen.session != seen.session or above.seen.agent == seen.agent:
            return
        scope = Scope(seen.project, session=seen.session, agent=seen.agent, parent_agent=above.seen.agent)
        referred = TaskReferred(scope, "otel", seen.observation, seen.opened, "span-parent", above.seen.tool_call)
        explicit.tell(self.world, [referred, *self._outlives(node, above)], self.price)

    def _outlives(self, node: Node, above: Node) -> list[ToolReturned]:
        """An agent that goes on when its tool call has come back: that told only that it was started."""
        seen, tool = node.seen, above.seen
        if not tool.closed or seen.closed <= tool.closed or tool.status != "completed":
            return []
        scope = Scope(seen.project, session=seen.session, agent=tool.agent)
        started = Result(tool.tool_call, 0, None, None, receipt=True)
        return [ToolReturned(scope, "otel", seen.observation, tool.closed, started)]


def settle(world: World, price: Price) -> None:
    """At the end of a batch: what its spans say, and what others have to do with spans that are known."""
    if not world.spanned and not world.respanned:
        return
    fold = Fold(world, price)
    fold.take(world.spanned)
    fold.wake(list(world.respanned))
    world.spanned.clear()
    world.respanned.clear()
    fold.settle()


