"""Tells somebody of findings, each once: by a request to an address or by a command, whichever a person has named.

What is to be told stands in the store before it is told, so a restart neither loses nor repeats it; one that was under way
when the server died is told again.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ramify.messenger import Messenger, NotDelivered
from ramify.model.moment import micros
from ramify.query.lints.looking import Lints
from ramify.storage.base import Store, StoreDown

log = logging.getLogger("ramify")
SECOND = 1_000_000
LOOK_SECONDS = 5.0
IDLE = 10  # times as long as looking took: it never takes more than a tenth of a processor
LEASE = 120 * SECOND
MARGIN = 600 * SECOND  # clocks differ, and a stall is older than the moment at which it is one
KEPT = 30 * 24 * 3600 * SECOND
WAITS = (5, 60, 600)  # seconds before it is tried again; then no more
AT_ONCE = 20
FACT = "found:"
FROM, LOOKED, NAME = "findings:from", "findings:looked", "lease:findings"
Shape = dict[str, Any]
Claim = Callable[[str, str, int, int], bool]


class Entry(Struct, frozen=True):
    """What became of one finding; `body` is there until it was told."""

    at: int
    state: str = "waiting"  # told, failed
    tries: int = 0
    next: int = 0
    body: Shape | None = None


class Notifying:
    """`claim` takes a lease among all servers of the store: one of them tells."""

    def __init__(self, store: Store, lints: Lints, claim: Claim, owner: str, messenger: Messenger, clock: Callable[[], int]) -> None:
        self._store, self._lints, self._claim, self._owner = store, lints, claim, owner
        self._messenger, self._clock = messenger, clock
        self._entries: dict[str, Entry] | None = None
        self._until = 0
        self._from = 0
        self._problem = ""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ramify-findings", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(1.0)

    def state(self) -> Shape:
        states = [entry.state for entry in (self._entries or {}).values()]
        counts = {state: states.count(state) for state in ("told", "failed", "waiting")}
        return {**counts, "problem": self._problem or None}

    def _run(self) -> None:
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self.look()
            except StoreDown as problem:
                if not self._stopping.is_set():
                    log.warning("could not look for findings problem=%r", str(problem))
            except Exception:  # a bug must not end it for good
                log.exception("looking for findings failed")
            self._stopping.wait(max(LOOK_SECONDS, IDLE * (time.monotonic() - began)))

    def look(self) -> None:
        """Once. What is new is written down first, then told."""
        now = self._clock()
        if not self._is_mine(now):
            return
        assert self._entries is not None
        found = self._lints.since(max(self._from, int(self._store.fact(LOOKED) or 0)) - MARGIN)
        fresh = {
            one["id"]: Entry(now, body=one)
            for one in found if one["id"] not in self._entries and (not one["since"] or micros(one["since"]) >= self._from - MARGIN)
        }  # fmt: skip
        self._put(fresh)
        due = [id for id, entry in self._entries.items() if entry.state == "waiting" and entry.next <= now]
        for id in due[:AT_ONCE]:
            if self._stopping.is_set():
                return
            self._put({id: self._told(self._entries[id])})

    def _is_mine(self, now: int) -> bool:
        """The lease is renewed at half of its time; who did not have it reads what the other one wrote."""
        if now < self._until - LEASE // 2 and self._entries is not None:
            return True
        if not self._claim(NAME, self._owner, now, now + LEASE):
            self._entries, self._until = None, 0
            return False
        if self._entries is None:
            self._entries = self._read(now)
            self._from = int(self._store.fact(FROM) or 0) or now
        self._store.set_facts({FROM: self._from, LOOKED: now})
        self._until = now + LEASE
        return True

    def _read(self, now: int) -> dict[str, Entry]:
        stored = self._store.facts(FACT).items()
        found = {name.removeprefix(FACT): msgspec.json.decode(value, type=Entry) for name, value in stored if isinstance(value, bytes | str)}
        old = [id for id, entry in found.items() if entry.at < now - KEPT]
        if old:
            self._store.drop_facts([FACT + id for id in old])
        return {id: entry for id, entry in found.items() if id not in old}

    def _put(self, entries: dict[str, Entry]) -> None:
        if entries and self._entries is not None:
            self._store.set_facts({FACT + id: msgspec.json.encode(entry) for id, entry in entries.items()})
            self._entries |= entries

    def _told(self, entry: Entry) -> Entry:
        try:
            self._messenger.deliver(msgspec.json.encode(entry.body))
        except NotDelivered as problem:
            self._problem = str(problem)
            log.warning("could not tell of a finding problem=%r tries=%d", self._problem, entry.tries + 1)
            if entry.tries >= len(WAITS):
                return replace(entry, state="failed", tries=entry.tries + 1, body=None)
            return replace(entry, tries=entry.tries + 1, next=self._clock() + WAITS[entry.tries] * SECOND)
        self._problem = ""
        return replace(entry, state="told", tries=entry.tries + 1, body=None)
