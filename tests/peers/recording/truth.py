"""`expected.json` of a recorded case: the tree, the calls, the messages with their authors, the totals.

Everything comes from the script and from the client's own papers. Nothing comes from Ramify.
"""

import json
import re
from functools import cached_property

from ramify.demo.wire import Json
from tests.peers.recording import sightings
from tests.peers.recording.api import Kept
from tests.peers.recording.files import blocks
from tests.peers.recording.sightings import SOURCES, Seen
from tests.peers.recording.speech import Entry, Speech, prompt, tells
from tests.peers.recording.story import Story
from tests.peers.recording.totals import figures, totals
from tests.peers.recording.tree import Node, Tree, tool_calls

CANCELED = ["canceled", "failed", "working", "unknown"]


class Truth:
    def __init__(self, story: Story, version: str, tree: Tree) -> None:
        self.story = story
        self.version = version
        self.tree = tree
        self.seen = Seen(tree)
        self.speech = Speech(story, tree, self.seen)

    def expected(self) -> Json:
        return {
            "case": self.story.name,
            "about": self.story.about,
            "client": self.version,
            "sources": [source for source in SOURCES if source in self.sources],
            "sessions": list(dict.fromkeys(root.session for root in self.tree.roots)),
            "tasks": [*map(self.root, self.tree.roots), *map(self.agent, self.ordered)],
            "calls": [self.call(kept) for kept in self.tree.world.api.kept if kept.path.startswith("/v1/messages")],
            "tool_calls": [self.tool(node, block) for node in self.tree.nodes for block in tool_calls(node)],
            "messages": self.speech.messages(),
            "reasoning": self.speech.reasoning(),
            "usage": totals(self.tree, self.sources),
        }

    @cached_property
    def sources(self) -> set[str]:
        return {one.source for one in self.seen.all}

    @cached_property
    def ordered(self) -> list[Node]:
        """By their spawning calls."""
        calls = [block["id"] for kept in self.tree.world.api.kept for block in kept.said if block["type"] == "tool_use"]
        return sorted(self.tree.agents, key=lambda agent: calls.index(agent.call))

    def root(self, node: Node) -> Entry:
        entry: Entry = {"key": node.key, "kind": "root", "session": node.session, "prompt": prompt(self.story, node)}
        entry |= {"optional": False, "parent": None, "spawned_by": None, "depth": 0, "agent": None, "root": node.key}
        if self.outcome(node) != "completed":
            entry["status"] = {"*": [self.outcome(node)], "exchanges": CANCELED}
        return entry | {"sources": self.seen.sources(lambda one: one.owner == node.session)}

    def agent(self, node: Node) -> Entry:
        assert node.parent is not None
        family = [agent for agent in self.ordered if agent.root.session == node.root.session]
        entry: Entry = {"key": node.key, "kind": "sub-agent", "session": node.session, "prompt": list(node.prompt)}
        entry |= {"optional": False, "parent": node.parent.key, "spawned_by": node.call, "agent": node.agent}
        entry |= {"agent_type": node.kind, "name": node.name, "background": self.background(node)}
        entry |= {"depth": node.depth, "root": node.root.key, "branch": f"subtask_{family.index(node) + 1}"}
        entry |= {"status": self.status(node), "certainty": self.certainty(node)}
        if node.kind == "workflow-subagent":
            entry["between"] = "workflow"  # a task of its own may stand between the caller and this one
        blurred = [source for source, word in entry["certainty"].items() if word == "inferred"]
        if len(self.tree.alike(node)) > 1 and blurred:
            entry["spawned_by_accept"] = {source: [one.call for one in self.tree.alike(node)] for source in blurred}
        return entry | {"sources": self.shown(node)}

    def background(self, node: Node) -> bool:
        return self.tree.files.results.get(node.call or "", {}).get("status") == "async_launched"

    def outcome(self, node: Node) -> str:
        last = node.calls[-1]
        if last.status != 200:
            return "failed"
        return "completed" if last.reply and last.reply.reason == "end_turn" and not last.aborted else "canceled"

    def status(self, node: Node) -> Json:
        outcome = self.outcome(node)
        if outcome == "canceled":
            return {"*": [outcome] if self.noted(node) else CANCELED, "exchanges": CANCELED}
        if outcome == "completed" and not self.delivered_to_caller(node):
            return {"*": ["completed", "working", "unknown"]}
        if outcome == "failed" and self.tree.files.results.get(node.call or "", {}).get("status") == "completed":
            return {"*": [outcome], "stream-json": [outcome, "completed"]}  # so old clients said
        return {"*": [outcome]}

    def noted(self, node: Node) -> bool:
        """The client lived long enough to say that it stopped."""
        return any(one.owner == node.key and one.key.startswith("[Request interrupted") for one in self.seen.all)

    def delivered_to_caller(self, node: Node) -> bool:
        """Its report, or word of it, came back."""
        assert node.parent is not None
        final = str(node.calls[-1].said[-1].get("text", ""))
        caller = node.parent.key if node.parent.parent else node.session
        return not self.background(node) or any(tells(caller, final, one) for one in self.seen.all)

    def certainty(self, node: Node) -> Json:
        exact = {
            "exchanges": self.proved_on_wire(node),
            "transcripts": self.proved_in_files(node),
            "stream-json": True,
            "sdk": True,
        }
        words = {source: "exact" if exact[source] else "inferred" for source in SOURCES if source in self.sources}
        stated = [source for source, word in words.items() if word == "exact"]
        only_streamed = (
            stated == ["stream-json"] and len(words) > 1
        )  # whether its word reaches the others is a matter of care
        return words | {"all": "any" if only_streamed else "exact" if stated else "inferred"}

    def proved_on_wire(self, node: Node) -> bool:
        """Its id came back in the result of its call, or in a notification; or it is a fork, which holds the call."""
        if node.calls[0].header("x-claude-code-agent-id") is None or node.call is None:
            return False
        if node.kind == "fork":
            return True
        for kept in self.tree.world.api.kept:
            for message in (kept.body or {}).get("messages", []):
                for block in blocks(message):
                    words = json.dumps(block, ensure_ascii=False)
                    if block.get("tool_use_id") == node.call and re.search(rf"(\\n|\")agentId: {node.agent}", words):
                        return True
                    if f"<task-id>{node.agent}</task-id>" in words and node.call in words:
                        return True
        return False

    def proved_in_files(self, node: Node) -> bool:
        return node.call in self.tree.files.agents or node.agent in self.tree.files.workflows

    def shown(self, node: Node) -> list[str]:
        sources = {one.source for one in self.seen.all if one.owner == node.key} | {"exchanges"}
        started = {line.get("tool_use_id") for line in self.tree.world.stream if line.get("subtype") == "task_started"}
        launched = {
            block.get("tool_use_id")
            for line in self.tree.world.stream
            for block in blocks(line.get("message"))
            if "agentId" in str(line.get("tool_use_result"))
        }
        if node.call in started | launched:
            sources.add("stream-json")
        return [source for source in SOURCES if source in sources]

    def call(self, kept: Kept) -> Entry:
        node = self.tree.owner.get(kept.number)
        helper = kept.cue.helper if kept.cue else "count_tokens"
        message = f"msg_{kept.identity}"
        kind = "utility" if helper else "subagent" if node and node.parent else "main"
        entry: Entry = {"exchange": f"{self.story.name}-{kept.number}", "message": message if kept.said else None}
        entry |= {"request": f"req_{kept.identity}", "task": node.key if node else None} | self.tree.blurred(node)
        entry |= {"kind": kind, "utility": helper, "session": kept.session or None, "status": state(kept)}
        present = ["exchanges", *(source for source in SOURCES if message in self.answers.get(source, ()))]
        return entry | {"usage": figures(kept), "sources": present}

    @cached_property
    def answers(self) -> dict[str, set[str]]:
        """Which answers can be told apart there, by their ids."""
        world = self.tree.world
        return {
            "transcripts": {line["message"]["id"] for _, line in self.tree.files.lines if line["type"] == "assistant"},
            "stream-json": {line["message"]["id"] for line in world.stream if line["type"] == "assistant"},
            "sdk": {line["message_id"] for line in sightings.sdk_messages(world) if line.get("message_id")},
        }

    def tool(self, node: Node, block: Json) -> Entry:
        entry: Entry = {"id": block["id"], "name": block["name"], "task": node.key} | self.tree.blurred(node)
        return entry | {"sources": self.seen.where(node, "tool_use", block["id"])}


def state(kept: Kept) -> str:
    if kept.aborted:
        return "aborted"
    return "ok" if kept.status == 200 else "error"
