"""What each span stands for among the others, and under which agent: a function of the spans at hand, in any order.

Nothing here writes. Answers are remembered for one batch, in which the spans do not change any more.
"""

from msgspec import Struct

from ramify.linking.otel.nodes import Node, Nodes, Place, is_client_run
from ramify.model.otel_event import AGENT, LOOP, MODEL, TOOL, WORKFLOW

CLIENT = 3
ROOT, MISSING = "root", "missing"


class Standing(Struct, frozen=True, gc=False):
    """Where a span stands. `owner`: the nearest agent above; where there is none, `end` says how the way up ended."""

    owner: str = ""
    end: str = ""
    tool: str = ""  # the nearest tool run above, below that agent
    model: str = ""  # the nearest model call above, with neither agent nor tool between
    top: str = ""  # the last span on the way up
    remote: bool = False  # the way leads into another process
    depth: int = 0


class Below(Struct, gc=False):
    """What stands directly below, with nothing but wrappers between."""

    agents: list[Node]
    model: bool = False
    tool: bool = False


class Structure:
    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self._standing: dict[Place, Standing] = {}
        self._below: dict[Place, Below] = {}
        self._through: dict[Place, bool] = {}

    # -- what it is ----------------------------------------------------------------------------------------------------

    def is_agent(self, node: Node) -> bool:
        return node.seen.role in (AGENT, LOOP, WORKFLOW) and not self.is_through(node)

    def is_through(self, node: Node) -> bool:
        """An agent's span that is no task: a call's outer half, a loop without tools, a workflow inside something."""
        at = (node.seen.project, node.seen.place)
        if at not in self._through:
            self._through[at] = self._judge_through(node)
        return self._through[at]

    def _judge_through(self, node: Node) -> bool:
        match node.seen.role:
            case "workflow":
                return not self.is_top(node)
            case "loop":
                return not self.is_top(node) and not self.below(node).tool
            case "agent":
                return node.seen.side == CLIENT and self.inner_half(node) is not None
            case _:
                return True

    def is_top(self, node: Node) -> bool:
        """Nothing of this process is above it."""
        return not node.seen.parent or (node.seen.remote and self.nodes.parent(node) is None)

    def inner_half(self, node: Node) -> Node | None:
        """Of a remote call: the agent that answered it, when that is all there is below."""
        below = self.below(node)
        if below.model or below.tool or len(below.agents) != 1:
            return None
        inner = below.agents[0]
        return inner if inner.seen.role == AGENT and inner.seen.side != CLIENT else None

    def outer_halves(self, node: Node) -> list[Node]:
        """The calls that this agent is the other half of, nearest first."""
        found: list[Node] = []
        passed: set[str] = set()
        above = self.nodes.parent(node)
        while above is not None and above.seen.place not in passed and (above.seen.role in ("plain", WORKFLOW, LOOP) or self._is_outer_of(above, node)):
            passed.add(above.seen.place)
            if above.seen.role == AGENT:
                found.append(above)
            above = self.nodes.parent(above)
        return found

    def _is_outer_of(self, above: Node, node: Node) -> bool:
        return above.seen.role == AGENT and self.is_through(above)

    def is_wrapper(self, node: Node) -> bool:
        return node.seen.role == MODEL and self.below(node).model

    def inner_of(self, node: Node) -> str:
        """The tool run that it is only another witness of: the same tool, around it."""
        found, passed = "", {node.seen.place}
        above = self.nodes.get(node.seen.project, self.standing(node).tool) if node.seen.role == TOOL else None
        while above is not None and above.seen.place not in passed and node.seen.tool in ("", above.seen.tool):
            passed.add(above.seen.place)
            found, node = above.seen.place, above
            above = self.nodes.get(node.seen.project, self.standing(node).tool)
        return found

    # -- below ---------------------------------------------------------------------------------------------------------

    def below(self, node: Node) -> Below:
        at = (node.seen.project, node.seen.place)
        if at not in self._below:
            self._below[at] = self._look_below(node)
        return self._below[at]

    def _look_below(self, node: Node) -> Below:
        found = Below([])
        waiting, passed = list(self.nodes.kids(node)), {node.seen.place}
        while waiting and not (found.model and found.tool and len(found.agents) > 1):
            one = waiting.pop()
            if one.seen.place in passed:
                continue
            passed.add(one.seen.place)
            match one.seen.role:
                case "model":
                    found.model = True
                case "tool":
                    found.tool = True
                case "agent":
                    found.agents.append(one)
                case "client-run":
                    pass
                case _:
                    waiting += self.nodes.kids(one)
        return found

    # -- above ---------------------------------------------------------------------------------------------------------

    def standing(self, node: Node) -> Standing:
        """From the top down, without recursion: a chain of spans can be long."""
        if (known := self._standing.get((node.seen.project, node.seen.place))) is not None:
            return known
        way: list[Node] = []
        passed: set[str] = set()  # spans may stand above themselves, if a sender says so
        above: Node | None = node
        while above is not None and (above.seen.project, above.seen.place) not in self._standing and above.seen.place not in passed:
            passed.add(above.seen.place)
            way.append(above)
            above = self.nodes.parent(above)
        for one in reversed(way):
            self._standing[one.seen.project, one.seen.place] = self._step(one, self.nodes.parent(one))
        return self._standing[node.seen.project, node.seen.place]

    def _step(self, node: Node, above: Node | None) -> Standing:
        seen = node.seen
        if above is None:
            return Standing("", ROOT if self.is_top(node) else MISSING, top=seen.place)
        known = self._standing.get((seen.project, above.seen.place), Standing("", MISSING, top=seen.place))
        if self.is_agent(above) or is_client_run(above):
            return Standing(above.seen.place, "", top=known.top, remote=seen.remote, depth=known.depth + 1)
        tool, model = known.tool, known.model
        if above.seen.role == TOOL:
            tool, model = above.seen.place, ""
        elif above.seen.role == MODEL:
            model = above.seen.place
        return Standing(known.owner, known.end, tool, model, known.top, seen.remote or known.remote, known.depth)

    def wrappers(self, node: Node) -> list[Node]:
        """Model calls around it, with neither agent nor tool between, nearest first."""
        found: list[Node] = []
        passed = {node.seen.place}
        while (above := self.nodes.get(node.seen.project, self.standing(node).model)) is not None and above.seen.place not in passed:
            passed.add(above.seen.place)
            found.append(above)
            node = above
        return found


