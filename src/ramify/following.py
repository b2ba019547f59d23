"""Transcripts that are followed as they grow, in a thread beside whatever else writes to the store.

What is in the files is safe there: while the store is away nothing is queued, and the reading goes on where it was.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from os import stat_result
from pathlib import Path

from ramify.capture.follower import Follower
from ramify.capture.formats import Source
from ramify.capture.transcript import FORMAT
from ramify.forgetting import forgotten
from ramify.intake import Batch, Intake, Take
from ramify.model.observation import Observation, Record
from ramify.scopes import told_conversation
from ramify.storage.base import Store, StoreDown

log = logging.getLogger("ramify")
POLL_SECONDS = 0.5
RETRY_SECONDS = 2.0
Tell = Callable[[Batch, int], None]


def say_problems(batch: Batch) -> None:
    for found in batch.problems:
        log.warning("could not read place=%s problem=%r", found.place, found.problem)


class Following:
    """`run` ends when `stopping` is set; `start` and `close` do it in a thread. `busy`: others wait for the store."""

    def __init__(self, store: Store, project: str, roots: Sequence[Path], take: Take) -> None:
        self.tell: Tell = lambda batch, fresh: say_problems(batch)
        self.busy: Callable[[], bool] = lambda: False
        self.follower = Follower(roots, time.monotonic)
        self.caught_up = threading.Event()
        self._intake = Intake(store, project, self._take, settled=False)
        self._store, self._pass_on = store, take
        self.stopping = threading.Event()
        self._problem = ""
        self._thread = threading.Thread(target=self.run, name="ramify-follow", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self.stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                self._look()
                self._problem = ""
            except StoreDown as problem:
                self._away(str(problem))
            except Exception:  # a bug must not end the following
                log.exception("following the transcripts failed; it is tried again")
                self.stopping.wait(RETRY_SECONDS)
            self.stopping.wait(POLL_SECONDS)

    def _look(self) -> None:
        changed = {path: status for path, status in self.follower.changed().items() if self._is_new(path, status)}
        sources = [Source(Path(path), FORMAT, status.st_size) for path, status in changed.items()]
        began = time.monotonic()
        for batch, fresh in self._intake.store(sources):
            self.tell(batch, fresh)
            if self.stopping.is_set():
                return
            if self.busy():
                self.stopping.wait(time.monotonic() - began)
            began = time.monotonic()
        for path, status in changed.items():
            self.follower.taken(path, status)
        self.caught_up.set()

    def _take(self, batch: list[Observation]) -> int:
        """What was forgotten stays away, though its file is still there."""
        gone = forgotten(self._store)
        kept = [seen for seen in batch if not (gone and isinstance(seen, Record) and told_conversation(seen) in gone)]
        return self._pass_on(kept) if kept else 0

    def _is_new(self, path: str, status: stat_result) -> bool:
        mark = self._intake.marks.get(Path(path))
        if mark is None or not mark.fits(status):
            return True
        self.follower.taken(path, status)
        return False

    def _away(self, problem: str) -> None:
        if problem != self._problem:
            log.warning("store is away problem=%r; the transcripts are read when it is back", problem)
        self._problem = problem
        self.stopping.wait(RETRY_SECONDS)
