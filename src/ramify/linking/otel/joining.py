"""What spans have to do with what others show: requests on the wire, tasks of A2A, sessions of the Claude client."""

from ramify.linking.otel.nodes import Node, Nodes, Place, is_client_run, tool_key
from ramify.linking.otel.peers import MOST, alike_models, answers_key, natives
from ramify.linking.otel.structure import Structure
from ramify.linking.otel.tasks import Tasks
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call, Task
from ramify.model.event import ModelAnswered
from ramify.model.otel_event import SpanSeen


class Joining:
    def __init__(self, world: World, nodes: Nodes, structure: Structure, tasks: Tasks) -> None:
        self.world = world
        self.nodes = nodes
        self.structure = structure
        self.tasks = tasks
        self._linked: dict[str, bool] = {}

    # -- marks by which others find a span -----------------------------------------------------------------------------

    def note(self, node: Node, before: SpanSeen | None) -> None:
        seen, world = node.seen, self.world
        if before is None:
            world.add(key("otel-any", seen.project), 0, "")
        if seen.task:
            world.mark(key("otel-named", f"{seen.project}:{seen.task}"), seen.opened, seen.place)
        self._note_answer(seen, before)

    def _note_answer(self, seen: SpanSeen, before: SpanSeen | None) -> None:
        world, project = self.world, seen.project
        old = {(native, before.opened) for native in natives(before)} if before is not None else set()
        new = {(native, seen.opened) for native in natives(seen)}
        for native, at in old - new:
            world.unmark(answers_key(project, native), at, seen.place)
        for native, at in sorted(new - old):
            known = world.span(answers_key(project, native), limit=MOST + 1)
            if len(known) in (1, MOST):  # it is shared from now on, or by so many that it is no id
                world.respanned |= {(project, place): None for _, place in known}
            world.mark(answers_key(project, native), at, seen.place)
            world.add(key("otel-answers", project), 0, "")

    def waiting_for(self, node: Node) -> list[Place]:
        """Spans whose links lead to this one, and those that name its task as their parent."""
        project = node.seen.project
        found = self.linked_to(project, node.seen.place)
        if node.seen.task:
            found += [(project, ref) for _, ref in self.world.span(key("otel-awaited", f"{project}:{node.seen.task}"))]
        return found

    def linked_to(self, project: str, place: str) -> list[Place]:
        """Spans whose links lead there: to one span, or to any of a trace."""
        return [(project, ref) for _, ref in self.world.span(key("otel-linked", f"{project}:{place}"))] if self._has_links(project) else []

    def _has_links(self, project: str) -> bool:
        """Asked of every span, before any link of this batch is looked at."""
        if project not in self._linked:
            self._linked[project] = bool(self.world.find(key("otel-links", project)))
        return self._linked[project]

    # -- requests on the wire ------------------------------------------------------------------------------------------

    def wire_of(self, node: Node, around: list[Node]) -> Call | None:
        """The same call on the wire: by the span that it was sent in, its request's id or its answer's."""
        world, project = self.world, node.seen.project
        if not world.find(key("free-wire", project)):
            return None
        found = [call for one in (node, *around) for call in traced_calls(world, project, one.seen.place)]
        for one in (node, *around):
            if one.seen.request_id:
                found += world.calls_at(key("request", project, one.seen.request_id))
            if one.seen.message:
                found += world.calls_at(key("message", project, one.seen.message))
        fitting = [call for call in found if is_free(call) and fits(node, call)]
        return min(fitting, key=lambda call: (call.started, call.id), default=None)

    def give(self, call: Call, task: str) -> None:
        if call.owner != task:
            call.owner = task
            self.world.save("calls", call)
            self.world.unplaced[call.id] = None

    def carried(self, node: Node) -> list[Call]:
        """Requests that were sent inside this very span."""
        return [call for call in traced_calls(self.world, node.seen.project, node.seen.place) if is_free(call)]

    # -- the Claude client ---------------------------------------------------------------------------------------------

    def wake_client(self, node: Node) -> None:
        """A session's prompt may stand inside a span of somebody else."""
        if not is_client_run(node) or not node.seen.parent or node.seen.agent:
            return
        above = self.nodes.parent(node)
        if above is not None and is_client_run(above) and above.seen.session == node.seen.session:
            return
        project, session = node.seen.project, node.seen.session
        conversation = ids.session_conversation_id(project, session)
        for _, ref in self.world.find(key("roots", conversation)):
            if (task := self.world.task(ref)) is not None:
                self.world.retold[task.id] = None
                if task.first:
                    self.world.unplaced[task.first] = None

    def settle(self, touched: list[Node]) -> None:
        for node in touched:
            self.wake_client(node)


def traced_calls(world: World, project: str, place: str) -> list[Call]:
    if not world.find(key("traced", project)):
        return []
    found = (world.call(ref) for _, ref in world.span(key("span-calls", f"{project}:{place}")))
    return [call for call in found if call is not None]


def is_free(call: Call) -> bool:
    """A client with sessions says itself where its calls belong."""
    return call.asked and not call.session and not call.protocol and call.relation not in ("seen", "helper")


def fits(node: Node, call: Call) -> bool:
    """An id that would join two calls of different models joins nothing."""
    return alike_models(node.seen.model, call.model)


# -- asked from the wire's side ----------------------------------------------------------------------------------------


def note_request(world: World, call: Call) -> None:
    """A request of a client without sessions, and one that names the span inside which it was sent."""
    if not call.session:
        world.add(key("free-wire", call.project), 0, "")
    if call.span:
        world.mark(key("span-calls", f"{call.project}:{call.span}"), call.started, call.id)
        world.add(key("traced", call.project), 0, "")
        if world.find(key("otel-any", call.project)):
            world.respanned[call.project, call.span] = None


def note_answer(world: World, call: Call) -> None:
    if call.session:
        world.add(key("sessions-of", call.project), 0, "")
    wake_spans(world, call.project, call.message, call.request_id)
    if call.session or not world.find(key("otel-any", call.project)):
        return
    if call.span:
        world.respanned[call.project, call.span] = None
    for native in call.uses:
        world.respanned |= {(call.project, place): None for _, place in world.span(tool_key(call.project, native))}


def note_report(world: World, event: ModelAnswered) -> None:
    """The client itself tells of a call: spans about it are only witnesses."""
    world.add(key("sessions-of", event.project), 0, "")
    wake_spans(world, event.project, event.message, event.request_id)


def wake_spans(world: World, project: str, *ids: str) -> None:
    if not world.find(key("otel-answers", project)):
        return
    for native in {*ids} - {""}:
        for _, place in world.span(answers_key(project, native)):
            world.respanned[project, place] = None


def note_tasks(world: World) -> None:
    """Tasks of A2A that a span names: they are these very tasks."""
    for (table, _), row in list(world.dirty.items()):
        if table != "tasks" or not isinstance(row, Task) or row.protocol != "a2a" or not world.find(key("otel-any", row.project)):
            continue
        for ref in row.refs:
            if ref.kind == "task":
                for _, place in world.span(key("otel-named", f"{row.project}:a2a:{ref.value}")):
                    world.respanned[row.project, place] = None
