"""A throw-away home for the client, and the ways to run it there: print mode, talk over its input, the SDK."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

from ramify.demo.wire import Json
from tests.peers.recording.api import Api, until

SECONDS = 90.0
TOOLS = "Bash Agent Task Read SendMessage Workflow TaskCreate TaskUpdate TaskList TaskStop TaskOutput Skill"
FIRST_EVENTS = (
    *("SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact"),
    *("PreToolUse", "PostToolUse", "Notification"),
)
EVENTS = (
    *FIRST_EVENTS,
    *("SubagentStart", "PostToolUseFailure", "PostToolBatch", "PostCompact", "TaskCreated", "TaskCompleted"),
    *("StopFailure", "UserPromptExpansion"),
)
KEEP = 'line=$(cat); printf "%s\\n" "$line" >> "{}"'


@dataclass
class Said:
    """What somebody told the client, in the order of saying: the roots of the tree, and what joined one of them."""

    words: tuple[str, ...]
    session: str
    joins: bool = False  # arrives during a turn, and belongs to it
    author: tuple[str, ...] = ("human",)  # whoever may be held to be it

    @property
    def local(self) -> bool:
        """A command that the client carries out itself."""
        return self.words[0].split()[0] in ("/compact", "/context")


@dataclass
class World:
    """`folder` is all that the client knows: home, configuration, working folder."""

    api: Api
    folder: Path
    client: tuple[str, ...]
    session: str = field(default_factory=lambda: str(uuid4()))
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    said: list[Said] = field(default_factory=list)
    lines: list[Json] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # where in `lines` each process began
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("home", "config", "work", "bin"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        named = self.folder / "bin" / "claude"  # for shell commands that run it
        named.write_text('#!/bin/sh\nexec {} "$@"\n'.format(" ".join(self.client)))
        named.chmod(0o755)

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def stream(self) -> list[Json]:
        """What it printed. Not if a process died without a result and another went on: nothing shows where it began."""
        runs = [self.lines[start:end] for start, end in pairwise([*self.starts, len(self.lines)])]
        dead = any(run and not any(line["type"] == "result" for line in run) for run in runs[:-1])
        return [] if dead else self.lines

    def write(self, path: str, content: str) -> None:
        target = self.work / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)

    def listen(self, events: Iterable[str] = EVENTS, **more: str) -> None:
        """Every hook event is written down; `more` are commands for some of them besides."""
        keep = KEEP.format(self.folder / "hooks.jsonl")
        hooks = {
            event: [{"matcher": "", "hooks": [{"type": "command", "command": command}]} for command in commands]
            for event, commands in ((event, [keep, *filter(None, [more.get(event)])]) for event in events)
        }
        path = self.folder / "settings.json"
        path.write_text(json.dumps({"hooks": hooks}))
        self.options = (*self.options, "--settings", str(path))

    def variables(self) -> dict[str, str]:
        """Nothing of the person who records gets in."""
        return {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.folder / "home"),
            "CLAUDE_CONFIG_DIR": str(self.folder / "config"),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "IS_SANDBOX": "1",
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": "sk-ant-dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            **self.environment,
        }

    def command(self, *more: str, resume: str | None = None) -> list[str]:
        begun = ("--resume", resume) if resume else ("--session-id", self.session)
        formats = ("--output-format", "stream-json", "--verbose", "--allowedTools", TOOLS)
        return [*self.client, "-p", *formats, *begun, *self.options, *more]

    async def ask(
        self, prompt: str, *more: str, resume: str | None = None, stop: Callable[[], Awaitable[None]] | None = None
    ) -> str:
        """Print mode; gives the session back. When `stop` returns, the client is interrupted."""
        child = await self._start([*self.command(*more, resume=resume), "--", prompt])
        said = self.hear((prompt,), resume or self.session)
        reading = asyncio.ensure_future(child.communicate())
        try:
            if stop is not None:
                await asyncio.wait_for(stop(), SECONDS)
                child.send_signal(signal.SIGINT)
            output, errors = await asyncio.wait_for(reading, SECONDS)
        finally:
            end(child)
        lines = [json.loads(line) for line in output.decode().splitlines() if line.startswith("{")]
        self.lines += lines
        self.errors.append(errors.decode())
        said.session = next((line["session_id"] for line in lines if line.get("subtype") == "init"), said.session)
        return said.session

    def hear(
        self, words: tuple[str, ...], session: str, *, joins: bool = False, author: tuple[str, ...] = ("human",)
    ) -> Said:
        self.said.append(Said(words, session, joins, author))
        return self.said[-1]

    @asynccontextmanager
    async def talking(self, *more: str) -> AsyncIterator["Talk"]:
        """A conversation over standard input."""
        formats = ("--input-format", "stream-json", "--replay-user-messages")
        child = await self._start(self.command(*formats, *more))
        assert child.stdin is not None
        assert child.stderr is not None
        talk = Talk(child, self)
        reading = asyncio.ensure_future(talk.read())
        complaints = asyncio.ensure_future(child.stderr.read())
        try:
            yield talk
            child.stdin.close()
            await asyncio.wait_for(reading, SECONDS)
            await asyncio.wait_for(child.wait(), SECONDS)
        finally:
            end(child)
            self.errors.append((await complaints).decode())

    async def host(self, *said: tuple[str, int], fork: str | None = None, **options: object) -> None:
        """A program of the Python SDK says these things, and waits for so many results after each."""
        settings = {"cwd": str(self.work), "cli_path": self.client[0], "allowed_tools": TOOLS.split()}
        plan = {"said": said, "options": settings | options, "fork": fork}
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.peers.recording.sdk", str(self.folder)),
            env=self.variables() | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            _, errors = await asyncio.wait_for(child.communicate(json.dumps(plan).encode()), SECONDS)
        finally:
            end(child)
        assert child.returncode == 0, errors.decode()
        written = (self.folder / "sdk_messages.jsonl").read_text().splitlines()
        sessions = [line["data"]["session_id"] for line in map(json.loads, written) if line.get("subtype") == "init"]
        for prompt, _ in said:
            self.hear((prompt,), sessions[-1])

    async def _start(self, arguments: list[str]) -> asyncio.subprocess.Process:
        self.starts.append(len(self.lines))
        return await asyncio.create_subprocess_exec(
            *arguments,
            cwd=self.work,
            env=self.variables(),
            stdin=asyncio.subprocess.PIPE if "--input-format" in arguments else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2**26,
        )


def end(child: asyncio.subprocess.Process) -> None:
    if child.returncode is None:
        child.kill()


@dataclass
class Talk:
    child: asyncio.subprocess.Process
    world: World
    lines: list[Json] = field(default_factory=list)

    async def read(self) -> None:
        assert self.child.stdout is not None
        async for raw in self.child.stdout:
            line = json.loads(raw)
            self.lines.append(line)
            self.world.lines.append(line)

    async def say(self, *words: str, blocks: bool = False, joins: bool = False) -> None:
        """Several words, or `blocks`, make an array of text blocks."""
        self.world.hear(words, self.world.session, joins=joins)
        array = [{"type": "text", "text": one} for one in words]
        content = array if blocks or len(words) > 1 else words[0]
        await self.send({"type": "user", "message": {"role": "user", "content": content}})

    async def interrupt(self) -> None:
        request = {"subtype": "interrupt"}
        await self.send({"type": "control_request", "request_id": str(uuid4()), "request": request})

    async def send(self, line: Json) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps(line).encode() + b"\n")
        await self.child.stdin.drain()

    async def results(self, count: int, seconds: float = SECONDS) -> None:
        await until(lambda: sum(line["type"] == "result" for line in self.lines) >= count, seconds)
