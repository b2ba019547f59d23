"""A server of our own, for the life of one command."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ramify.cli.client import Server
from ramify.cli.safe_text import one_line
from ramify.model.mistake import UserMistake

START, STOP = 20.0, 10.0


class Background:
    """In a session of its own, so that Ctrl-C at the terminal ends the program and not the record of it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment

    def __enter__(self) -> "Background":
        self.log = tempfile.TemporaryFile()
        self.child = subprocess.Popen(
            [sys.executable, "-m", "ramify", "serve"],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )
        return self

    def wait(self, server: Server) -> dict[str, Any]:
        """Its first sign of life; or its last words, when it ends before."""
        until = time.monotonic() + START
        while time.monotonic() < until:
            health = server.health()
            if health is not None:
                return health
            if self.child.poll() is not None:
                break
            time.sleep(0.05)
        raise UserMistake(
            f"no server could be started at {server.address}: {self.last_words()}",
            "is the port taken? choose another with --port",
        )

    def last_words(self) -> str:
        self.log.seek(0)
        lines = self.log.read().decode("utf-8", "replace").strip().splitlines()
        return one_line(lines[-1]).removeprefix("ramify: ") if lines else "it said nothing"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.child.terminate()
        try:
            self.child.wait(STOP)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.log.close()
