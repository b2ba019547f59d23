"""Spans of one call to a model that do not stand inside each other: ids of the answer or of the request say that they are one.

The provider's own span comes in a trace of its own, two instrumentations write side by side. One of them stands for all, the
rest are its witnesses. What the Claude client tells of its own calls stands for every span about them.
"""

from collections.abc import Iterator

from ramify.linking.otel.nodes import Node, Nodes, Place, is_client_run, trace_of
from ramify.linking.otel.structure import Structure
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Call
from ramify.model.otel_event import MODEL, TOOL, SpanSeen

SERVER = 2
SLACK = 5_000_000  # clocks of two machines differ
MOST = 8  # spans of one call
REQUEST = "llm_request"  # the Claude client's span around one


class Peers:
    def __init__(self, world: World, nodes: Nodes, structure: Structure) -> None:
        self.world = world
        self.nodes = nodes
        self.structure = structure
        self._primary: dict[Place, Node | None] = {}
        self._groups: dict[Place, list[Node]] = {}

    def primary(self, node: Node) -> Node | None:
        """The span that stands for this call; None where the client itself tells of it."""
        at = (node.seen.project, node.seen.place)
        if at not in self._primary:
            told = self._is_told(node)
            self._primary[at] = None if told else min([node, *self.group(node)], key=self._rank)
        return self._primary[at]

    def is_own(self, node: Node) -> bool:
        return self.primary(node) is node

    def witnesses(self, node: Node) -> list[Node]:
        """All other spans about the call, those around it last."""
        found = [one for peer in self.group(node) for one in self._spans(peer)]
        return list({one.seen.place: one for one in (*found, *self.structure.wrappers(node)) if one is not node}.values())

    def group(self, node: Node) -> list[Node]:
        """The others, also those that are only alike by way of a third."""
        at = (node.seen.project, node.seen.place)
        if at not in self._groups:
            found, waiting = {node.seen.place: node}, [node]
            while waiting:
                one = waiting.pop()
                fresh = [other for other in self.alike(one) if other.seen.place not in found and self._fits(one, other)]
                found |= {other.seen.place: other for other in fresh}
                waiting += fresh
            self._groups[at] = [one for one in found.values() if one is not node]
        return self._groups[at]

    def alike(self, node: Node) -> list[Node]:
        """Calls of which some span has an id that one of this call has."""
        known = [native for one in self._spans(node) for native in natives(one.seen)]
        found = [self.inner(other) for native in known for other in self._with(node.seen.project, native)]
        return list({one.seen.place: one for one in found if one is not None and one is not node}.values())

    def known_as(self, node: Node) -> list[Node]:
        """The calls that this span, and whatever has an id that it has, may be about."""
        spans = [node, *(other for native in natives(node.seen) for other in self._with(node.seen.project, native))]
        inside = {inner.seen.place: inner for one in spans for inner in self._inside(one, MOST)}
        return [one for inner in inside.values() for one in (inner, *self.alike(inner), *self.group(inner))]

    def _with(self, project: str, native: str) -> list[Node]:
        """Spans that have this id. What many have is none."""
        places = self.world.span(answers_key(project, native), limit=MOST + 1)
        found = (self.nodes.get(project, place) for _, place in places) if len(places) <= MOST else ()
        return [node for node in found if node is not None]

    def inner(self, node: Node | None) -> Node | None:
        """The call that a span is about: it may be around it. None where it is around several."""
        found = self._inside(node, 2) if node is not None else []
        return found[0] if len(found) == 1 else None

    def _inside(self, node: Node, limit: int) -> list[Node]:
        found: list[Node] = []
        waiting, passed = [node], set[str]()
        while waiting and len(found) < limit:
            one = waiting.pop()
            if one.seen.place in passed:
                continue
            passed.add(one.seen.place)
            if one.seen.role == MODEL and not self.structure.is_wrapper(one):
                found.append(one)
            elif one.seen.role != TOOL and not self.structure.is_agent(one) and not is_client_run(one):
                waiting += self.nodes.kids(one)
        return found

    def _spans(self, node: Node) -> list[Node]:
        """Those that say whose call it is."""
        return [node, *(one for one in self.structure.wrappers(node) if self.inner(one) is node)]

    def _rank(self, node: Node) -> tuple[bool, bool, int, str]:
        """One below an agent knows best whose call it is."""
        above = self.nodes.get(node.seen.project, self.structure.standing(node).owner)
        return above is None or is_client_run(above), node.seen.side == SERVER, node.seen.opened, node.seen.place

    def _fits(self, node: Node, other: Node) -> bool:
        """An id that would join calls of different models or conversations joins nothing."""
        one, two = node.seen, other.seen
        conversations = {one.conversation, two.conversation} - {""} if one.dialect == two.dialect else set()
        if len(conversations) > 1 or not alike_models(one.model, two.model):
            return False
        requests = [{span.seen.request_id for span in self._spans(each)} - {""} for each in (node, other)]
        return bool(requests[0] & requests[1]) or self._is_one_answer(node, other)

    def _is_one_answer(self, node: Node, other: Node) -> bool:
        """Not every server gives each answer an id of its own: two spans of one must have been there at one time, too."""
        one, two = node.seen, other.seen
        if one.tokens is not None and two.tokens is not None and one.tokens.output != two.tokens.output:
            return False
        if trace_of(one.place) != trace_of(two.place):
            return (one.side == SERVER) != (two.side == SERVER) and overlap(one, two, SLACK)
        owners = {self.structure.standing(each).owner for each in (node, other)} - {""}
        return len(owners) < 2 and overlap(one, two, 0)

    # -- what the Claude client tells ----------------------------------------------------------------------------------

    def _is_told(self, node: Node) -> bool:
        above = self.nodes.get(node.seen.project, self.structure.standing(node).owner)
        if above is not None and is_client_run(above) and above.seen.utility == REQUEST:
            return True
        return any(alike_models(node.seen.model, call.model) for one in self._spans(node) for call in self._reported(one.seen))

    def _reported(self, seen: SpanSeen) -> Iterator[Call]:
        project = seen.project
        if not self.world.find(key("sessions-of", project)):
            return
        for kind, native in (("message", seen.message), ("request", seen.request_id)):
            if native:
                told = self.world.call(ids.seen_call_id(project, native))
                found = [*([told] if told is not None else []), *self.world.calls_at(key(kind, project, native))]
                yield from (call for call in found if call.session and not call.protocol)


def natives(seen: SpanSeen) -> set[str]:
    return {seen.message, seen.request_id} - {""} if seen.role == MODEL else set()


def answers_key(project: str, native: str) -> int:
    return key("otel-answer", f"{project}:{native}")


def overlap(one: SpanSeen, two: SpanSeen, slack: int) -> bool:
    return one.opened - slack <= two.closed and two.opened - slack <= one.closed


def alike_models(one: str, other: str) -> bool:
    """Some leave out the date at its end."""
    models = sorted({one, other} - {""})
    return len(models) < 2 or models[1].startswith(models[0])
