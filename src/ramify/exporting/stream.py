"""Everything that ends, as spans to an OTLP endpoint while it happens. Capture never waits for it: what is too much is dropped and counted.

A span is sent once, when what it tells of has ended and was quiet for a moment: links that are found in the meantime are in it.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ramify.exporting.otlp import batches
from ramify.exporting.sending import Away, Endpoint, Refused
from ramify.exporting.span import Span
from ramify.exporting.spans import Tracing, ended
from ramify.exporting.words import Said
from ramify.model.entity import Call, Entity, Task, ToolCall
from ramify.model.standing import task_closed
from ramify.storage.base import Ask, Store, StoreDown

log = logging.getLogger("ramify")
SETTLE = 2.0  # seconds
LOOK = 0.25
LONGEST_PAUSE = 30.0
MOST_WAITING = 100_000
MOST_KNOWN = 200_000
CAUGHT_UP = 2000
LAST_SECONDS = 5.0
Place = tuple[str, str]


class SpanStream:
    """`now` is the store's clock, in microseconds; what ended before the stream began is not sent."""

    def __init__(self, store: Store, endpoint: Endpoint, content: bool, now: Callable[[], int], settle: float = SETTLE) -> None:
        self._store = store
        self._endpoint = endpoint
        self._content = content
        self._since = max(now(), 1)
        self._settle = settle
        self._lock = threading.Lock()
        self._waiting: dict[Place, float] = {}  # by when each may be sent, the earliest first
        self._ready: list[list[Span]] = []
        self._known: dict[bytes, None] = {}
        self._unknown = False  # others have written, and nobody said what
        self._pause = 0.0
        self._again = 0.0
        self._problem = ""
        self._sent = self._dropped = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ramify-otlp", daemon=True)

    # -- any thread --------------------------------------------------------------------------------------------------------

    def heard(self, rows: Mapping[Place, Entity | None] | None) -> None:
        """None: something changed, and it is not known what."""
        due = time.monotonic() + self._settle
        with self._lock:
            self._unknown = self._unknown or rows is None
            for place, row in (rows or {}).items():
                self._waiting.pop(place, None)  # it goes to the end
                if row is not None and end_of(row) >= self._since:
                    self._waiting[place] = due
            while len(self._waiting) > MOST_WAITING:
                del self._waiting[next(iter(self._waiting))]
                self._dropped += 1

    def state(self) -> dict[str, Any]:
        with self._lock:
            waiting = len(self._waiting) + sum(map(len, self._ready))
        return {"to": self._endpoint.url, "sent": self._sent, "dropped": self._dropped, "waiting": waiting, "problem": self._problem or None}

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """What waits is tried once more, without delay."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(LAST_SECONDS)

    # -- its own -----------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            last = self._stopping.wait(LOOK)
            try:
                self._turn(time.monotonic() + self._settle if last else time.monotonic(), last)
            except StoreDown as problem:
                self._problem = f"the store cannot be read: {problem}"
            except Exception:  # a bug must not end it for good, and must not touch capture
                log.exception("sending spans failed")
            if last:
                return

    def _turn(self, now: float, last: bool) -> None:
        if self._unknown:
            self._catch_up()
        if not self._ready:  # while the endpoint is away, what has ended waits as it is: rows are smaller than spans
            places = self._take(now)
            try:
                self._ready = list(batches(self._fresh(places)))
            except StoreDown:
                self._put_back(places, now)
                raise
        while self._ready and (last or time.monotonic() >= self._again) and self._send(self._ready[0]):
            pass

    def _take(self, now: float) -> list[Place]:
        with self._lock:
            found = [place for place, due in self._waiting.items() if due <= now]
            for place in found:
                del self._waiting[place]
        return found

    def _put_back(self, places: Iterable[Place], due: float) -> None:
        with self._lock:
            self._waiting = dict.fromkeys(places, due) | self._waiting

    def _fresh(self, places: Iterable[Place]) -> Iterator[Span]:
        rows = [row for table, id in places if isinstance(row := self._store.load(table, id), Task | Call | ToolCall) and end_of(row)]
        tracing = Tracing(self._store, Said(self._store) if self._content else None)
        return (span for span in tracing.some(rows) if span.id not in self._known)

    def _send(self, batch: list[Span]) -> bool:
        """Whether more may be sent now."""
        try:
            rejected, words = self._endpoint.send(batch)
        except Away as problem:
            self._complain(str(problem))
            self._pause = min(max(2 * self._pause, 1.0, problem.pause), LONGEST_PAUSE)
            self._again = time.monotonic() + self._pause
            return False
        except Refused as problem:
            self._complain(str(problem))
            rejected, words = len(batch), str(problem)
        self._problem, self._pause = words, 0.0
        self._sent, self._dropped = self._sent + len(batch) - rejected, self._dropped + rejected
        self._remember(batch)
        self._ready.pop(0)
        return True

    def _remember(self, batch: list[Span]) -> None:
        self._known.update(dict.fromkeys(span.id for span in batch))
        while len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]

    def _complain(self, problem: str) -> None:
        """Once for each problem: an endpoint may be away for days."""
        if problem != self._problem:
            log.warning("spans cannot be sent: %s", problem)
        self._problem = problem

    def _catch_up(self) -> None:
        """What others wrote into the same file is found among the newest."""
        self._unknown = False
        calls = [row for row in self._store.page("calls", Ask("started", limit=CAUGHT_UP)) if isinstance(row, Call)]
        tasks = self._store.page("tasks", Ask("opened", limit=CAUGHT_UP))
        tools = self._store.among("tools", "call", [call.id for call in calls]) + self._store.among("tools", "task", [task.id for task in tasks])
        every: dict[str, Sequence[Entity]] = {"calls": calls, "tasks": tasks, "tools": tools}
        self.heard({(table, row.id): row for table, rows in every.items() for row in rows})


def end_of(row: Entity) -> int:
    """When it ended, in microseconds; 0: it has not, or is nothing that becomes a span."""
    match row:
        case Task():
            return task_closed(row)
        case Call():
            return 0 if row.relation == "seen" and row.twin else row.ended
        case ToolCall():
            return ended(row)[0]
        case _:
            return 0
