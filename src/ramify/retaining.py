"""Forgetting in a process of its own, so that a server's clients do not wait for it: asked for by name, or as time goes by."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from ramify.model.mistake import UserMistake
from ramify.settings import Settings
from ramify.storage.base import StoreDown

log = logging.getLogger("ramify")
LOOK_SECONDS = 3600.0
Shape = dict[str, Any]


class Order(msgspec.Struct, frozen=True):
    """What the process is told. Settings go by its input: an address may hold a password."""

    settings: Settings
    ids: tuple[str, ...] = ()
    older_than: int = 0
    by: str = "retention"


def carry_out(order: Order) -> Shape:
    """In a process of its own; its answer."""
    child = subprocess.run(
        [sys.executable, "-m", "ramify.retaining"], input=msgspec.json.encode(order), capture_output=True, check=False
    )
    if child.returncode:
        words = child.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UserMistake(f"it was not forgotten: {words[-1] if words else child.returncode}", "see ramify doctor, then try again")
    answer: Shape = msgspec.json.decode(child.stdout)
    return answer


def main() -> int:
    from ramify.app import Ramify
    from ramify.retention import Kept
    from ramify.wiring import open_store

    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    os.nice(10)
    ramify = Ramify(open_store(order.settings.store, busy_seconds=60.0), order.settings)
    try:
        if order.ids:
            answer = ramify.forget(list(order.ids), False, quiet, order.by)
        else:
            answer = ramify.prune(Kept(order.older_than), False, quiet, order.by)
    finally:
        ramify.close()
    sys.stdout.buffer.write(msgspec.json.encode(answer))
    return 0


def quiet(done: int, total: int) -> None:
    pass


class Retaining:
    """Looks once an hour, and at the start; `prune` forgets what is too old."""

    def __init__(self, prune: Callable[[], Shape], seconds: float = LOOK_SECONDS) -> None:
        self._prune = prune
        self._seconds = seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ramify-retention", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """A process that forgets goes on to its end: it would only have to begin again."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                answer = self._prune()
                if answer["observations"]:
                    log.info("forgot what was too old conversations=%d observations=%d", len(answer["forgotten"]), answer["observations"])
            except (UserMistake, StoreDown) as problem:
                log.warning("could not forget what is too old problem=%r; it is tried again in an hour", str(problem))
            except Exception:  # a bug must not end it for good
                log.exception("forgetting what is too old failed; it is tried again in an hour")
            self._stopping.wait(self._seconds)


if __name__ == "__main__":
    raise SystemExit(main())
