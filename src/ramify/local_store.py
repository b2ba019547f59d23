"""Records of this program into the local store, by a process of its own: linking and storing never hold up the program.

Where no process can be started (the interpreter is about to end, or has no executable), they are stored from here.
"""

import logging
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

import msgspec
from msgspec.structs import replace

from ramify.capture.cleaner import Cleaner
from ramify.capture.outbox import Away
from ramify.ingest import Ingest
from ramify.model.observation import Record
from ramify.settings import Settings
from ramify.storage.base import StoreDown
from ramify.wiring import bring_up, open_store, prices_of, rules_of
from ramify.writer import frame

log = logging.getLogger("ramify")
_encode = msgspec.msgpack.Encoder().encode


class LocalStore:
    """A writer is started when something comes, and told to end when somebody waits for it or nothing comes any more."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._writer: Writer | None = None
        self._here: StoredHere | None = None
        self._left: list[Writer] = []  # not ended when we last looked

    def send(self, batch: Sequence[Record]) -> None:
        if self._here is None:
            try:
                self._write(batch)
                return
            except BrokenPipeError:
                self.settle(1.0)  # it has ended, and has said why
                raise Away("the process that writes to the store has ended") from None
            except (RuntimeError, OSError) as problem:
                log.info("no process to write to the store can be started: %s", problem)
                self._here = StoredHere(self._settings)
        self._here.send(batch)

    def settle(self, seconds: float) -> bool:
        if self._writer is None:
            return True
        writer, self._writer = self._writer, None
        self._left = [one for one in (*self._left, writer) if not one.end(seconds)]
        return not self._left and not writer.failed

    def _write(self, batch: Sequence[Record]) -> None:
        if self._writer is None:
            self._writer = Writer(self._settings)
        self._writer.write(batch)


class StoredHere:
    """Stored by this very process, one batch after the other."""

    def __init__(self, settings: Settings) -> None:
        self._store = open_store(settings.store)
        rules, prices = rules_of(settings), prices_of(settings)
        bring_up(self._store, rules, prices, wait=False)
        self._ingest = Ingest(self._store, rules, prices, redaction=Cleaner())

    def send(self, batch: Sequence[Record]) -> None:
        try:
            self._ingest.take(batch)
        except StoreDown as problem:
            raise Away(f"the store {self._store.url} does not take them: {problem}") from problem

    def settle(self, seconds: float) -> bool:
        return True


class Writer:
    """One process, from its first record to its last. It outlives us if it must."""

    def __init__(self, settings: Settings) -> None:
        self.failed = False
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._child = subprocess.Popen(
            [sys.executable or "python3", "-m", "ramify.writing"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._errors, start_new_session=True,
        )
        own = replace(settings, watch=())  # transcripts are the server's to follow
        start = {"settings": msgspec.to_builtins(own), "run": secrets.token_hex(6)}
        self._say(frame(msgspec.json.encode(start)))

    def write(self, batch: Sequence[Record]) -> None:
        self._say(b"".join(frame(_encode(seen)) for seen in batch))

    def end(self, seconds: float) -> bool:
        """Whether it has ended; what went wrong is said."""
        if self._child.stdin is not None:
            with suppress(BrokenPipeError):
                self._child.stdin.close()
        try:
            status = self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        if status:
            self.failed = True
            self._errors.seek(0)
            words = self._errors.read()[-2000:].decode("utf-8", "replace")
            log.warning("records may be lost: their writer ended with %d: %s", status, words)
        self._errors.close()
        return True

    def _say(self, raw: bytes) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(raw)
        self._child.stdin.flush()
