"""One run over the open tasks: collect, ask each agent once, decide, store what is new, report."""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import aiohttp

from ramify.event_log import EventLog
from ramify.linking.operations.rows import open_tasks
from ramify.linking.operations.subject import Subject, subject_of
from ramify.model import ids
from ramify.model.entity import Agent, EventSession, Sheet, Task
from ramify.model.moment import iso
from ramify.model.operation_event import ENDED, RANKS
from ramify.reconciling.a2a_agent import A2aAgent
from ramify.reconciling.addresses import NOT_NAMED, Addresses, Place, hint
from ramify.reconciling.asking import ask_a2a, ask_mcp
from ramify.reconciling.deciding import Answered, Known, decide
from ramify.reconciling.mcp_agent import McpAgent
from ramify.reconciling.open_tasks import standing
from ramify.reconciling.report import Report
from ramify.reconciling.watched import LOOKED_BACK, watched_tasks
from ramify.reconciling.wire import SECONDS, AgentError
from ramify.storage.base import Store

log = logging.getLogger("ramify")
GRACE_SECONDS = 30
AGENT_SECONDS = 120.0
SELDOM_SECONDS = 1800  # an agent that waits for an answer of ours is not moved by being asked
MOST = 100_000
NOT_IN_A_NAME = "".join(chr(code) for code in range(128) if not chr(code).isalnum())
MISSED = "missed:"


