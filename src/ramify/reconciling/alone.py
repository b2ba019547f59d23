"""One run at a time, over all who share a store; and again every few minutes while a server runs."""

import asyncio
import logging
import random
import secrets
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from ramify.ingest import Ingest
from ramify.model.mistake import UserMistake
from ramify.reconciling.report import Report
from ramify.reconciling.run import GRACE_SECONDS, Reconciler
from ramify.storage.base import StoreDown

log = logging.getLogger("ramify")
LEASE = "lease:reconcile"
LEASE_SECONDS = 600
EVERY_SECONDS = 300.0
JITTER = 0.1
MOST_TOLD = 1000
LONGEST_PAUSE = 3600 * 1_000_000
Clock = Callable[[], int]


async def alone(ingest: Ingest, reconciler: Reconciler, clock: Clock, **how: Any) -> dict[str, Any]:
    """Raises UserMistake while another run is under way."""
    owner = secrets.token_hex(8)
    now = clock()
    if not await asyncio.to_thread(ingest.claim, LEASE, owner, now, now + LEASE_SECONDS * 1_000_000):
        raise UserMistake("another reconciliation is under way", "wait for it; it asks about the same tasks")
    try:
        report = await reconciler.run(**how)
    finally:
        await asyncio.to_thread(ingest.claim, LEASE, owner, clock(), 0)
    found: dict[str, Any] = msgspec.to_builtins(report)
    return found


class Periodic:
    """A thread of its own: neither clients nor questions wait for agents that are slow to answer."""

    def __init__(self, ingest: Ingest, reconciler: Reconciler, clock: Clock, every_seconds: float = EVERY_SECONDS) -> None:
        self._ingest = ingest
        self._reconciler = reconciler
        self._clock = clock
        self._every = every_seconds
        self._failures: dict[str, int] = {}
        self._until: dict[str, int] = {}
        self._unnamed: set[str] = set()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ramify-reconciling", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._ending.set()

    def _run(self) -> None:
        while not self._ending.wait(self._every * random.uniform(1 - JITTER, 1 + JITTER)):
            try:
                self.turn()
            except (StoreDown, UserMistake) as problem:
                log.info("no reconciliation this time: %s", problem)
            except Exception:  # the next time may go well
                log.exception("the reconciliation failed")

    def turn(self) -> None:
        if not self._reconciler.anything_open():
            return
        now = self._clock()
        skip = frozenset(agent for agent, until in self._until.items() if until > now)
        found = asyncio.run(alone(self._ingest, self._reconciler, self._clock, grace_seconds=GRACE_SECONDS, skip=skip))
        report = msgspec.convert(found, Report)
        self._back_off(report, now)
        self._say_once(report)

    def _back_off(self, report: Report, now: int) -> None:
        """An agent that does not answer is asked ever more seldom."""
        failed = {error["agentId"] for error in report.errors}
        for agent in failed:
            count = self._failures[agent] = self._failures.get(agent, 0) + 1
            self._until[agent] = now + min(LONGEST_PAUSE, int(self._every * 1_000_000 * 2**count))
        for agent in set(self._failures) - failed:
            if self._until.get(agent, 0) <= now:
                del self._failures[agent]
        if report.corrected or report.errors:
            log.info("reconciled checked=%d corrected=%d errors=%d", report.checked, report.corrected, len(report.errors))

    def _say_once(self, report: Report) -> None:
        """Nothing was asked of those that nobody named, and nothing changes until somebody does."""
        fresh = [one for one in report.unnamed if one["agentId"] not in self._unnamed]
        if fresh and len(self._unnamed) < MOST_TOLD:
            self._unnamed |= {one["agentId"] for one in fresh}
            log.warning("open tasks of agents=%d cannot be asked about, such as agent=%r: %s; %s",
                        len(fresh), fresh[0]["agentId"], fresh[0]["reason"], fresh[0]["hint"])  # fmt: skip
