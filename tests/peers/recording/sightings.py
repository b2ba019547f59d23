"""What each source shows of a run, block by block: who judges a source must not be asked for what is not in it."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ramify.demo.wire import Json
from tests.peers.recording.api import Kept
from tests.peers.recording.files import blocks
from tests.peers.recording.tree import Node, Tree, shown
from tests.peers.recording.world import World

SOURCES = ("exchanges", "transcripts", "stream-json", "sdk")


@dataclass(frozen=True)
class Sighting:
    """`owner`: the key of an agent's task, or the session of a main line."""

    source: str
    owner: str
    role: str
    type: str
    key: str
    near: tuple[str, ...] = ()  # the root tasks, one of which it belongs to


class Seen:
    """All that was seen, in the order in which each source shows it."""

    def __init__(self, tree: Tree) -> None:
        self.all = [*exchanged(tree), *written(tree), *streamed(tree), *passed(tree)]

    def where(self, node: Node, type: str, key: str) -> list[str]:
        wanted = (node.key if node.parent else node.session, type, key.strip())
        return self.sources(lambda one: (one.owner, one.type, one.key) == wanted)

    def holding(self, words: str, fits: Callable[[Sighting], bool]) -> list[str]:
        """Where others than the model say so, in a text of whatever length."""
        return self.sources(
            lambda one: one.type == "text" and one.role != "assistant" and words in one.key and fits(one)
        )

    def sources(self, fits: Callable[[Sighting], bool]) -> list[str]:
        found = {one.source for one in self.all if fits(one)}
        return [source for source in SOURCES if source in found]


def exchanged(tree: Tree) -> Iterator[Sighting]:
    for kept in tree.world.api.kept:
        node = tree.owner.get(kept.number)
        if kept.cue is None or kept.cue.helper:
            continue
        owner = node.key if node and node.parent else kept.session
        near = around(tree, kept, node) if node else ()
        for message in (kept.body or {}).get("messages", []):
            yield from seen("exchanges", owner, message["role"], blocks(message), near)
        yield from seen("exchanges", owner, "assistant", delivered(kept), near)


def around(tree: Tree, kept: Kept, node: Node) -> tuple[str, ...]:
    """What comes with a prompt may belong to the task before it."""
    if node.parent:
        return (node.key,)
    before = [root for root in tree.roots if root.session == kept.session]
    place = before.index(node)
    first = kept is node.calls[0] and place > 0
    return (before[place - 1].key, node.key) if first else (node.key,)


def delivered(kept: Kept) -> tuple[Json, ...]:
    """Of an answer that was cut, the words that had come."""
    if not kept.aborted:
        return kept.said
    events = (json.loads(line[6:]) for line in kept.answer.splitlines() if line.startswith("data: "))
    words = "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")
    return ({"type": "text", "text": words},) if words else ()


def written(tree: Tree) -> Iterator[Sighting]:
    keys = {node.agent: node.key for node in tree.agents if node.agent}
    calls = {node.call: node.key for node in tree.agents}
    running: dict[str, Node | None] = {}
    for _, line in tree.files.lines:
        session = line.get("sessionId", "")
        owner = (
            keys.get(line.get("agentId", "")) or calls.get(tree.files.sidechains.get(line.get("uuid", ""))) or session
        )
        if line.get("isSidechain") and owner == session:
            continue  # a warm-up
        found = list(said_in(line))
        for role, block in found:
            running[owner] = reached(tree, owner, running.get(owner), block) if role == "user" else running.get(owner)
        place = running.get(owner)
        near = (place.key,) if place else (owner,) if owner != session else ()
        for role, block in found:
            yield from seen("transcripts", owner, role, (block,), near)


def said_in(line: Json) -> Iterator[tuple[str, Json]]:
    message = line.get("message")
    if line["type"] in ("user", "assistant") and isinstance(message, dict):
        yield from ((message["role"], block) for block in blocks(message))
    elif line["type"] == "attachment" and line["attachment"].get("type") == "queued_command":
        yield "user", {"type": "text", "text": str(line["attachment"]["prompt"])}
    elif line["type"] == "system" and isinstance(line.get("content"), str):
        yield "user", {"type": "text", "text": line["content"]}


def reached(tree: Tree, session: str, running: Node | None, block: Json) -> Node | None:
    """The next prompt of the session, once its words are there."""
    roots = [root for root in tree.roots if root.session == session]
    following = roots[roots.index(running) + 1 :] if running else roots
    if following and block["type"] == "text" and shown(following[0].prompt) in block["text"]:
        return following[0]
    return running


def streamed(tree: Tree) -> Iterator[Sighting]:
    calls = {node.call: node.key for node in tree.agents}
    for line in tree.world.stream:
        if line["type"] in ("user", "assistant"):
            owner = calls.get(line.get("parent_tool_use_id")) or line["session_id"]
            yield from seen("stream-json", owner, line["message"]["role"], blocks(line["message"]))


def passed(tree: Tree) -> Iterator[Sighting]:
    """The SDK's objects have lost the types of their blocks, and some their session."""
    calls = {node.call: node.key for node in tree.agents}
    session = tree.roots[0].session
    for line in sdk_messages(tree.world):
        session = line.get("data", {}).get("session_id") or session
        if line["class"] in ("UserMessage", "AssistantMessage"):
            owner = calls.get(line.get("parent_tool_use_id")) or line.get("session_id") or session
            role = line["class"].removesuffix("Message").lower()
            yield from seen("sdk", owner, role, (typed(block) for block in blocks(line)))


def sdk_messages(world: World) -> list[Json]:
    path = world.folder / "sdk_messages.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def typed(block: Json) -> Json:
    for name, type in (("tool_use_id", "tool_result"), ("thinking", "thinking"), ("text", "text"), ("id", "tool_use")):
        if name in block:
            return {**block, "type": type}
    return {**block, "type": "other"}


def seen(source: str, owner: str, role: str, found: Iterable[Json], near: tuple[str, ...] = ()) -> Iterator[Sighting]:
    for block in found:
        key = block.get("tool_use_id") or block.get("id") or block.get("text") or block.get("thinking") or ""
        yield Sighting(source, owner, role, block["type"], str(key).strip(), near)
