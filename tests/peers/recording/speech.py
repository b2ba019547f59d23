"""Who said what in a run, for `expected.json`: prompts, answers, results, and what the harness said."""

import json
from collections.abc import Iterable
from functools import partial

from ramify.demo.wire import Json
from tests.peers.recording.api import Kept
from tests.peers.recording.marks import Mark, classify
from tests.peers.recording.sightings import Seen, Sighting, delivered
from tests.peers.recording.story import Story
from tests.peers.recording.tree import Node, Tree

Entry = Json


class Speech:
    def __init__(self, story: Story, tree: Tree, seen: Seen) -> None:
        self.story = story
        self.tree = tree
        self.seen = seen

    def messages(self) -> list[Entry]:
        found: list[Entry] = []
        for node in self.tree.nodes:
            found += self.opening(node)
            for kept in node.calls:
                found += self.answer(node, kept)
        for root in self.tree.roots:
            found += self.bodies(root)
        found += [self.joined(said.words[-1]) for said in self.tree.world.said if said.joins]
        return [entry for entry in (*found, *self.marked()) if entry["sources"]]

    def opening(self, node: Node) -> Iterable[Entry]:
        """The client wraps what a fork or a workflow's agent is told; a command has marks of its own."""
        if node.prompt[0].startswith("/"):
            return
        for words in node.prompt:
            if node.kind in ("workflow-subagent", "fork"):
                entry = self.message(node, "user", "text", words, "agent", "harness")
                inside = self.seen.holding(words, lambda one: one.owner == node.key)
                yield entry | {"match": "contains", "sources": inside}
            else:
                yield self.message(node, "user", "text", words, *(("agent",) if node.parent else node.author))

    def answer(self, node: Node, kept: Kept) -> Iterable[Entry]:
        for block in delivered(kept):
            if block["type"] == "text":
                yield self.message(node, "assistant", "text", block["text"].strip(), "agent")
            elif block["type"] == "tool_use":
                spawns = any(agent.call == block["id"] for agent in self.tree.agents)
                yield self.message(node, "assistant", "tool_use", block["id"], "agent")
                yield self.message(node, "user", "tool_result", block["id"], "tool", *(("agent",) if spawns else ()))

    def bodies(self, root: Node) -> Iterable[Entry]:
        """What a command stands for: written by whoever wrote the command, said by the harness."""
        for words in prompt(self.story, root)[1:] if root.prompt[0].startswith("/") else ():
            entry = self.message(root, "user", "text", words, "harness")
            inside = self.seen.holding(words, lambda one: root.key in one.near)
            again = any(kept.cue and kept.cue.helper == "compaction" for kept in self.tree.world.api.kept)
            yield entry | {"match": "contains", "kind": ["command", "skill"], "extra": int(again), "sources": inside}

    def joined(self, words: str) -> Entry:
        """In the stream and in files it stands alone; the wire wraps it."""
        entry = self.message(self.tree.roots[0], "user", "text", words, "human")
        inside = self.seen.holding(words, lambda one: True)
        return entry | {"match": "contains", "sources": inside}

    def message(self, node: Node, role: str, type: str, key: str, *author: str) -> Entry:
        entry: Entry = {"task": [node.key], "role": role, "type": type, "match": "equals", "key": key}
        entry |= {"author": list(author), "kind": None, "accept": {}, "extra": self.extra(node, key)}
        return entry | self.tree.blurred(node) | {"sources": self.seen.where(node, type, key)}

    def extra(self, node: Node, key: str) -> int:
        """Behind a summary the last messages are repeated: what was there before, and is still there."""
        line = [kept for kept in self.tree.world.api.kept if kept.cue and self.on_line(kept, node)]
        cuts = [index for index, kept in enumerate(line) if kept.cue and kept.cue.helper == "compaction"]
        if not cuts or cuts[-1] + 1 >= len(line):
            return 0
        before = json.dumps([(kept.body, kept.said) for kept in line[: cuts[0]]], ensure_ascii=False)
        after = json.dumps(line[cuts[-1] + 1].body, ensure_ascii=False)
        return int(f'"{key}"' in before and f'"{key}"' in after)

    def on_line(self, kept: Kept, node: Node) -> bool:
        owner = self.tree.owner.get(kept.number)
        if node.parent:
            return owner is node
        return kept.session == node.session and (owner is None or owner.parent is None)

    def marked(self) -> list[Entry]:
        """What the harness said. A mark that comes with the next prompt may be counted to either task."""
        found: dict[tuple[str, str], Entry] = {}
        placed: set[tuple[str, str, str]] = set()
        for one in self.seen.all:
            classified = classify(one.key, one.role) if one.type == "text" and one.role != "assistant" else None
            if classified is None or (one.source, one.owner, classified[1]) in placed:
                continue  # requests repeat their history: where it came first is where it belongs
            mark, key = classified
            placed.add((one.source, one.owner, key))
            entry = found.setdefault((one.owner, key), self.mark(mark, key))
            entry["task"] = list(dict.fromkeys([*entry["task"], *one.near]))
        for (owner, key), entry in found.items():
            entry["sources"] = self.seen.sources(partial(tells, owner, key))
        return [entry for entry in found.values() if entry["task"]]

    def mark(self, mark: Mark, key: str) -> Entry:
        entry: Entry = {"task": [], "role": "user", "type": "text", "match": "contains", "key": key}
        kind = list(mark.kind) if mark.kind else None
        return entry | {"author": list(mark.author), "kind": kind, "accept": {}, "extra": 0, "sources": []}

    def reasoning(self) -> list[Entry]:
        return [
            {
                "task": node.key,
                "text": block.get("thinking", ""),
                "withheld": not block.get("thinking"),
                "message": f"msg_{kept.identity}",
            }
            for node in self.tree.nodes
            for kept in node.calls
            for block in kept.said
            if block["type"] in ("thinking", "redacted_thinking")
        ]


def prompt(story: Story, node: Node) -> list[str]:
    """A command's name or the words that it stands for: either may be shown."""
    if not node.prompt[0].startswith("/"):
        return list(node.prompt)
    cue = node.calls[0].cue
    return [node.prompt[0].split()[0], *(scene for scene in story.scenes if cue and scene == cue.scene)]


def tells(owner: str, key: str, one: Sighting) -> bool:
    return one.owner == owner and one.role != "assistant" and key in one.key
