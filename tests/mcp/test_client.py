"""A session with the real client: the server as a process, found runs, trees, nodes, bytes, and no answer beyond its budget."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from bench.big import root, write_tree
from ramify.app import Ramify
from tests.cli.test_main import environment

CASES = Path(__file__).parents[1] / "cases"
LARGE = 30_000
BUDGETS = (2_000, 30_000)


@asynccontextmanager
async def asking(store: str, home: Path, *more: str) -> AsyncIterator[Client]:
    command = StdioServerParameters(command=sys.executable, args=["-m", "ramify", "mcp", "--store", store, *more], env=environment(home))
    async with Client(stdio_client(command)) as client:
        yield client


async def ask(client: Client, tool: str, budget: int = 16_000, *, wrong: bool = False, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, {**arguments, "budget": budget})
    (content,) = result.content
    assert content.type == "text"
    assert len(content.text.encode()) <= budget
    assert result.is_error is wrong, content.text
    answer = json.loads(content.text)
    assert isinstance(answer, dict)
    return answer


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:{tmp_path}/ramify.db"
    ramify = Ramify.open(url, write=True)
    ramify.import_paths([CASES / "anthropic" / "subtask-three-parallel"], "auto", lambda done, of: None)
    ramify.import_paths([CASES / "sam" / "parallel"], "auto", lambda done, of: None)
    ramify.close()
    return url


async def test_an_agent_finds_a_run_and_walks_down_to_its_bytes(store: str, tmp_path: Path) -> None:
    async with asking(store, tmp_path) as client:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} >= {"find", "tree", "node", "bytes", "spent_so_far", "am_i_looping", "what_did_my_child_do"}
        runs = await ask(client, "find", filter="")
        roots = [run for run in runs["items"] if run["subtasks"] == 3]
        tree = await ask(client, "tree", id=roots[0]["id"])
        assert [task["depth"] for task in tree["tasks"]] == [0, 1, 1, 1]
        child = tree["tasks"][1]["id"]
        shown = await ask(client, "node", id=child)
        assert shown["entity"] == "task"
        assert shown["link"]["parent"] == roots[0]["id"]
        messages = await ask(client, "node", id=child, view="messages")
        assert messages["items"][0]["blocks"]
        (call, *_) = (await ask(client, "find", kind="calls", filter="model:claude*"))["items"]
        whole, offset = b"", 0
        while True:
            part = await ask(client, "bytes", 2_000, id=call["id"], part="request", offset=offset)
            assert part["form"] == "text"
            whole += part["data"].encode()
            if part["next_offset"] is None:
                break
            offset = part["next_offset"]
        assert len(whole) == part["total_bytes"]
        assert json.loads(whole)["messages"]


async def test_what_is_asked_wrongly_is_told_and_the_session_goes_on(store: str, tmp_path: Path) -> None:
    async with asking(store, tmp_path) as client:
        for tool, arguments, words in (
            ("node", {"id": "task_nowhere"}, "nothing has the id"),
            ("node", {"id": ""}, "needs 'id'"),
            ("node", {"id": "x", "view": "smell"}, "there is no view"),
            ("find", {"filter": "status:"}, "status"),
            ("find", {"kind": "ghosts"}, "there is no kind"),
            ("find", {"limit": 0}, "at least 1"),
            ("tree", {"id": 7}, "wrong"),
            ("tree", {"id": "x", "smell": 1}, "smell"),
            ("spent_so_far", {}, "not known who asks"),
        ):
            assert words in (await ask(client, tool, wrong=True, **arguments))["error"]
        assert (await ask(client, "find"))["items"]


async def test_an_agent_of_one_project_is_told_of_no_other(store: str, tmp_path: Path) -> None:
    other = Ramify.open(store, project="other", write=True)
    other.import_paths([CASES / "anthropic" / "linear"], "auto", lambda done, of: None)
    theirs = [task["id"] for task in other.questions.tasks(project="default", limit=0)["items"]]
    other.close()
    async with asking(store, tmp_path, "--project", "other") as client:
        for kind in ("runs", "tasks", "conversations", "calls", "said"):
            found = await ask(client, "find", filter="project:default" if kind != "said" else "fences", kind=kind)
            assert found["items"] == [], kind
        own = await ask(client, "find", filter="")
        assert {run["project"] for run in own["items"]} == {"other"} if "project" in own["items"][0] else own["items"]
        for id in theirs:
            await ask(client, "node", wrong=True, id=id)
            await ask(client, "tree", wrong=True, id=id)


async def test_a_store_that_is_not_there_yet_is_no_end(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/later.db"
    async with asking(url, tmp_path) as client:
        assert "later.db" in (await ask(client, "find", wrong=True))["error"]
        Ramify.open(url, write=True).close()
        assert (await ask(client, "find"))["items"] == []


async def test_children_tell_what_they_did(store: str, tmp_path: Path) -> None:
    async with asking(store, tmp_path) as client:
        (run,) = [run for run in (await ask(client, "find"))["items"] if run["subtasks"] == 3]
        told = await ask(client, "what_did_my_child_do", id=run["id"])
        assert told["you"]["task"] == run["id"]
        assert len(told["children"]) == 3
        assert all(child["last_words"] for child in told["children"])
        spent = await ask(client, "spent_so_far", id=run["id"])
        assert spent["with_everything_under_it"] == run["tree_usage"]
        assert (await ask(client, "am_i_looping", id=run["id"]))["looping"] is False


async def test_no_answer_is_beyond_its_budget_on_a_very_large_tree(tmp_path: Path) -> None:
    url = write_tree(tmp_path / "large.db", LARGE)
    async with asking(url, tmp_path) as client:
        for budget in BUDGETS:
            tree = await ask(client, "tree", budget, id=root())
            assert tree["tasks_in_all"] == LARGE
            assert len(tree["tasks"]) + sum(task.get("hidden", 0) for task in tree["tasks"]) == LARGE
            assert "left_out" in tree
            deeper = next(task["id"] for task in tree["tasks"][1:] if task.get("hidden"))
            assert (await ask(client, "tree", budget, id=deeper))["tasks"][0]["id"] == deeper
            await ask(client, "find", budget, kind="tasks", limit=1000)
        await ask(client, "node", 2_000, id=root())
        for view in ("messages", "subtasks"):
            await ask(client, "node", 2_000, id=root(), view=view, tree=True)
        await ask(client, "spent_so_far", 2_000, id=root())
        await ask(client, "what_did_my_child_do", 2_000, id=root())
