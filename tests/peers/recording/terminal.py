"""The client as a person sees it: in a terminal, with keys that are typed."""

import asyncio
import fcntl
import json
import os
import pty
import struct
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tests.peers.recording.world import World, end

ENTER, ESCAPE = "\r", "\x1b"


@dataclass
class Keys:
    """`screen` is what was written so far, escapes and all."""

    handle: int
    world: World
    screen: bytearray = field(default_factory=bytearray)

    def read(self) -> None:
        with suppress(OSError):
            self.screen += os.read(self.handle, 65536)

    async def say(self, words: str, *, joins: bool = False) -> None:
        self.world.hear((words,), self.world.session, joins=joins)
        await self.type(words)

    async def type(self, words: str) -> None:
        """Letters, then the key that sends them: together they would count as pasted."""
        os.write(self.handle, words.encode())
        await asyncio.sleep(0.4)
        os.write(self.handle, ENTER.encode())

    async def press(self, key: str) -> None:
        os.write(self.handle, key.encode())
        await asyncio.sleep(0.1)


def welcome(world: World) -> None:
    """What a person has answered on the first start."""
    project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    answers = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["sk-ant-dummy"[-20:]], "rejected": []},
        "projects": {str(world.work): project, os.path.realpath(world.work): project},
    }
    (world.folder / "config" / ".claude.json").write_text(json.dumps(answers))


@asynccontextmanager
async def terminal(world: World, *more: str) -> AsyncIterator[Keys]:
    welcome(world)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    child = await asyncio.create_subprocess_exec(
        *world.client,
        *("--session-id", world.session, "--allowedTools", "Bash Agent Task Read"),
        *("--permission-mode", "acceptEdits"),  # the default asks the vendor's server about every tool
        *world.options,
        *more,
        cwd=world.work,
        env=world.variables(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    keys = Keys(ours, world)
    loop = asyncio.get_running_loop()
    loop.add_reader(ours, keys.read)
    try:
        yield keys
        await keys.type("/exit")
        await asyncio.wait_for(child.wait(), 20)
    finally:
        loop.remove_reader(ours)
        end(child)
        os.close(ours)
        (world.folder / "screen.txt").write_bytes(keys.screen)
