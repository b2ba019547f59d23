"""An older store is derived again in a process of its own while its server already captures and answers."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import msgspec

from ramify.log_lines import begin_log
from ramify.settings import Settings
from ramify.storage.base import Store, StoreDown
from ramify.upgrading import is_outdated
from ramify.wiring import bring_up, open_store, prices_of, rules_of

log = logging.getLogger("ramify")
RETRY_SECONDS = 5.0
BUSY_SECONDS = 60.0


class Renewal:
    """`renewed` is called when the new rows are in place."""

    def __init__(self, store: Store, settings: Settings, renewed: Callable[[], None]) -> None:
        self.done, self.total = 0, store.seq()
        self.over = False
        self._store = store
        self._order = msgspec.json.encode(settings)  # by its input: an address may hold a password
        self._renewed = renewed
        self._stopping = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="ramify-renewal", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """The next start goes on where it was."""
        self._stopping.set()
        child = self._child
        if child is not None:
            with suppress(ProcessLookupError):
                child.terminate()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    @property
    def share(self) -> float:
        return min(1.0, self.done / max(1, self.total))

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                status = self._one_process()
                if not status and not is_outdated(self._store):
                    break
                log.warning("deriving an older store again was cut status=%s; it goes on", status)
            except (StoreDown, OSError) as problem:
                log.warning("deriving an older store again was cut problem=%r; it goes on", str(problem))
            self._stopping.wait(RETRY_SECONDS)
        if not self._stopping.is_set():
            self.over = True
            log.info("all rows are those of this version observations=%d", self.total)
            self._renewed()

    def _one_process(self) -> int:
        with subprocess.Popen([sys.executable, "-m", "ramify.renewal"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            self._child = child
            assert child.stdin is not None
            assert child.stdout is not None
            with suppress(BrokenPipeError):
                child.stdin.write(self._order)
                child.stdin.close()
            for line in child.stdout:
                self.done, self.total = map(int, line.split())
            return child.wait()


def main() -> int:
    settings = msgspec.json.decode(sys.stdin.buffer.read(), type=Settings)
    begin_log(settings)
    os.nice(10)
    store = open_store(settings.store, busy_seconds=BUSY_SECONDS)
    try:
        bring_up(store, rules_of(settings), prices_of(settings), tell)
    except StoreDown as problem:
        log.warning("cannot derive again now problem=%r", str(problem))
        return 1
    finally:
        store.close()
    return 0


def tell(done: int, total: int) -> None:
    """A server that is gone is no reason to stop: who comes next finds it done."""
    with suppress(BrokenPipeError):
        print(done, total, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
