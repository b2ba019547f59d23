"""What agents say about tasks that nobody watched to their end."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from ramify.app import Ramify
from ramify.capture.a2a_client.tape import Place
from ramify.capture.a2a_reconcile import OpenTask, Reconciled, reconcile_a2a
from ramify.open_tasks import standing
from tests.capture.a2a.world import frames, records
from tests.capture.world import Seen
from tests.cli.test_main import ramify
from tests.peers.a2a.following import each, following
from tests.peers.a2a.world import agent, ask, task_of

pytestmark = pytest.mark.peer
LONG_AGO = 1_000_000


async def reconcile(seen: Seen, tasks: list[OpenTask], **agents: str) -> Reconciled:
    return await reconcile_a2a(agents, tasks, Place(seen, "default", time_now))


def asked(seen: Seen, method: str) -> list[dict[str, Any]]:
    return [frame for frame in frames(seen) if frame["kind"] == "request" and (frame.get("body") or {}).get("method") == method]


@pytest.mark.parametrize(("version", "method"), [("1", "GetTask"), ("03", "tasks/get")])
async def test_an_open_task_and_all_its_children_are_asked_for(version: str, method: str) -> None:
    seen = Seen()
    async with agent(version) as only:
        task = task_of(await ask(version, only.url, "stream", "plan depth=2 fanout=2"))
        report = await reconcile(seen, [OpenTask(task, "a")], a=only.url)
    assert (report.asked, set(report.moved.values()), report.missing, report.silent) == (7, {"completed"}, [], {})
    assert len({frame["body"]["params"]["id"] for frame in asked(seen, method)}) == 7
    assert all(frame["headers"]["x-ramify-follow"] for frame in frames(seen) if frame["kind"] == "request")
    assert {record.source for record in records(seen)} == {"follow"}


async def test_a_child_nobody_has_shown_is_found_on_the_agent_that_has_it() -> None:
    async with agent("1") as parent, agent("03") as child:
        task = task_of(await ask("03", child.url, "stream", "plan"))
        report = await reconcile(Seen(), [OpenTask(task, near="p"), OpenTask("nobody")], p=parent.url, c=child.url)
    assert report.moved == {f"c/{task}": "completed"}
    assert report.missing == ["nobody"]


async def test_tasks_that_nobody_has_seen_are_listed_where_an_agent_can_list() -> None:
    seen = Seen()
    async with agent("1") as only:
        tasks = [task_of(await ask("1", only.url, "send", "plan")) for _ in range(3)]
        report = await reconcile(seen, [OpenTask(tasks[0], "a", opened=LONG_AGO)], a=only.url)
        later = await reconcile(seen, [OpenTask(tasks[0], "a", opened=int((time.time() + 60) * 1e6))], a=only.url)
    assert sorted(report.found) == sorted(f"a/{task}" for task in tasks[1:])
    assert set(report.moved) == {f"a/{task}" for task in tasks}
    assert later.found == []


async def test_an_agent_that_is_gone_and_a_task_that_is_forgotten_change_nothing() -> None:
    seen = Seen()
    async with agent("1") as only:
        url = only.url
        report = await reconcile(seen, [OpenTask("t", "a"), OpenTask("u", "gone")], a=url, gone="http://127.0.0.1:1")
    assert (report.moved, report.missing, list(report.silent)) == ({}, ["a/t"], ["gone"])


@pytest.mark.parametrize("version", ["1", "03"])
async def test_what_a_store_holds_open_is_closed_by_asking(version: str, tmp_path: Path) -> None:
    store_url = f"sqlite:{tmp_path}/s.db"
    async with agent(version) as only, agent("1") as other:
        words = ("--store", store_url, "--a2a", f"a={only.url}")
        async with following(tmp_path, only.url, "--say", f"plan depth=1 sleep=1 announce=each at={other.url}", *words) as told:
            await told.until("unresolved")
            told.interrupt()
            await told.over()
        await asyncio.sleep(3)
        held = open_in(store_url)
        named = ("--a2a", f"a={only.url}", "--a2a", f"b={other.url}", "--store", store_url, "--json")
        report = json.loads((await asyncio.to_thread(ramify, tmp_path, "reconcile", *named)).stdout)["a2a"]
    assert [(task.agent, task.near) for task in held["default"]] == [("", "a"), ("a", "")]
    assert (set(report["moved"].values()), report["missing"], open_in(store_url)) == ({"completed"}, [], {})
    tree = json.loads(ramify(tmp_path, "tree", told.tree["id"], "--json", "--store", store_url).stdout)
    assert [(task["status"], task["agent"]) for task in each(tree)] == [("completed", "a"), ("completed", "b")]


def open_in(store_url: str) -> dict[str, list[OpenTask]]:
    store = Ramify.open(store_url)
    try:
        return standing(store.store, 0).open
    finally:
        store.close()


def time_now() -> int:
    return time.time_ns() // 1000
