"""A2A tasks that were watched, not reported: their agents are asked, and what they answer is told frame by frame."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from ramify.capture.a2a_client.tape import Place
from ramify.capture.a2a_reconcile import reconcile_a2a
from ramify.model.observation import Observation
from ramify.reconciling.open_tasks import standing
from ramify.reconciling.report import Report
from ramify.storage.base import Store

LOOKED_BACK = 30 * 24 * 3600 * 1_000_000  # a task that nobody has heard of for a month is not asked about
Commit = Callable[[Sequence[Observation]], None]


class Gathered:
    """Frames of one round, stored together."""

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def put(self, seen: Observation) -> object:
        self.seen.append(seen)
        return 1


async def watched_tasks(
    store: Store, commit: Commit, agents: Mapping[str, str], clock: Callable[[], int], grace_seconds: int, report: Report
) -> None:
    """By project: frames of one are none of another's."""
    if not agents:
        return
    since = clock() - LOOKED_BACK
    before = await asyncio.to_thread(standing, store, since)
    fresh = clock() - grace_seconds * 1_000_000
    for project, held in before.open.items():
        tasks = [task for task in held if task.opened <= fresh or not grace_seconds]
        if not tasks:
            continue
        gathered = Gathered()
        said = await reconcile_a2a(agents, tasks, Place(gathered, project, clock), before.over)
        if gathered.seen:
            await asyncio.to_thread(commit, gathered.seen)
        still = {(task.agent, task.id) for task in (await asyncio.to_thread(standing, store, since)).open.get(project, [])}
        ended = sum((task.agent, task.id) not in still for task in tasks)
        report.checked += said.asked
        report.corrected += ended
        report.missing += len(said.missing)
        report.unchanged += max(0, said.asked - ended - len(said.missing))
        report.errors += [{"agentId": name, "reason": why} for name, why in said.silent.items()]
