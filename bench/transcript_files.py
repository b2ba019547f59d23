"""Deterministic transcripts of a heavy user: sessions of every generation of the client, with sub-agents, tool results
of 2 to 40 kB, and the long lines that hold no message."""

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from bench.traffic import prose, size_of_result

Line = dict[str, Any]
GENERATIONS = ("2.0.26", "2.0.42", "2.1.30", "2.1.112", "2.1.325")
BEGAN = datetime(2022, 1, 3, 8, tzinfo=UTC)
POOL = prose(random.Random("pool"), 8_000_000)


class Writer:
    """One session, line by line: what each file of it holds."""

    def __init__(self, number: int, version: str) -> None:
        self.source = random.Random(f"session {number}")
        self.version = version
        self.session = self.uuid()
        self.at = BEGAN + timedelta(hours=5 * number)
        self.files: dict[str, list[str]] = {}
        self.last: dict[str, str] = {}

    def uuid(self) -> str:
        return str(UUID(int=self.source.getrandbits(128), version=4))

    def words(self, size: int) -> str:
        start = self.source.randrange(len(POOL) - size)
        return POOL[start : start + size]

    def name(self, agent: str) -> str:
        """Old clients put an agent's lines into the session's file, then beside it, then into its folder."""
        if not agent or self.version == "2.0.26":
            return f"{self.session}.jsonl"
        return f"agent-{agent}.jsonl" if self.version == "2.0.42" else f"{self.session}/subagents/agent-{agent}.jsonl"

    def put(self, agent: str, line: Line) -> None:
        self.files.setdefault(self.name(agent), []).append(json.dumps(line, separators=(",", ":"), ensure_ascii=False))

    def say(self, agent: str, kind: str, message: Line, **more: Any) -> None:
        self.at += timedelta(milliseconds=self.source.randint(50, 9000))
        line: Line = {
            "parentUuid": self.last.get(agent), "isSidechain": bool(agent), "userType": "external", "cwd": "/home/dev/project",
            "sessionId": self.session, "version": self.version, "gitBranch": "main", "type": kind, "message": message, **more,
            "uuid": self.uuid(), "timestamp": self.at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.at.microsecond // 1000:03}Z",
        }  # fmt: skip
        if agent and self.version != "2.0.26":
            line["agentId"] = agent
        self.last[agent] = line["uuid"]
        self.put(agent, line)

    def answer(self, agent: str, *blocks: Line) -> None:
        """One line a block, all with the same id and the same figures."""
        message, request = f"msg_{self.source.getrandbits(96):024x}", f"req_{self.source.getrandbits(96):024x}"
        usage = {
            "input_tokens": 4, "cache_creation_input_tokens": self.source.randint(100, 9000),
            "cache_read_input_tokens": self.source.randint(9000, 90000), "output_tokens": self.source.randint(20, 900),
        }  # fmt: skip
        for block in blocks:
            whole = {
                "model": "claude-sonnet-4-5", "id": message, "type": "message", "role": "assistant", "content": [block],
                "stop_reason": "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn", "usage": usage,
            }  # fmt: skip
            self.say(agent, "assistant", whole, requestId=request)

    def result(self, agent: str, tool: str, text: str, outcome: Line) -> None:
        block = {"tool_use_id": tool, "type": "tool_result", "content": text}
        self.say(agent, "user", {"role": "user", "content": [block]}, toolUseResult=outcome)

    def tool(self) -> str:
        return f"toolu_{self.source.getrandbits(96):024x}"

    def turn(self, agent: str) -> None:
        tool, text = self.tool(), self.words(size_of_result(self.source))
        thinking = {"type": "thinking", "thinking": self.words(self.source.randint(60, 900)), "signature": "c2ln" * 60}
        said = {"type": "text", "text": self.words(self.source.randint(40, 400))}
        use = {"type": "tool_use", "id": tool, "name": "Bash", "input": {"command": self.words(80), "description": "look"}}
        self.answer(agent, thinking, said, use)
        self.result(agent, tool, text, {"stdout": text, "stderr": "", "interrupted": False})
        if self.version == "2.1.325" and self.source.random() < 0.2:
            self.put(agent, {"type": "api-request-blob", "sessionId": self.session, "blob": self.words(60_000)})

    def delegate(self, turns: int) -> None:
        old = self.version in GENERATIONS[:2]
        tool, agent = self.tool(), f"{self.source.getrandbits(32 if old else 64):0{8 if old else 16}x}"
        prompt = self.words(600)
        given = {"description": "Look around", "prompt": prompt, "subagent_type": "general-purpose"}
        self.answer("", {"type": "tool_use", "id": tool, "name": "Task" if old else "Agent", "input": given})
        if self.version != "2.0.42":
            self.say(agent, "user", {"role": "user", "content": prompt})
        for _ in range(turns):
            self.turn(agent)
        report = self.words(1500)
        self.answer(agent, {"type": "text", "text": report})
        outcome = {"status": "completed", "prompt": prompt, "content": [{"type": "text", "text": report}]}
        self.result("", tool, report, outcome | ({} if self.version == "2.0.26" else {"agentId": agent}))
        self.sidecar(agent, tool)

    def sidecar(self, agent: str, tool: str) -> None:
        known = {"agentType": "general-purpose", "description": "Look around"}
        if self.version == "2.1.325":
            known |= {"toolUseId": tool, "spawnDepth": 1}
        if self.version in GENERATIONS[3:]:
            self.files[self.name(agent).replace(".jsonl", ".meta.json")] = [json.dumps(known)]

    def play(self) -> None:
        for _ in range(self.source.randint(2, 8)):
            self.put("", {"type": "file-history-snapshot", "messageId": self.uuid(), "snapshot": {"files": self.words(2000)}})
            self.say("", "user", {"role": "user", "content": self.words(self.source.randint(60, 900))})
            for _ in range(self.source.randint(3, 16)):
                self.turn("")
            if self.source.random() < 0.5:
                self.delegate(self.source.randint(2, 9))
            self.answer("", {"type": "text", "text": self.words(700)})


def write_transcripts(folder: Path, size: int, progress: Callable[[int], None] = lambda done: None) -> Iterator[Path]:
    """Files under `folder`/projects until they hold so many bytes; each as it is written."""
    done = number = 0
    while done < size:
        writer = Writer(number, GENERATIONS[number % len(GENERATIONS)])
        writer.play()
        for name, lines in writer.files.items():
            path = folder / "projects" / f"-home-dev-project-{number % 40}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            done += path.write_bytes("".join(f"{line}\n" for line in lines).encode())
            yield path
        number += 1
