"""Model calls that spans make. Of several spans around one call the innermost counts; what was said, the outermost tells."""

from typing import Any

from msgspec.structs import replace

from ramify.linking.otel import content
from ramify.linking.otel.nodes import Node, Nodes, call_id, placed_call
from ramify.linking.otel.peers import Peers
from ramify.linking.otel.tasks import PROTOCOL, Tasks
from ramify.linking.sighting import Price
from ramify.linking.world import World, key
from ramify.model.entity import Call, Task
from ramify.model.otel_event import SpanSeen
from ramify.model.usage import NOTHING, Usage

STATUS = {"completed": "ok", "failed": "error", "canceled": "aborted", "working": "running"}


class Calls:
    def __init__(self, world: World, nodes: Nodes, peers: Peers, tasks: Tasks, price: Price) -> None:
        self.world = world
        self.nodes = nodes
        self.peers = peers
        self.tasks = tasks
        self.price = price
        self._put: dict[str, tuple[Node, list[Node]]] = {}

    def put(self, node: Node) -> None:
        around = self.peers.witnesses(node)
        id, owner = call_id(node.seen), self.tasks.owner(node)
        known = self.world.call(id)
        if known is not None and self._is_told(known, node, around):
            self._give(known, owner)
        else:
            self._write(self._describe(id, node, around), known, owner)
        if node.task != owner or node.table != "calls":
            self._move(node, owner)
        self._put[id] = (node, around)

    def _is_told(self, known: Call, node: Node, around: list[Node]) -> bool:
        """Whether the row says already what its spans say: then only its task can be another."""
        spans = [node, *around]
        return known.details.get("spans") == [one.seen.place for one in spans] and not any(map(self.nodes.is_fresh, spans))

    def _give(self, known: Call, owner: str) -> None:
        if known.task != owner:
            number = 1 if known.relation == "told" else 0
            self.tasks.add(known.task, NOTHING - counted(known), -number)
            self.tasks.add(owner, counted(known), number)
            known.task = owner
            self.world.save("calls", known)

    def _write(self, row: Call, known: Call | None, owner: str) -> None:
        if known is not None:
            row.conversation, row.line = known.conversation, known.line
            row.twin, row.relation = known.twin, known.relation
        row.task = owner
        self._book(known, row)
        self.world.save("calls", row)

    def _move(self, node: Node, owner: str) -> None:
        if node.task:
            self.world.unmark(key("otel-in", node.task), node.seen.opened, node.seen.place)
        self.world.mark(key("otel-in", owner), node.seen.opened, node.seen.place)
        node.table, node.row, node.task = "calls", call_id(node.seen), owner
        self.nodes.changed(node)

    def clear(self, node: Node) -> None:
        """It turned out to be around another call."""
        row = self.world.call(node.row)
        if row is not None:
            self.tasks.add(row.task, NOTHING - counted(row), -1 if row.relation == "told" else 0)
            self.world.drop("calls", row.id)
        self.world.unmark(key("otel-in", node.task), node.seen.opened, node.seen.place)
        node.table = node.row = node.task = ""
        self.nodes.changed(node)

    def join(self, node: Node, wire: str) -> None:
        """The wire has the same call: it counts there, and this one is hidden."""
        row = self.world.call(call_id(node.seen))
        if row is None or row.twin == wire:
            return
        was = replace(row)
        row.twin, row.relation = wire, "seen" if wire else "told"
        row.conversation = row.line = ""  # it stands nowhere, and so counts nowhere
        self._book(was, row)
        self.world.save("calls", row)
        self._put.setdefault(row.id, (node, self.peers.witnesses(node)))  # also where only a span inside it was met

    def _book(self, was: Call | None, row: Call) -> None:
        if was is not None and was.task:
            self.tasks.add(was.task, NOTHING - counted(was), -1 if was.relation == "told" else 0)
        self.tasks.add(row.task, counted(row), 1 if row.relation == "told" else 0)

    def _describe(self, id: str, node: Node, around: list[Node]) -> Call:
        seen = node.seen
        spans = [seen, *(one.seen for one in around)]
        model = first(spans, "model")
        status = STATUS.get(seen.status, "ok")
        usage = self._usage(spans, model, status)
        return Call(
            id, seen.observation, source=PROTOCOL, project=seen.project, started=seen.opened, ended=seen.closed,
            first_byte=seen.first, status=status, error=seen.error, model=model, utility=seen.utility,
            message=first(spans, "message"), request_id=first(spans, "request_id"), stop_reason=first(spans, "stop_reason"),
            relation="told", usage=usage, sources=(PROTOCOL,), protocol=PROTOCOL, span=seen.place, asked=True,
            message_count=max(one.messages for one in spans), details=details_of(spans),
        )  # fmt: skip

    def _usage(self, spans: list[SpanSeen], model: str, status: str) -> Usage:
        """A cut answer counts nowhere as a call, and its tokens are those that were told."""
        calls = 1 if status == "ok" else 0
        told = next((seen for seen in spans if seen.tokens is not None), None)
        stated = next((one.cost_nano for one in spans if one.cost_nano is not None), None)
        if told is None or told.tokens is None:  # then its cost is unknown, unless somebody states it
            return Usage(calls, cost_nano=stated or 0, unpriced=int(stated is None)) if calls else NOTHING
        tokens = told.tokens
        cost = stated if stated is not None else self.price(model, spans[0].opened, tokens)
        written = tokens.write_5m + tokens.write_1h
        return Usage(calls, tokens.input, tokens.output, tokens.cache_read, written, cost or 0, int(cost is None))

    # -- when the tasks stand ------------------------------------------------------------------------------------------

    def settle(self) -> None:
        for id, (node, around) in self._put.items():
            row = self.world.call(id)
            task = self.world.task(row.task) if row is not None else None
            if row is not None and task is not None:
                put_place(self.world, row, task)
                self._show(node, around, task, row.model)
        for id in self.tasks.rehung:
            self._show_again(self.world.task(id))

    def _show_again(self, task: Task | None) -> None:
        for _, place in self.world.span(key("otel-in", task.id)) if task is not None else ():
            node = self.nodes.get(task.project, place) if task is not None else None
            if node is not None and task is not None and node.row not in self._put:
                self._show(node, self.peers.witnesses(node), task, node.seen.model)

    def _show(self, node: Node, around: list[Node], task: Task, model: str) -> None:
        spans = [one.seen for one in reversed([node, *around])]
        row = self.world.call(call_id(node.seen))
        hidden = row is not None and row.twin
        teller = None if hidden else content.shown_by(self.world, spans)
        for seen in spans:
            content.show(self.world, seen, task if seen is teller else None, model)


def details_of(spans: list[SpanSeen]) -> dict[str, Any]:
    details: dict[str, Any] = {"spans": [one.place for one in spans]}
    attempt = max(one.attempt for one in spans)
    return {**details, "attempt": attempt} if attempt > 1 else details


def follow(world: World) -> None:
    """Calls stand where their task stands, whoever has moved it."""
    for task in [task for id in world.moved if (task := world.task(id)) is not None]:
        for _, place in world.span(key("otel-in", task.id)) if world.find(key("otel-any", task.project)) else ():
            if (row := world.call(placed_call(task.project, place))) is not None:
                put_place(world, row, task)


def put_place(world: World, row: Call, task: Task) -> None:
    if (row.conversation, row.line) != stand(row, task):
        row.conversation, row.line = stand(row, task)
        world.save("calls", row)


def stand(row: Call, task: Task) -> tuple[str, str]:
    return ("", "") if row.twin else (task.conversation, task.line)


def first(spans: list[SpanSeen], name: str) -> str:
    return next((value for seen in spans if (value := getattr(seen, name))), "")


def counted(row: Call) -> Usage:
    """What the wire has counts there."""
    return row.usage if row.relation == "told" else NOTHING
