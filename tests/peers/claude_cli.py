"""The real Claude client, run against a server on this machine: stories as data, and what a run gave back.

It comes with the development dependency `claude-agent-sdk`, needs no account, and is told to talk to nobody.
"""

import asyncio
import importlib.util
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import Signals
from uuid import UUID

from ramify.demo.upstream import prompt, turn
from ramify.demo.wire import Json, Reply, say

SESSION = UUID("5e551011-0000-4000-8000-000000000001")
SECONDS = 60.0
Attempts = tuple[Reply, ...]
Usage = Counter[str]


@dataclass(frozen=True)
class Story:
    """`replies`: for each prompt, whoever wrote it, what the model says turn by turn, attempt by attempt."""

    name: str
    prompt: str
    replies: Mapping[str, tuple[Attempts, ...]]
    stopped_by: Signals | None = None  # sent once the model holds its answer
    resumes: bool = False  # goes on in the session that an earlier story began


@dataclass(frozen=True)
class CliRun:
    exit: int
    text: str
    lines: tuple[Json, ...]
    errors: str = ""


@dataclass
class Script:
    """Parallel agents are told apart by their prompts, and attempts by counting."""

    story: Story
    asked: Counter[tuple[str, int]] = field(default_factory=Counter)

    def __call__(self, body: Json) -> Reply:
        key = (prompt(body), turn(body))
        turns = self.story.replies.get(key[0], ())
        if key[1] >= len(turns):
            return say("Nothing to add.")
        attempts = turns[key[1]]
        self.asked[key] += 1
        return attempts[min(self.asked[key], len(attempts)) - 1]


@dataclass
class Metered:
    """The same, with figures of its own for every answer: what the API says of its work is known line by line."""

    script: Script
    said: list[tuple[str, Usage]] = field(default_factory=list)

    def __call__(self, body: Json) -> Reply:
        reply = self.script(body)
        number = len(self.said) + 1
        figures = Counter(
            input_tokens=10 + number,
            output_tokens=100 * number,
            cache_read_input_tokens=1000 * number,
            cache_creation_input_tokens=7 * number,
        )
        reported = figures.copy() if reply.status == 200 else Counter[str]()
        if reply.hold_after is not None or reply.cut_after is not None:
            reported["output_tokens"] = 1  # all that the first event of a stream says of the output
        self.said.append((prompt(body), reported))
        return replace(reply, usage=figures)

    def total(self, words: str | None = None) -> Usage:
        """Of the work that began with these words, or of all."""
        return sum((usage for line, usage in self.said if words in (None, line)), Counter[str]())


def find_cli() -> Path | None:
    package = importlib.util.find_spec("claude_agent_sdk")
    if package is None or package.origin is None:
        return None
    path = Path(package.origin).parent / "_bundled" / "claude"
    return path if path.exists() else None


async def run_story(
    story: Story,
    base_url: str,
    folder: Path,
    held: Callable[[], Awaitable[None]] | None = None,
    variables: Mapping[str, str] | None = None,
    more: Sequence[str] = (),
) -> CliRun:
    """`folder` is the client's whole world. `held` returns once a story that is to be stopped may be."""
    for name in ("home", "config", "work"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    child = await asyncio.create_subprocess_exec(
        *arguments(story),
        *more,
        cwd=folder / "work",
        env={**environment(base_url, folder), **(variables or {})},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**24,
    )
    try:
        reading = asyncio.ensure_future(child.communicate())
        if story.stopped_by and held is not None:
            await asyncio.wait_for(held(), SECONDS)
            child.send_signal(story.stopped_by)
        output, errors = await asyncio.wait_for(reading, SECONDS)
    finally:
        if child.returncode is None:
            child.kill()
    return outcome(child.returncode or 0, output, errors)


def outcome(status: int, output: bytes, errors: bytes) -> CliRun:
    lines = tuple(json.loads(line) for line in output.decode().splitlines() if line.startswith("{"))
    text = next((line.get("result", "") for line in reversed(lines) if line.get("type") == "result"), "")
    return CliRun(status, text, lines, errors.decode())


def arguments(story: Story) -> list[str]:
    client = find_cli()
    assert client is not None
    return [
        *(str(client), "-p", story.prompt),
        *("--output-format", "stream-json", "--verbose"),
        *("--resume" if story.resumes else "--session-id", str(SESSION)),
        *("--allowedTools", "Bash Agent Task Read"),
    ]


def environment(base_url: str, folder: Path) -> dict[str, str]:
    """Nothing of ours gets in: a key or a setting of the person who runs the tests must not."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "CLAUDE_CONFIG_DIR": str(folder / "config"),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "IS_SANDBOX": "1",
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": "sk-ant-dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
