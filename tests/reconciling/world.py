"""A log, agents that really answer, and a reconciler between them."""

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.ports import free_port
from ramify.event_log import EventLog
from ramify.ingest import Ingest
from ramify.model.observation import Observation
from ramify.reconciling.addresses import Addresses
from ramify.reconciling.run import Reconciler
from ramify.storage.sqlite import open_sqlite
from ramify.wiring import now

SELLER = Path(__file__).parents[1] / "peers" / "seller_agent.py"


class Log:
    def __init__(self, address: str = "memory:", environment: dict[str, str] | None = None) -> None:
        self.store = open_sqlite(address)
        self.ingest = Ingest(self.store)
        self.events = EventLog(self.store, self._commit, "default", now)
        self.named: dict[str, str] = {}
        self.reconciler = Reconciler(self.store, self.events, "default", now, Addresses({}, self.named), environment or {})

    def _commit(self, batch: Sequence[Observation]) -> None:
        self.ingest.step(batch)

    def introduce(self, agent: str, protocol: str, uri: str) -> None:
        """Somebody names it, and an event tells what it speaks."""
        self.named[agent] = uri
        self.tell_of(agent, protocol, uri)

    def tell_of(self, agent: str, protocol: str, uri: str) -> None:
        self.events.append_many("s", [{"kind": "agent", "op": None, "agent": agent, "protocol": protocol, "uri": uri}])

    def submitted(self, agent: str, native: str, **more: Any) -> None:
        base = {"operationId": "op", "agentId": agent, "taskType": "sync_creatives", "callId": f"{agent}/{native}"}
        answer = {**base, "eventType": "protocol_response", "payload": {"task_id": native, "status": "submitted"}, **more}
        outcomes = self.events.append_many("s", [{**base, "eventType": "protocol_request"}, answer])
        assert [one.status for one in outcomes] == ["stored", "stored"]

    def status(self, native: str) -> str:
        [found] = [one["status"] for one in self.events.get_tasks("s") if native in (one["native"]["agentTaskId"], one["native"]["transportTaskId"])]
        return str(found)

    def told(self) -> list[tuple[str, str, str]]:
        rows = self.events.get_events("s")["events"]
        return [(one["agentTaskId"] or one["transportTaskId"], one["previousStatus"], one["status"]) for one in rows if one["source"] == "reconciler"]


@contextmanager
def seller(name: str = "seller") -> Iterator[str]:
    """A real agent, by the real SDK, in a process of its own."""
    port = free_port()
    process = subprocess.Popen([sys.executable, str(SELLER), name, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/mcp"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(url, timeout=1)
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()