class Reconciler:
    """`addresses`: those of agents that were named at the start, the only ones that are ever asked."""

    def __init__(
        self, store: Store, events: EventLog, project: str, clock: Callable[[], int], addresses: Addresses,
        environment: Mapping[str, str],
    ) -> None:  # fmt: skip
        self.store = store
        self.events = events
        self.project = project
        self._clock = clock
        self._addresses = addresses
        self._environment = environment
        self.checked: dict[str, int] = {}  # when each task was last asked about

    async def run(self, *, session: str | None = None, grace_seconds: int = 0, skip: frozenset[str] = frozenset()) -> Report:
        """`session`: only its tasks. Agents in `skip` have failed too often lately."""
        report = Report(startedAt=iso(self._clock()))
        waiting: dict[str, list[Known]] = {}
        for task in await asyncio.to_thread(self._open, session, grace_seconds):
            if task.agent not in skip:
                waiting.setdefault(task.agent, []).append(task)
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as http:
            await asyncio.gather(*(self._agent(http, agent, tasks, report) for agent, tasks in waiting.items()))
        if session is None:
            named = {name: url for name, url in self._addresses.a2a.items() if name not in skip}
            await watched_tasks(self.store, self.events.commit, named, self._clock, grace_seconds, report)
        report.endedAt = iso(self._clock())
        return report

    def anything_open(self) -> bool:
        if self.store.span(open_tasks(self.project), 0, 1 << 62, 1, False):
            return True
        return bool(self._addresses.a2a and standing(self.store, self._clock() - LOOKED_BACK).open)

    # -- whom to ask --------------------------------------------------------------------------------------------------

    def _open(self, session: str | None, grace_seconds: int) -> list[Known]:
        """Each id of an agent once, however many operations have it."""
        now = self._clock()
        fresh = now - grace_seconds * 1_000_000
        rows = self.store.span(open_tasks(self.project), 0, 1 << 62, MOST, False)
        found: dict[tuple[str, str, str], Known] = {}
        for _, id in rows:
            sheet, task = self.store.load("sheets", id), self.store.load("tasks", id)
            if isinstance(sheet, Sheet) and isinstance(task, Task) and RANKS[task.status] < ENDED and not fresh < task.opened <= now:
                known = self._known(subject_of(sheet), task)
                if session in (None, known.session) and not (grace_seconds and self._is_seldom(known)):
                    found.setdefault((known.session, known.agent, known.native), known)
        return list(found.values())

    def _known(self, subject: Subject, task: Task) -> Known:
        row = self.store.load("sessions", subject.scope.rpartition(".")[0])
        carried = subject.work == subject.transport or not subject.work
        missed = self.store.fact(f"{MISSED}{subject.id}")
        return Known(
            subject.id, row.name if isinstance(row, EventSession) else "", subject.operation, subject.agent, subject.task_type,
            subject.work or subject.transport, "transport" if carried else "work", subject.protocol, task.status, task.opened,
            missed if isinstance(missed, int) else 0, task.active,
        )  # fmt: skip

    def _is_seldom(self, known: Known) -> bool:
        recent = self.checked.get(known.id, 0) > self._clock() - SELDOM_SECONDS * 1_000_000
        return known.status in ("input-required", "auth-required") and recent

    def _place(self, agent: str, tasks: Sequence[Known]) -> Place | None:
        row = self.store.load("agents", ids.short("agent", self.project, "adcp", agent))
        told, protocol = (row.url or "", str(row.details.get("protocol", ""))) if isinstance(row, Agent) else ("", "")
        return self._addresses.of(agent, told, protocol or next((task.protocol for task in tasks if task.protocol), ""))

    def _headers(self, agent: str) -> dict[str, str]:
        """Only ever sent to the host that was named for this agent."""
        name = agent.upper().translate(str.maketrans(NOT_IN_A_NAME, "_" * len(NOT_IN_A_NAME)))
        token = self._environment.get(f"RAMIFY_AGENT_TOKEN_{name}", "")
        return {"authorization": f"Bearer {token}"} if token else {}

    # -- one agent ----------------------------------------------------------------------------------------------------

    async def _agent(self, http: aiohttp.ClientSession, name: str, tasks: Sequence[Known], report: Report) -> None:
        place = await asyncio.to_thread(self._place, name, tasks)
        if place is None:
            report.unnamed.append({"agentId": name, "reason": NOT_NAMED, "hint": hint(name)})
            return
        try:
            async with asyncio.timeout(AGENT_SECONDS):
                if place.protocol == "a2a":
                    said = await ask_a2a(A2aAgent(http, place.url, self._headers(name)), tasks)
                else:
                    said = await ask_mcp(McpAgent(http, place.url, self._headers(name)), tasks)
        except (AgentError, TimeoutError) as problem:
            report.errors.append({"agentId": name, "reason": str(problem) or "it took too long"})
            return
        except Exception as problem:  # whatever one agent makes of us, the others are asked
            log.error("an agent could not be asked agent=%s", name, exc_info=problem)
            report.errors.append({"agentId": name, "reason": f"its answer was not understood: {type(problem).__name__}"})
            return
        answers = {one.native: one for one in said}
        for task in tasks:
            if task.native in answers:
                await asyncio.to_thread(self._settle, task, answers[task.native], report)

    def _settle(self, task: Known, said: Answered, report: Report) -> None:
        report.checked += 1
        verdict = decide(task, said)
        match verdict.kind:
            case "corrected" | "gone":
                self._store(task, said, verdict.status)
                report.corrected += verdict.kind == "corrected"
                report.missing += verdict.kind == "gone"
            case "missing":
                report.missing += 1
            case "anomaly":
                report.anomalies += 1
            case _:
                report.unchanged += 1
        self.checked[task.id] = self._clock()
        if not said.is_known or task.misses:
            self.store.set_fact(f"{MISSED}{task.id}", 0 if said.is_known else task.misses + 1)

    def _store(self, task: Known, said: Answered, status: str) -> None:
        """What an agent said is an event like any other; the same answer again is the same event. One that does not say
        since when is the same as long as nothing else was heard: a task may come to a state more than once."""
        told = "\x00".join((task.id, status, said.updated or f"{task.status}@{task.active}"))
        event: dict[str, Any] = {
            "eventId": f"rec_{hashlib.sha256(told.encode()).hexdigest()[:32]}",
            "eventType": "status_update",
            "operationId": task.operation or "unknown",
            "agentId": task.agent,
            "taskType": task.task_type or "unknown",
            "agentTaskId": task.native if task.of == "work" else said.work or None,
            "transportTaskId": None if task.of == "work" else task.native,
            "status": said.word or status,
            "previousStatus": task.status,
            "source": "reconciler",
            "timestamp": said.updated or None,
            "reconciled": {"gone": [task.native]} if not said.is_known else {"updated": said.updated},
        }
        self.events.append_many(task.session, [event], place="reconciler")
