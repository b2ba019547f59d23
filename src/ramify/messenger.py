"""Hands a JSON document to an address or to a command that a person has named. Bounded in time; nobody else is asked."""

import os
import shlex
import signal
import subprocess
import urllib.error
import urllib.request
from contextlib import suppress
from typing import Any, Protocol

from ramify.storage.sealing import without_keys

SECONDS = 10.0
COMMAND_SECONDS = 30.0
LONGEST = 200


class NotDelivered(Exception):
    """In one line, why."""


class Messenger(Protocol):
    def deliver(self, document: bytes) -> None:
        """Raises NotDelivered."""


def messenger(target: str) -> Messenger:
    return Address(target) if target.startswith(("http://", "https://")) else Command(target)


class Stay(urllib.request.HTTPRedirectHandler):
    """An answer that leads elsewhere leads to somebody whom nobody named."""

    def redirect_request(self, *given: Any) -> None:
        return None


class Address:
    def __init__(self, url: str, seconds: float = SECONDS) -> None:
        self._url = url
        self._seconds = seconds
        self._opener = urllib.request.build_opener(Stay)

    def deliver(self, document: bytes) -> None:
        request = urllib.request.Request(self._url, document, {"content-type": "application/json"}, method="POST")
        try:
            with self._opener.open(request, timeout=self._seconds) as answer:
                answer.read(1)
        except urllib.error.HTTPError as problem:
            problem.close()
            raise NotDelivered(f"the address answered with status {problem.code}") from None
        except (OSError, ValueError) as problem:
            raise NotDelivered(f"the address cannot be reached: {problem}"[:LONGEST]) from None


class Command:
    """Without a shell; the document is its standard input."""

    def __init__(self, words: str, seconds: float = COMMAND_SECONDS) -> None:
        self._words = shlex.split(words)
        self._seconds = seconds

    def deliver(self, document: bytes) -> None:
        try:
            child = subprocess.Popen(
                self._words, env=without_keys(os.environ), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        except OSError as problem:
            raise NotDelivered(f"the command {self._words[0]!r} cannot be run: {problem.strerror}") from None
        try:
            _, said = child.communicate(document, self._seconds)
        except subprocess.TimeoutExpired:
            self._end(child)
            raise NotDelivered(f"the command {self._words[0]!r} took longer than {self._seconds:.0f} s and was ended") from None
        if child.returncode:
            last = said.decode("utf-8", "replace").strip().splitlines()[-1:] or [""]
            raise NotDelivered(f"the command {self._words[0]!r} ended with status {child.returncode}: {last[0]}"[:LONGEST])

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        """With everything that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL) if os.name == "posix" else child.kill()
        child.wait()
        for pipe in (child.stdin, child.stderr):
            if pipe is not None:
                pipe.close()
