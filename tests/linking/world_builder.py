"""A scripted client in a few words: lines of conversation that keep their message list, and what should come of them.

Every story is told in order, in many other orders, piece by piece and twice; the rows must be the same each time.
"""

import copy
import json
import random
from typing import Any

from ramify.ingest import Ingest
from ramify.linking.world import Rules
from ramify.model.ids import observation_id
from ramify.model.observation import Observation, Request, Response
from ramify.query.service import Questions
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests import story as stories
from tests.verdicts import differences

Block = dict[str, Any]
SECOND = 1_000_000
BEGIN = 1_790_000_000 * SECOND
WANTED = ("parent", "attempt_of", "branch", "conversation", "kind", "utility", "task", "status")
NOTHING: Any = object()
LOST: Any = object()


def text(words: str, **more: Any) -> Block:
    return {"type": "text", "text": words, **more}


def thinking(words: str = "hm") -> Block:
    return {"type": "thinking", "thinking": words, "signature": "sig"}


def use(id: str, name: str = "Bash", **given: Any) -> Block:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def agent(id: str, prompt: str, name: str = "Agent", **given: Any) -> Block:
    return use(id, name, prompt=prompt, description="a piece of work", **given)


def result(id: str, content: Any = "ok", **more: Any) -> Block:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def report(id: str, agent: str = "", words: str = "done") -> Block:
    """What the caller gets back; the current client names the agent in it."""
    return result(id, f"{words}\nagentId: {agent} (for resuming)" if agent else words)


def reminder(words: str = "be brief") -> Block:
    return text(f"<system-reminder>\n{words}\n</system-reminder>")


def notification(agent: str, tool: str, status: str = "completed") -> str:
    return (
        "<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\n<task-notification>\n"
        f"<task-id>{agent}</task-id>\n<tool-use-id>{tool}</tool-use-id>\n<status>{status}</status>\n"
        "</task-notification>\n</system-reminder>"
    )


def blocks(said: Any) -> list[Block]:
    if isinstance(said, str):
        return [text(said)]
    if isinstance(said, dict):
        return [said]
    return [block for one in said for block in blocks(one)]


def sse(message: Block) -> bytes:
    """The answer as a stream, each block in two pieces."""
    start = {**message, "content": [], "stop_reason": None}
    events: list[Block] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(message["content"]):
        empty, deltas = _streamed(block)
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": message["stop_reason"]}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": message["usage"]["output_tokens"]}})
    events.append({"type": "message_stop"})
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def _streamed(block: Block) -> tuple[Block, list[Block]]:
    match block:
        case {"type": "text", "text": str(words)}:
            half = len(words) // 2
            pieces = [{"type": "text_delta", "text": part} for part in (words[:half], words[half:])]
            return {**block, "text": ""}, pieces
        case {"type": "tool_use", "input": given}:
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(given)}]
        case _:
            return block, []


class Story:
    """Exchanges on one clock, with the truth about each."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.now = 0.0
        self.rules = rules
        self.seen: list[list[Observation]] = []
        self.truth: dict[str, Block] = {}
        self.subtasks: dict[str, Block] = {}
        self.swappable: list[str] = []
        self.shared: list[str] = []  # tool calls that may have many children

    def line(self, **scope: Any) -> "Line":
        return Line(self, **scope)

    def subtask(self, first: str, by: str, via: str | None, *, rule: str = "", sure: bool | None = None) -> None:
        self.subtasks[first] = {"first": first, "spawned_by": by, "via": via, "rule": rule, "sure": sure}

    def observe(self, name: str, asked: Block, answered: Block) -> None:
        """One exchange: `asked` has the request's parts, `answered` how it ended."""
        assert name not in self.truth, f"{name} is there twice"
        id = observation_id("told", name)
        at = BEGIN + int(asked["at"] * SECOND)
        request = Request(
            id, asked["project"], at, "exchanges", name, "POST", asked["path"], tuple(asked["headers"].items()), asked["body"]
        )
        seen: list[Observation] = [request]
        if answered["outcome"]:
            end = BEGIN + int(answered["at"] * SECOND)
            headers = tuple(answered["headers"].items())
            seen.append(
                Response(
                    observation_id(id), asked["project"], end, "exchanges", id, asked["path"], answered["status"],
                    headers, answered["body"], answered["outcome"],
                )
            )
        self.seen.append(seen)

    # -- judging -----------------------------------------------------------------------------------------------------

    def expectation(self) -> Block:
        calls = {name: {"conversation": None, **wanted} for name, wanted in self.truth.items()}
        wanted = {f"{first}/{self.truth[first].get('branch')}": one for first, one in self.subtasks.items()}
        return {"calls": calls, "subtasks": wanted, "swappable": self.swappable}

    def check(self, orders: int = 10) -> Questions:
        """In order, in other orders (answers may come before their questions), and twice."""
        store, questions = self.told([one for seen in self.seen for one in seen])
        assert self.problems(questions) == []
        rows = stories.rows(store)
        for seed in range(orders):
            other, _ = self.told(self.mixed(seed), 1 + seed % 6)
            assert stories.row_differences(rows, stories.rows(other)) == [], f"order {seed}"
        again, _ = self.told([*self.mixed(1), *self.mixed(2)])
        assert stories.row_differences(rows, stories.rows(again)) == [], "seen twice"
        return questions

    def mixed(self, seed: int) -> list[Observation]:
        chance = random.Random(seed)
        seen = list(self.seen)
        chance.shuffle(seen)
        flat = [one for pair in seen for one in pair]
        if seed % 2:
            chance.shuffle(flat)
        return flat

    def told(self, flat: list[Observation], size: int = 3) -> tuple[Sqlite, Questions]:
        store = open_sqlite("memory:")
        ingest = Ingest(store, self.rules)
        for start in range(0, len(flat), size):
            ingest.step(flat[start : start + size])
        return store, Questions(store)

    def problems(self, questions: Questions) -> list[str]:
        found = differences(questions, self.expectation())
        if self.shared:
            found = [problem for problem in found if problem != "one offer has two children"]
        calls = stories.calls_by_exchange(questions)
        for first, wanted in self.subtasks.items():
            link = questions.task(calls[first]["task"])["link"]
            if link and wanted["rule"] and link["rule"] != wanted["rule"]:
                found.append(f"{first}: found by {link['rule']}, not {wanted['rule']}")
            if link and wanted["sure"] is not None and (link["certainty"] == 1.0) != wanted["sure"]:
                found.append(f"{first}: certainty is {link['certainty']}")
        return found


