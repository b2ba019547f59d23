"""What real agents and clients of both versions do is understood: trees, states, messages and artifacts."""

import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from bench.ports import free_port
from ramify.model.entity import Task
from ramify.query.service import Questions
from ramify.storage.sqlite import Sqlite
from tests.a2a_verdicts import in_random_batches, rows, told
from tests.capture.a2a.world import frames, records, watched
from tests.capture.world import Seen, until
from tests.peers.a2a.world import agent, ask, states, task_of
from tests.story import row_differences

pytestmark = pytest.mark.peer
BINDINGS = [("1", "1", "JSONRPC"), ("1", "1", "HTTP+JSON"), ("03", "03", "JSONRPC"), ("03", "03", "HTTP+JSON"), ("1", "03", "JSONRPC"), ("03", "1", "JSONRPC")]


@asynccontextmanager
async def agents(*versions: str, children: str = "") -> AsyncIterator[tuple[str, Seen]]:
    """Agents that give their work away through us, each to itself or to the one that is named."""
    seen = Seen()
    ports = {version: free_port() for version in versions}
    async with AsyncExitStack() as stack:
        front = await stack.enter_async_context(watched({f"v{version}": f"http://127.0.0.1:{port}" for version, port in ports.items()}, seen))
        for version, port in ports.items():
            await stack.enter_async_context(agent(version, "--children", f"{front.url}/a2a/v{children or version}", port=port))
        yield f"{front.url}/a2a", seen


async def understood(seen: Seen) -> Sqlite:
    """All that has passed, in its order and in others."""
    await until(lambda: not open_streams(seen))
    passed = records(seen)
    store = told(passed, 11)
    assert store.count_unreadable() == 0
    for seed in (1, 2):
        chance = random.Random(seed)
        mixed = in_random_batches(chance.sample(passed, len(passed)), chance)
        assert row_differences(rows(store), rows(mixed)) == []
    return store


def open_streams(seen: Seen) -> set[str]:
    begun = {frame["connection"] for frame in frames(seen) if frame["kind"] == "sse"}
    return begun - {frame["connection"] for frame in frames(seen) if frame["kind"] in ("end", "abort")}


def outline(tree: dict[str, Any]) -> Any:
    return tree["agent"], tree["status"], [outline(child) for child in tree["children"]]


def row_of(store: Sqlite, id: str) -> Task:
    row = store.load("tasks", Questions(store).task(id)["id"])
    assert isinstance(row, Task)
    return row


@pytest.mark.parametrize("announce", ["each", "together", "twice", "late", "last"])
@pytest.mark.parametrize("version", ["1", "03"])
async def test_a_tree_is_linked_however_its_children_are_announced(version: str, announce: str) -> None:
    async with agents(version) as (front, seen):
        done = await ask(version, f"{front}/v{version}", "stream", f"plan depth=2 fanout=2 chunks=3 context=own announce={announce}")
        assert states(done)[-1] == "completed"
        store = await understood(seen)
    tree = Questions(store).tree(task_of(done))
    leaf: Any = (f"v{version}", "completed", [])
    assert outline(tree) == (f"v{version}", "completed", [(f"v{version}", "completed", [leaf, leaf])] * 2)
    for child in tree["children"]:
        task = Questions(store).task(child["id"])
        assert (task["prompt_author"], task["link"]["rule"], task["link"]["certainty"]) == ("agent", "referenceTaskIds", 1.0)
        assert task["title"].startswith("Work") or announce == "last"  # the last word names no work
        (report,) = task["artifacts"]
        assert len(report["parts"]) == 3
    assert len(Questions(store).conversations()["items"]) == 1


async def test_a_tree_over_two_versions_is_one() -> None:
    async with agents("1", "03", children="03") as (front, seen):
        done = await ask("1", f"{front}/v1", "stream", "plan depth=2 fanout=1 announce=each")
        store = await understood(seen)
    assert outline(Questions(store).tree(task_of(done))) == ("v1", "completed", [("v03", "completed", [("v03", "completed", [])])])


