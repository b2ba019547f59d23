"""Who asked whom: the tasks of a run and the calls of each, from what the script said and which ids the client drew."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ramify.demo.wire import Json
from tests.peers.recording.api import Kept
from tests.peers.recording.files import Files
from tests.peers.recording.script import texts
from tests.peers.recording.world import World

SPAWNING = ("Agent", "Task")


@dataclass
class Node:
    """A task. `call` is the tool call that started it; a root has none."""

    key: str
    session: str
    prompt: tuple[str, ...]
    parent: "Node | None" = None
    call: str | None = None
    agent: str | None = None
    kind: str | None = None
    name: str | None = None
    author: tuple[str, ...] = ("agent",)
    calls: list[Kept] = field(default_factory=list)

    @property
    def root(self) -> "Node":
        return self.parent.root if self.parent else self

    @property
    def depth(self) -> int:
        return self.parent.depth + 1 if self.parent else 0


class Tree:
    """Requests are read in their order: each belongs to a task that an earlier one, or a person, began."""

    def __init__(self, world: World, files: Files) -> None:
        self.world = world
        self.files = files
        said = [one for one in world.said if not one.joins and not one.local]
        self.roots = [
            Node(f"root{number}", one.session, one.words, author=one.author) for number, one in enumerate(said, 1)
        ]
        self.agents: list[Node] = []
        self.owner: dict[int, Node | None] = {}
        self._running: dict[str, Node] = {}
        for kept in world.api.kept:
            self._place(kept)
        self.agents = [agent for agent in self.agents if agent.calls]

    @property
    def nodes(self) -> list[Node]:
        return [*self.roots, *self.agents]

    def alike(self, node: Node) -> list[Node]:
        """Agents that one caller told the same, itself included."""
        return [one for one in self.agents if (one.prompt, one.parent) == (node.prompt, node.parent)]

    def blurred(self, node: Node | None) -> Json:
        """Old clients name no agents on the wire: whose request it was among equals, only their files can say."""
        alike = self.alike(node) if node and node.parent and not named(node) else []
        return {"task_accept": [one.key for one in alike]} if len(alike) > 1 else {}

    def _place(self, kept: Kept) -> None:
        if kept.cue is None:
            return
        node = self._agent(kept)
        if node is None and kept.cue.helper is None:
            node = self._running[kept.session] = self._root(kept)
        self.owner[kept.number] = node
        if node is not None and kept.cue.helper is None:
            node.calls.append(kept)
            self.agents += self._started(node, kept)

    def _root(self, kept: Kept) -> Node:
        """The prompt that the last message brings, or the one that is being worked on."""
        roots = [root for root in self.roots if root.session == kept.session]
        running = self._running.get(kept.session)
        following = roots[roots.index(running) + 1 :] if running else roots
        if following and (running is None or brings(kept, following[0].prompt)):
            return following[0]
        assert running is not None, (kept.number, kept.session, kept.cue)
        return running

    def _agent(self, kept: Kept) -> Node | None:
        id = kept.header("x-claude-code-agent-id") or self.files.speakers.get(f"msg_{kept.identity}")
        if id is not None:
            return next((one for one in self.agents if one.agent == id), None) or self._of_workflow(id, kept)
        call = self.files.sidechains.get(f"msg_{kept.identity}")
        scene = kept.cue.scene if kept.cue else ""
        return next((one for one in self.agents if one.call == call or (call is None and one.prompt == (scene,))), None)

    def _of_workflow(self, id: str, kept: Kept) -> Node | None:
        call = self.files.workflows.get(id, "none")
        caller = next(
            (node for node in self.roots if any(block.get("id") == call for one in node.calls for block in one.said)),
            None,
        )
        if caller is None or kept.cue is None:
            return None
        self.agents.append(Node(id, kept.session, (kept.cue.scene,), caller, call, id, "workflow-subagent"))
        return self.agents[-1]

    def _started(self, caller: Node, kept: Kept) -> Iterator[Node]:
        for block in kept.said:
            if block.get("name") in SPAWNING:
                given = block["input"]
                number = len(self.agents) + 1
                agent = self.files.agents.get(block["id"]) or self._unnamed(given["prompt"])
                yield Node(
                    agent or f"agent{number}",
                    kept.session,
                    (given["prompt"],),
                    caller,
                    block["id"],
                    agent,
                    given["subagent_type"],
                    given.get("name"),
                )

    def _unnamed(self, prompt: str) -> str | None:
        """An agent whose end nobody noted: who answered in its scene, and is nobody's yet."""
        taken = {one.agent for one in self.agents} | set(self.files.agents.values())
        answers = [one for one in self.world.api.kept if one.cue and one.cue.scene == prompt]
        ids = [
            self.files.speakers.get(f"msg_{one.identity}") or one.header("x-claude-code-agent-id") for one in answers
        ]
        return next((id for id in ids if id and id not in taken), None)


def named(node: Node) -> bool:
    return node.calls[0].header("x-claude-code-agent-id") is not None


def brings(kept: Kept, prompt: tuple[str, ...]) -> bool:
    """The newest user message holds these words. A command is written out by the client."""
    users = [message for message in (kept.body or {}).get("messages", []) if message["role"] == "user"]
    newest = list(texts(users[-1])) if users else []
    return any(shown(prompt) in text for text in newest)


def shown(prompt: tuple[str, ...]) -> str:
    first = prompt[-1]
    return f"<command-name>{first.split()[0]}</command-name>" if first.startswith("/") else first


def tool_calls(node: Node) -> Iterator[Json]:
    for kept in node.calls:
        yield from (block for block in kept.said if block["type"] == "tool_use")
