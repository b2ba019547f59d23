"""What the client wrote about its own agents: the part of the truth that no script can know, because ids are drawn."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ramify.demo.wire import Json


@dataclass
class Files:
    """The transcripts of one run, read line by line."""

    projects: Path
    lines: list[tuple[Path, Json]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for path in sorted(self.projects.rglob("*.jsonl")):
            self.lines += [(path, json.loads(line)) for line in path.read_text().splitlines()]

    @cached_property
    def agents(self) -> dict[str, str]:
        """From the call to the agent that it started: the sidecar says so, or the result, or a line about its progress."""
        found = {}
        for path in self.projects.rglob("agent-*.meta.json"):
            call = json.loads(path.read_text()).get("toolUseId")
            if call:
                found[call] = path.name.removeprefix("agent-").removesuffix(".meta.json")
        for call, result in self.results.items():
            if result.get("agentId"):
                found.setdefault(call, result["agentId"])
        for _, line in self.lines:
            if line["type"] == "progress" and line["data"].get("agentId"):  # 2.1.30
                found.setdefault(line["parentToolUseID"], line["data"]["agentId"])
        return found

    @cached_property
    def results(self) -> dict[str, Json]:
        """What the client kept of each call's outcome."""
        return {
            block["tool_use_id"]: line["toolUseResult"]
            for _, line in self.lines
            for block in blocks(line.get("message"))
            if block.get("type") == "tool_result" and isinstance(line.get("toolUseResult"), dict)
        }

    @cached_property
    def speakers(self) -> dict[str, str]:
        """From an answer to the agent that gave it, where lines name their agents."""
        forks = {path for path, line in self.lines if line["type"] == "fork-context-ref"}
        return {
            line["message"]["id"]: line["agentId"]
            for path, line in self.lines
            if line["type"] == "assistant" and line.get("agentId") and not inherited(path in forks, line)
        }

    @cached_property
    def sidechains(self) -> dict[str, str]:
        """2.0.26 only: from a line, and from its answer, to the call: the block that ended last before its result.

        The client writes an agent's lines when it is done, at once before the result; warm-ups belong to no call.
        """
        found: dict[str, str] = {}
        prompts: dict[str, str] = {}
        open_blocks: list[list[Json]] = []
        for _, line in self.lines:
            if line.get("isSidechain") and not line.get("agentId"):
                extend(open_blocks, line)
                continue
            for part in blocks(line.get("message")):
                if part.get("type") == "tool_use":
                    prompts[part["id"]] = str(part["input"].get("prompt"))
                elif part.get("type") == "tool_result" and part["tool_use_id"] in prompts:
                    block = take(open_blocks, prompts[part["tool_use_id"]])
                    found.update((name, part["tool_use_id"]) for one in block for name in names(one))
        return found

    @cached_property
    def workflows(self) -> dict[str, str]:
        """From an agent of a workflow to the call that started the workflow."""
        runs = {result["runId"]: call for call, result in self.results.items() if "runId" in result}
        return {
            path.stem.removeprefix("agent-"): runs[path.parent.name]
            for path in self.projects.rglob("workflows/*/agent-*.jsonl")
        }


def inherited(forked: bool, line: Json) -> bool:
    """The file of a fork begins with the answer that started it, which its parent gave."""
    return forked and line.get("parentUuid") is None


def extend(open_blocks: list[list[Json]], line: Json) -> None:
    """Chains, because other lines may stand between those of one block."""
    for block in open_blocks:
        if block[-1]["uuid"] == line.get("parentUuid"):
            block.append(line)
            open_blocks.append(open_blocks.pop(open_blocks.index(block)))
            return
    open_blocks.append([line])


def take(open_blocks: list[list[Json]], prompt: str) -> list[Json]:
    for block in reversed(open_blocks):
        if any(part.get("text") == prompt for part in blocks(block[0].get("message"))):
            open_blocks.remove(block)
            return block
    return []


def names(line: Json) -> list[str]:
    return [line["uuid"], *([line["message"]["id"]] if line["type"] == "assistant" else [])]


def blocks(message: object) -> Iterator[Json]:
    if not isinstance(message, dict):
        return
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))