class Line:
    """One line of a client's talk: it repeats its history with every request."""

    def __init__(
        self, story: Story, *, session: str = "", agent: str = "", parent_agent: str = "", user: str = "",
        project: str = "default", headers: Block | None = None, system: Any = None, tools: Any = NOTHING,
    ) -> None:
        self.story = story
        self.messages: list[Block] = []
        self.project, self.user, self.system = project, user, system
        self.tools = [{"name": "Bash", "input_schema": {}}] if tools is NOTHING else tools
        named = {
            "X-Claude-Code-Session-Id": session,
            "x-claude-code-agent-id": agent,
            "x-claude-code-parent-agent-id": parent_agent,
        }
        self.headers = {key: value for key, value in named.items() if value} | (headers or {})

    def copy(self, **changes: Any) -> "Line":
        other = copy.copy(self)
        other.messages = copy.deepcopy(self.messages)
        for name, value in changes.items():
            assert hasattr(other, name), name
            setattr(other, name, value)
        return other

    def say(self, *said: Any, role: str = "user") -> "Line":
        self.messages.append({"role": role, "content": [block for one in said for block in blocks(one)]})
        return self

    def ask(self, name: str, said: Any, answer: Any = "fine", **how: Any) -> "Line":
        """A turn: something said, and the call that follows."""
        return self.say(said).call(name, answer, **how)

    def call(self, name: str, answer: Any = "fine", **how: Any) -> "Line":
        """Sends the list. `keep=False`: the answer is not taken into the history. What is left of `how` is the truth."""
        story = self.story
        at = how.pop("at", story.now)
        took = how.pop("took", 1.0)
        story.now = max(story.now, at + (0.25 if how.pop("overlap", False) else took + 1.0))
        keep = how.pop("keep", True)
        asked = {
            "at": at,
            "project": self.project,
            "path": how.pop("path", "/v1/messages?beta=true"),
            "headers": {**self.headers, **how.pop("headers", {})},
            "body": json.dumps(self.body(how.pop("body", {}))).encode(),
        }
        story.observe(name, asked, {"at": at + took, **self.answered(name, answer, how)})
        if keep and answer is not LOST and answer is not NOTHING and answer:
            self.messages.append({"role": "assistant", "content": copy.deepcopy(blocks(answer))})
        unknown = set(how) - set(WANTED)
        assert not unknown, f"{name}: {unknown}"
        story.truth[name] = how
        return self

    def body(self, more: Block) -> Block:
        body: Block = {"model": "claude-test", "max_tokens": 1000, "messages": self.messages, "stream": True}
        if self.tools:
            body["tools"] = self.tools
        if self.system is not None:
            body["system"] = self.system
        if self.user:
            body["metadata"] = {"user_id": self.user}
        return body | more

    def answered(self, name: str, answer: Any, how: Block) -> Block:
        status = how.pop("http", 200)
        outcome = how.pop("outcome", "complete")
        cut = how.pop("cut", None)
        stop = how.pop("stop", None)
        usage = {"input_tokens": 10, "output_tokens": 5, **how.pop("usage", {})}
        plain = how.pop("plain", False)
        model = how.pop("model", "claude-test")
        if answer is NOTHING:
            return {"status": 0, "headers": {}, "body": b"", "outcome": ""}
        if answer is LOST:
            return {"status": 0, "headers": {}, "body": b"", "outcome": "lost"}
        if status >= 400:
            error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
            return {"status": status, "headers": {"content-type": "application/json"}, "body": json.dumps(error).encode(), "outcome": outcome}
        content = blocks(answer)
        stop = stop or ("tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn")
        message = {
            "id": f"msg_{name}", "type": "message", "role": "assistant", "model": model, "content": content,
            "stop_reason": stop, "usage": usage,
        }
        kind = "application/json" if plain else "text/event-stream"
        raw = json.dumps(message).encode() if plain else sse(message)
        if cut is not None:
            raw = raw[: raw.index(cut.encode())]
        headers = {"content-type": kind, "request-id": f"req_{name}"}
        return {"status": status, "headers": headers, "body": raw, "outcome": outcome}
