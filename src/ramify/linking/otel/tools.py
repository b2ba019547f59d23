"""Tool calls: run in a span, asked for in an answer, returned in the next request. Each tells some of it."""

import msgspec
from msgspec import Struct

from ramify.linking.otel.nodes import (
    Node,
    Nodes,
    call_id,
    is_client_run,
    place_key,
    span_of,
    tool_id,
    tool_key,
    tool_row,
    trace_of,
    wire_tool,
)
from ramify.linking.otel.peers import Peers
from ramify.linking.otel.tasks import PROTOCOL, Tasks
from ramify.linking.world import World, key
from ramify.model.entity import Sheet, ToolCall
from ramify.model.otel_event import Content, SpanSeen
from ramify.model.usage import NOTHING

STATUS = {"completed": "ok", "failed": "error", "canceled": "canceled", "working": "running"}


class Run(Struct, array_like=True, gc=False):
    args: bytes = b""
    result: bytes = b""


class Spoken(Struct, array_like=True, gc=False):
    """What answers and requests say of one tool call; of several, the earliest."""

    asked_at: int = 0
    asked_in: str = ""
    name: str = ""
    args: bytes = b""
    observation: str = ""
    returned_at: int = 0
    returned_in: str = ""
    result: bytes = b""
    failed: bool = False
    asked_from: int = 0


_encode = msgspec.msgpack.Encoder().encode
_run = msgspec.msgpack.Decoder(Run).decode
_spoken = msgspec.msgpack.Decoder(Spoken).decode


