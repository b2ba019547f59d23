"""A session's transcript, told line by line, as an import would see it; `check` tells it in other orders too."""

import json
import random
from typing import Any

from ramify.model.ids import observation_id
from ramify.model.observation import Observation, Record
from ramify.query.service import Questions
from tests import story

START = 1_790_000_000_000_000
SECOND = 1_000_000
Line = dict[str, Any]


class Transcript:
    def __init__(self, session: str = "11111111-2222-4333-8444-555555555555") -> None:
        self.session = session
        self.seen: list[Observation] = []
        self.lines: dict[str, int] = {}
        self.clock = START

    # -- lines ---------------------------------------------------------------------------------------------------------

    def raw(self, body: bytes, file: str = "", at: int | None = None) -> None:
        file = file or f"project/{self.session}.jsonl"
        self.clock += SECOND
        number = self.lines[file] = self.lines.get(file, 0) + 1
        id = observation_id("record", file, number, body)
        self.seen.append(Record(id, "default", at or self.clock, "transcript", "claude", f"{file}:{number}", body))

    def line(self, agent: str = "", **fields: Any) -> str:
        uuid = f"uuid-{self.session[:4]}-{len(self.seen)}"
        more = {"agentId": agent, "isSidechain": True} if agent else {}
        file = f"project/{self.session}/subagents/agent-{agent}.jsonl" if agent else ""
        self.raw(json.dumps({"uuid": uuid, "sessionId": self.session, **more, **fields}).encode(), file)
        return uuid

    def says(self, words: str, agent: str = "", **flags: Any) -> str:
        return self.line(agent, type="user", message={"role": "user", "content": words}, **flags)

    def prompt(self, words: str) -> str:
        return self.says(words, promptSource="typed")

    def answer(self, message: str, *blocks: Line, agent: str = "", output: int = 10, stop: str = "end_turn") -> None:
        usage = {"input_tokens": 3, "output_tokens": output, "cache_read_input_tokens": 100}
        body = {"id": message, "role": "assistant", "model": "claude-opus-5-5", "content": list(blocks) or [text("Done.")]}
        self.line(agent, type="assistant", message={**body, "usage": usage, "stop_reason": stop})

    def result(self, tool: str, words: str = "Done.", agent: str = "", note: Any = None) -> None:
        block = {"type": "tool_result", "tool_use_id": tool, "content": words}
        more = {} if note is None else {"toolUseResult": note}
        self.line(agent, type="user", message={"role": "user", "content": [block]}, **more)

    def sidecar(self, agent: str, **fields: Any) -> None:
        self.raw(json.dumps(fields).encode(), f"project/{self.session}/subagents/agent-{agent}.meta.json")

    def sums(self, **models: dict[str, int]) -> None:
        self.raw(json.dumps({"type": "cost-state", "sessionId": self.session, "modelUsage": models}).encode())

    # -- judging -------------------------------------------------------------------------------------------------------

    def check(self, orders: int = 8) -> Questions:
        store, questions = story.told([(one,) for one in self.seen])
        rows = story.rows(store)
        for seed in range(orders):
            mixed = [(one,) for one in (*self.seen, *self.seen)]
            random.Random(seed).shuffle(mixed)
            other, _ = story.told(mixed, 1 + seed)
            assert story.row_differences(rows, story.rows(other)) == [], f"order {seed}"
        return questions


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def use(id: str, name: str, **given: Any) -> Line:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def only_root(questions: Questions) -> Line:
    (root,) = questions.tasks(roots=True, limit=0)["items"]
    return root


def titles(questions: Questions) -> list[str]:
    tasks = questions.tasks(roots=True, limit=0)["items"]
    return [task["title"] for task in sorted(tasks, key=lambda task: task["opened"])]