async def test_a_child_that_is_never_announced_is_a_root_of_its_own() -> None:
    async with agents("1") as (front, seen):
        done = await ask("1", f"{front}/v1", "stream", "plan depth=1 announce=never")
        store = await understood(seen)
    tree = Questions(store).tree(task_of(done))
    assert tree["children"] == []
    assert len(Questions(store).tasks(roots=True)["items"]) == 2


@pytest.mark.parametrize(("asker", "asked", "binding"), BINDINGS)
@pytest.mark.parametrize("verb", ["stream", "send"])
async def test_every_end_is_told_in_every_binding(asker: str, asked: str, binding: str, verb: str) -> None:
    ends = {"plan": "completed", "plan ask=0": "input-required", "plan auth=0": "auth-required", "plan reject=0": "rejected", "plan fail=0": "failed", "plan bare=0": "completed"}
    async with agents(asked) as (front, seen):
        await ask(asker, f"{front}/v{asked}", verb, *ends, "--binding", binding)
        if verb == "send":  # the old HTTP binding does not wait
            for task in [task for task in Questions(told(records(seen))).tasks(limit=0)["items"] if task["status"] in ("submitted", "working")]:
                native = next(ref["value"] for ref in task["refs"] if ref["kind"] == "task")
                await ask(asker, f"{front}/v{asked}", "get", "--task", native, "--binding", binding)
        store = await understood(seen)
    tasks = Questions(store).tasks(limit=0)["items"]
    assert {task["prompt"]: task["status"] for task in tasks} == ends
    assert all(not row_of(store, task["id"]).flags for task in tasks)
    bare = next(task for task in tasks if task["prompt"] == "plan bare=0")
    assert {ref["kind"] for ref in bare["refs"]} == {"message", "context"}


@pytest.mark.parametrize("version", ["1", "03"])
async def test_a_question_that_is_answered_elsewhere_goes_on(version: str) -> None:
    async with agents(version) as (front, seen):
        url = f"{front}/v{version}"
        asked = await ask(version, url, "stream", "plan ask=0")
        task = task_of(asked)
        await ask(version, url, "stream", "12 USDC", "--task", task)
        store = await understood(seen)
    shape = Questions(store).task(task)
    assert (shape["status"], shape["prompt"]) == ("completed", "plan ask=0")
    (report,) = shape["artifacts"]
    assert ["12 USDC" in part["text"] for part in report["parts"]] == [True]
    said = Questions(store).messages(task, limit=0)["items"]
    assert [one["author"] for one in said].count("human") == 2
    assert len(Questions(store).tasks(limit=0)["items"]) == 1


@pytest.mark.parametrize(("version", "later"), [("1", ("failed", ())), ("03", ("working", ("stalled",)))])
async def test_an_agent_that_raises_leaves_its_task_stalled_until_more_is_known(version: str, later: tuple[str, tuple[str, ...]]) -> None:
    """A new one stores a failure that it does not stream; an old one stays at work for ever."""
    async with agents(version) as (front, seen):
        url = f"{front}/v{version}"
        task = task_of(await ask(version, url, "stream", "plan raises=0"))
        row = row_of(await understood(seen), task)
        assert (row.status, row.flags) == ("working", ("stalled",))
        await ask(version, url, "get", "--task", task)
        row = row_of(await understood(seen), task)
    assert (row.status, row.flags) == later


@pytest.mark.parametrize("version", ["1", "03"])
async def test_an_agent_that_dies_leaves_its_task_stalled(version: str) -> None:
    async with agents(version) as (front, seen):
        task = task_of(await ask(version, f"{front}/v{version}", "stream", "plan crash=0 chunks=2"))
        row = row_of(await understood(seen), task)
    assert (row.status, row.flags) == ("working", ("stalled",))