class Tools:
    def __init__(self, world: World, nodes: Nodes, peers: Peers, tasks: Tasks) -> None:
        self.world = world
        self.nodes = nodes
        self.peers, self.structure = peers, peers.structure
        self.tasks = tasks
        self._stirred: dict[tuple[str, str, str], None] = {}  # project, trace, and its own id or its span's place
        self._fresh: dict[str, None] = {}

    # -- taking in -----------------------------------------------------------------------------------------------------

    def note_run(self, node: Node, content: Content) -> None:
        seen = node.seen
        if content.args or content.result:
            state = _encode(Run(content.args, content.result))
            self.world.save("sheets", Sheet(run_id(seen), "otel-run", seen.closed, seen.observation, state))
        if seen.tool_call:
            trace, runs = trace_of(seen.place), runs_key(seen.project, trace_of(seen.place), seen.tool_call)
            if not self.world.find(runs):
                self.world.are_new(key("otel-children", tool_id(seen.project, trace, seen.tool_call)))
            self.world.mark(runs, seen.opened, seen.place)
            self.world.mark(tool_key(seen.project, seen.tool_call), seen.opened, seen.place)

    def note_content(self, node: Node, content: Content) -> None:
        seen, trace = node.seen, trace_of(node.seen.place)
        for asked in content.asked:
            spoken = self.spoken(seen.project, trace, asked.id)
            self.world.mark(place_key("otel-asks", seen.project, seen.place), 0, asked.id)
            self.world.mark(tool_key(seen.project, asked.id), seen.opened, seen.place)
            if is_earlier(seen, spoken.asked_from, spoken.asked_in):
                spoken.asked_at, spoken.asked_in, spoken.observation = seen.closed, seen.place, seen.observation
                spoken.asked_from = seen.opened
                spoken.name, spoken.args = asked.name, asked.args
            self._keep(seen.project, trace, asked.id, spoken)
        for returned in content.returned:
            spoken = self.spoken(seen.project, trace, returned.id)
            if is_earlier(seen, spoken.returned_at, spoken.returned_in):
                spoken.returned_at, spoken.returned_in = seen.opened, seen.place
                spoken.result, spoken.failed = returned.result, returned.failed
            self._keep(seen.project, trace, returned.id, spoken)

    def spoken(self, project: str, trace: str, native: str) -> Spoken:
        if not self.world.find(said_key(project, trace, native)):
            return Spoken()
        sheet = self.world.get("sheets", f"said:{project}:{trace}:{native}")
        return _spoken(sheet.state) if isinstance(sheet, Sheet) else Spoken()

    def _keep(self, project: str, trace: str, native: str, spoken: Spoken) -> None:
        at = max(spoken.asked_at, spoken.returned_at)
        self.world.save("sheets", Sheet(f"said:{project}:{trace}:{native}", "otel-said", at, spoken.observation, _encode(spoken)))
        self.world.add(said_key(project, trace, native), 0, "")
        self._stirred[project, trace, native] = None

    # -- judging -------------------------------------------------------------------------------------------------------

    def put(self, node: Node) -> None:
        """Another witness of the same run makes no row; nor does what runs inside a tool call of the Claude client."""
        seen, before = node.seen, (node.table, node.row, node.task)
        around = self.structure.inner_of(node)
        if around or self._in_client(node):
            node.table = node.row = node.task = ""
            outer = self.nodes.get(seen.project, around)
            if outer is not None:
                self._stir(outer)
        else:
            node.table, node.row, node.task = "tools", tool_row(self.world, seen), self.tasks.owner(node)
        self._stir(node)
        if before != (node.table, node.row, node.task):
            self.nodes.changed(node)

    def _stir(self, node: Node) -> None:
        self._stirred[node.seen.project, trace_of(node.seen.place), node.seen.tool_call or node.seen.place] = None

    def _in_client(self, node: Node) -> bool:
        above = self.nodes.get(node.seen.project, self.structure.standing(node).owner)
        return above is not None and is_client_run(above) and bool(above.seen.tool_call)

    def asked_by(self, node: Node) -> None:
        """Of a call that is placed: whatever it asked for stands where it stands, unless a span ran it."""
        seen = node.seen
        for _, native in self.world.every(place_key("otel-asks", seen.project, seen.place)):
            self._stirred[seen.project, trace_of(seen.place), native] = None

    def met(self, node: Node, native: str) -> None:
        """The wire shows who asked for it: whatever spans made of it is looked at again."""
        trace = trace_of(node.seen.place)
        self._stirred[node.seen.project, trace, native] = None
        for _, place in self.world.span(runs_key(node.seen.project, trace, native)):
            if (run := self.nodes.get(node.seen.project, place)) is not None:
                self.put(run)

    def settle(self) -> None:
        """Before the tasks are written: these count in them."""
        for project, trace, native in self._stirred:
            run = self._run_of(project, trace, native)
            if run is not None:
                self._put_run(run)
            else:
                self._put_told(project, trace, native)

    def _run_of(self, project: str, trace: str, native: str) -> Node | None:
        """Of several runs under one id, the earliest."""
        places = [native] if is_place(native, trace) else [place for _, place in self.world.every(runs_key(project, trace, native))]
        runs = [node for place in places if (node := self.nodes.get(project, place)) is not None and node.table == "tools"]
        return min(runs, key=lambda node: (node.seen.opened, node.seen.place), default=None)

    def finish(self) -> None:
        """When the tasks stand: which of them a call started, and whose it is."""
        for id in self.tasks.retooled | self._fresh:
            row = self.world.tool(id)
            if row is not None and row.protocol == PROTOCOL:
                self._name_tasks(row, id in self.tasks.retooled)

    def _put_run(self, node: Node) -> None:
        seen = node.seen
        if seen.tool_call and wire_tool(self.world, seen.project, seen.tool_call) is not None:
            self._drop(tool_id(seen.project, trace_of(seen.place), seen.tool_call))
            return
        spans = [node, *self._inner(node)]
        if (known := self.world.tool(node.row)) is not None and self._is_told(known, spans):
            self._move(known, node.task)
            return
        spoken = self.spoken(seen.project, trace_of(seen.place), seen.tool_call) if seen.tool_call else Spoken()
        failed = next((one.seen for one in spans if one.seen.status == "failed"), None)
        run = self._content(spans)
        row = ToolCall(
            node.row, seen.tool_call or span_of(seen.place), seen.project, name=seen.tool or spoken.name, protocol=PROTOCOL,
            opened=spoken.asked_at or seen.opened, begun=seen.opened, closed=seen.closed, status="error" if failed is not None else STATUS.get(seen.status, "ok"),
            error=failed.error if failed is not None else seen.error, task=node.task, args=run.args or spoken.args, result=run.result or spoken.result,
            observation=seen.observation, details={"spans": [one.seen.place for one in spans]},
        )  # fmt: skip
        row.result_source = "wire" if run.result else "history" if spoken.result else ""
        row.call = self._caller(seen.project, spoken)
        asked = ("llm_response",) if spoken.asked_in else ()
        row.phases = (*asked, "tool_invocation_start", *(("tool_result",) if row.status != "running" else ()))
        self._save(row)

    def _is_told(self, known: ToolCall, spans: list[Node]) -> bool:
        """Whether the row says already what its spans say, and nobody else has anything to say: then only its task can be another."""
        if known.protocol != PROTOCOL or known.details.get("spans") != [one.seen.place for one in spans]:
            return False
        return not any(self.nodes.is_fresh(one) or is_spoken_of(self.world, one.seen) for one in spans)

    def _move(self, known: ToolCall, task: str) -> None:
        if known.task != task:
            for owner, number in ((known.task, -1), (task, 1)):
                if owner:
                    self.tasks.add(owner, NOTHING, tools=number)
            known.task = task
            self.world.save("tools", known)
        self._fresh[known.id] = None

    def _put_told(self, project: str, trace: str, native: str) -> None:
        """In the words of a call alone: no span ran it. What only came back was asked for before anybody listened."""
        spoken = self.spoken(project, trace, native)
        asker = self._asker(project, spoken)
        if asker is None or trace_of(asker.seen.place) != trace or wire_tool(self.world, project, native) is not None:
            self._drop(tool_id(project, trace, native))
            return
        status = "running" if not spoken.returned_in else "error" if spoken.failed else "ok"
        row = ToolCall(
            tool_id(project, trace, native), native, project, name=spoken.name, protocol=PROTOCOL, opened=spoken.asked_at,
            closed=spoken.returned_at, status=status, task=self.tasks.owner(asker), args=spoken.args, result=spoken.result,
            observation=spoken.observation, result_source="history" if spoken.returned_in else "", call=self._caller(project, spoken),
            phases=("llm_response", "tool_result") if spoken.returned_in else ("llm_response",),
        )  # fmt: skip
        self._save(row)

    def _caller(self, project: str, spoken: Spoken) -> str:
        asker = self._asker(project, spoken)
        return call_id(asker.seen) if asker is not None and not self.structure.is_wrapper(asker) else ""

    def _asker(self, project: str, spoken: Spoken) -> Node | None:
        """The call that stands for the answer in which it was asked for; the provider's own span, in its own trace, only repeats it."""
        asker = self.nodes.get(project, spoken.asked_in)
        inner = self.peers.inner(asker)
        return self.peers.primary(inner) if inner is not None else asker

    def _save(self, row: ToolCall) -> None:
        known = self.world.tool(row.id)
        self._book(known, row)
        row.children = known.children if known is not None else ()
        self.world.save("tools", row)
        self._fresh[row.id] = None

    def _book(self, known: ToolCall | None, row: ToolCall | None) -> None:
        was, now = known.task if known is not None else "", row.task if row is not None else ""
        if was == now:
            return
        for task, number in ((was, -1), (now, 1)):
            if task:
                self.tasks.add(task, NOTHING, tools=number)

    def _drop(self, id: str) -> None:
        known = self.world.tool(id)
        if known is not None and known.protocol == PROTOCOL:
            self._book(known, None)
            self.world.drop("tools", id)

    def _name_tasks(self, row: ToolCall, others: bool) -> None:
        owner = self.world.task(row.task)
        agent = owner.agent if owner is not None else ""
        ordered = self._children(row) if others else row.children
        if (row.children, row.agent_name) != (ordered, agent):
            row.children, row.agent_name = ordered, agent
            self.world.save("tools", row)

    def _children(self, row: ToolCall) -> tuple[str, ...]:
        found = (self.world.task(ref) for _, ref in self.world.every(key("otel-children", row.id)))
        own = [task for task in found if task is not None and task.found is not None and task.found.via_id == row.id]
        return tuple(task.id for task in sorted(own, key=lambda task: (task.opened, task.id)))

    def _inner(self, node: Node) -> list[Node]:
        """Further witnesses of the same run, below it."""
        found: list[Node] = []
        waiting, passed = list(self.nodes.kids(node)), {node.seen.place}
        while waiting:
            one = waiting.pop(0)
            if one.seen.place in passed or self.structure.is_agent(one) or one.seen.role == "model":
                continue
            passed.add(one.seen.place)
            if one.seen.role == "tool":
                if self.structure.inner_of(one) != node.seen.place:
                    continue
                found.append(one)
            waiting += self.nodes.kids(one)
        return found

    def _content(self, spans: list[Node]) -> Run:
        found = Run()
        for node in spans:
            sheet = self.world.get("sheets", run_id(node.seen))
            if isinstance(sheet, Sheet):
                run = _run(sheet.state)
                found.args, found.result = found.args or run.args, found.result or run.result
        return found


def run_id(seen: SpanSeen) -> str:
    """Of the sheet that holds what a tool was given, and gave back."""
    return f"run:{seen.project}:{seen.place}"


def is_spoken_of(world: World, seen: SpanSeen) -> bool:
    """Whether a model's answer or a request tells of the same call."""
    return bool(seen.tool_call) and bool(world.find(said_key(seen.project, trace_of(seen.place), seen.tool_call)))


def is_earlier(seen: SpanSeen, at: int, place: str) -> bool:
    """A better version of the same span says it again."""
    return not place or place == seen.place or (seen.opened, seen.place) < (at, place)


def is_place(native: str, trace: str) -> bool:
    """Whether it is no id of its own but a span's."""
    return native.startswith(f"{trace}-")


def said_key(project: str, trace: str, native: str) -> int:
    return key("otel-said", project, trace, native)


def runs_key(project: str, trace: str, native: str) -> int:
    return key("otel-runs", project, trace, native)
