"""A store that is opened when somebody first wants something of it, and tried again until it is there."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from ramify.model.mistake import UserMistake
from ramify.storage.address import shown
from ramify.storage.base import Store, StoreDown

PAUSE, LONGEST_PAUSE = 1.0, 5.0  # seconds before it is tried again
OPENING_SECONDS = 30.0  # that others wait for the first try


class Later:
    """Until it is open, whoever asks is told that it is away; what is wrong may be put right meanwhile, so nothing is a mistake here.
    `problem` begins as the one that is known already."""

    def __init__(self, url: str, open: Callable[[], Store], problem: str = "") -> None:
        self.url = shown(url)
        self.path = str(Path(url.removeprefix("sqlite:")).expanduser()) if url.startswith("sqlite:") else ""
        self.problem = problem
        self._open = open
        self._store: Store | None = None
        self._opening = threading.Lock()
        self._pause = PAUSE
        self._again_at = 0.0
        self._closed = False

    def __getattr__(self, name: str) -> Any:
        """Whatever else a store has."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.opened(), name)

    def opened(self) -> Store:
        """One opens it. The others wait for the first try, and for none that follows."""
        if self._store is not None:
            return self._store
        if not self._opening.acquire(timeout=0 if self.problem else OPENING_SECONDS):
            raise StoreDown(self.problem or "it is being opened")
        try:
            return self._store or self._try()
        finally:
            self._opening.release()

    def _try(self) -> Store:
        if self._closed:
            raise StoreDown("the store is closed")
        if time.monotonic() < self._again_at:
            raise StoreDown(self.problem)
        try:
            self._store = self._open()
        except (UserMistake, StoreDown) as problem:
            self.problem = problem.message if isinstance(problem, UserMistake) else str(problem)
            self._again_at = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            raise StoreDown(self.problem) from problem
        self.problem = ""
        return self._store

    def close(self) -> None:
        self._closed = True
        if self._store is not None:
            self._store.close()


def later(url: str, open: Callable[[], Store], problem: str = "") -> Store:
    return cast(Store, Later(url, open, problem))
