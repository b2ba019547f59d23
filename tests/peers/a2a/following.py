"""`ramify follow` as a person runs it, against real agents: what it printed, the tree it left, how it ended."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.test_main import environment

Tree = dict[str, Any]
SECONDS = 40.0


@dataclass
class Following:
    process: asyncio.subprocess.Process
    lines: list[str] = field(default_factory=list)
    status: int | None = None
    tree: Tree = field(default_factory=dict)

    async def until(self, words: str) -> str:
        """The line that says so, as soon as it is there."""
        async with asyncio.timeout(SECONDS):
            while not (found := [line for line in self.lines if words in line]):
                assert self.process.returncode is None, self.lines
                await asyncio.sleep(0.05)
        return found[0]

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    async def over(self) -> "Following":
        async with asyncio.timeout(SECONDS):
            assert self.process.stdout is not None
            output = await self.process.stdout.read()
            self.status = await self.process.wait()
        self.tree = json.loads(output) if output else {}
        return self


@asynccontextmanager
async def following(home: Path, *words: str) -> AsyncIterator[Following]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ramify", "follow", *words, "--json"),
        env=environment(home),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**26,
    )
    followed = Following(process)
    assert process.stderr is not None
    errors = process.stderr

    async def read() -> None:
        while line := await errors.readline():
            followed.lines.append(line.decode().rstrip("\n"))

    reading = asyncio.ensure_future(read())
    try:
        yield followed
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await reading


async def follow(home: Path, *words: str) -> Following:
    async with following(home, *words) as followed:
        return await followed.over()


def each(tree: Tree) -> Iterator[Tree]:
    yield tree
    for child in tree["children"]:
        yield from each(child)


def outline(tree: Tree) -> Any:
    """Status and agent of each task, nested as they are."""
    return (tree["status"], tree["agent"], [outline(child) for child in tree["children"]])


def native(tree: Tree) -> str:
    return next(ref["value"] for ref in tree["refs"] if (ref["protocol"], ref["kind"]) == ("a2a", "task"))