class Reach:
    """What may be judged differently because of spans that are new: the way up to the next agent, and down to the next."""

    def __init__(self, nodes: Nodes, structure: Structure) -> None:
        self.nodes = nodes
        self.structure = structure
        self.touched: dict[Place, Node] = {}
        self._down: set[Place] = set()
        self._up: set[Place] = set()

    def spread(self, node: Node) -> None:
        self.touch(node)
        self.descend(node)
        self.ascend(node)

    def touch(self, node: Node) -> None:
        self.touched[node.seen.project, node.seen.place] = node

    def descend(self, node: Node) -> None:
        waiting = [node]
        while waiting:
            one = waiting.pop()
            at = (one.seen.project, one.seen.place)
            if at in self._down:
                continue
            self._down.add(at)
            for kid in self.nodes.kids(one):
                self.touch(kid)
                if not self._ends(kid):
                    waiting.append(kid)

    def ascend(self, node: Node) -> None:
        above = self.nodes.parent(node)
        while above is not None and (above.seen.project, above.seen.place) not in self._up:
            self._up.add((above.seen.project, above.seen.place))
            self.touch(above)
            if self._ends(above):
                break
            above = self.nodes.parent(above)

    def _ends(self, node: Node) -> bool:
        """Below an agent nothing changes with what is above it; the outer half of a call may become one, or cease to be."""
        return is_client_run(node) or (node.seen.role == AGENT and node.seen.side != CLIENT)

    def spread_turned(self) -> None:
        """Agents' spans that became tasks now, or ceased to be: everything around them stands elsewhere."""
        waiting = list(self.touched.values())
        while waiting:
            node = waiting.pop()
            if node.seen.role not in (AGENT, LOOP, WORKFLOW):
                continue
            through = self.structure.is_through(node)
            if through == node.through:
                continue
            node.through = through
            self.nodes.changed(node)
            before = set(self.touched)
            self.descend(node)
            self.ascend(node)
            waiting += [self.touched[at] for at in self.touched.keys() - before]
