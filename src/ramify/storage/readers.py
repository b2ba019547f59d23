"""A connection for each thread that asks."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar

from ramify.storage.base import StoreDown

PATIENCE = 2.0  # seconds for a question that was told to stop


class Closable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


class Reader(Generic[C]):
    """A connection while somebody asks by it. It is closed while nobody does: a driver that is in the middle of something may take
    the whole process down."""

    __slots__ = ("_busy", "_closed", "_connection")

    def __init__(self, connection: C) -> None:
        self._connection = connection
        self._busy = threading.Lock()
        self._closed = False

    def __enter__(self) -> C:
        self._busy.acquire()
        if self._closed:
            self._busy.release()
            raise StoreDown("the store is closed")
        return self._connection

    def __exit__(self, *_: Any) -> None:
        self._busy.release()

    def stop(self, stop: Callable[[C], None]) -> None:
        if self._busy.locked():
            with suppress(Exception):
                stop(self._connection)

    def close(self) -> None:
        """One whose answer does not end is left to its thread."""
        if self._busy.acquire(timeout=PATIENCE):
            self._closed = True
            try:
                self._connection.close()
            finally:
                self._busy.release()


class Readers(Generic[C]):
    """By the thread itself: the number of one that ended is soon another's, whose first question must not find a connection that is
    just being closed. `stop` makes an answer end that is under way."""

    def __init__(self, connect: Callable[[], C], stop: Callable[[C], None]) -> None:
        self._connect, self._stop = connect, stop
        self._kept: dict[threading.Thread, Reader[C]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def has_mine(self) -> bool:
        return threading.current_thread() in self._kept

    def mine(self) -> Reader[C]:
        return self._kept.get(threading.current_thread()) or self._new()

    def _new(self) -> Reader[C]:
        made = Reader(self._connect())
        with self._lock:
            closed = self._closed
            ended = [] if closed else [self._kept.pop(thread) for thread in list(self._kept) if not thread.is_alive()]
            if not closed:
                self._kept[threading.current_thread()] = made
        for one in [made] if closed else ended:
            one.close()
        return made

    def drop(self) -> None:
        """After an error it may be in the middle of something; this thread's next question gets a fresh one."""
        with self._lock:
            reader = self._kept.pop(threading.current_thread(), None)
        if reader:
            reader.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            every = list(self._kept.values())
            self._kept.clear()
        for reader in every:
            reader.stop(self._stop)
        for reader in every:
            reader.close()
