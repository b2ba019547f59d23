"""Questions of real agents answered, and trees canceled, through a server and without one."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_main import ramify
from tests.peers.a2a.following import each, follow, following, native
from tests.peers.a2a.world import Agent, agent, ask, client, states, task_of
from tests.peers.served import Server, serve

pytestmark = pytest.mark.peer
VERSIONS = ["1", "03"]
Answer = dict[str, Any]


@asynccontextmanager
async def watched_agent(version: str, folder: Path) -> AsyncIterator[tuple[Agent, Server]]:
    async with agent(version) as only, serve(only.url, folder, RAMIFY_A2A=f"a={only.url}") as server:
        yield only, server


async def post(server: Server, path: str, body: Any, **headers: str) -> tuple[int, Answer]:
    async with server.http.post(f"{server.url}/api/{path}", json=body, headers=headers) as response:
        return response.status, await response.json()


async def waiting(server: Server, version: str, plan: str = "plan ask=0") -> str:
    """A task that asks, known to the server."""
    task = task_of(await ask(version, f"{server.url}/a2a/a", "stream", plan))
    await state_of(server, f"a2a:task:a/{task}", "input-required")
    return task


async def state_of(server: Server, id: str, wanted: str) -> Answer:
    async with asyncio.timeout(30):
        while True:
            async with server.http.get(f"{server.url}/api/tasks/{id.replace('/', '%2F')}") as response:
                answer: Answer = await response.json()
                if response.status == 200 and answer["status"] == wanted:
                    return answer
            await asyncio.sleep(0.1)


async def children_of(server: Server, id: str, wanted: int) -> None:
    """Until the server knows of so many."""
    async with asyncio.timeout(30):
        while True:
            async with server.http.get(f"{server.url}/api/tasks/{id}/subtasks") as response:
                if response.status == 200 and len((await response.json())["items"]) == wanted:
                    return
            await asyncio.sleep(0.05)


async def kept(agent: Agent, task: str, wanted: str) -> Answer:
    """The task as its agent has it, once it has come so far."""
    async with asyncio.timeout(30):
        while True:
            found = await ask(agent.version, agent.url, "get", "--task", task)
            if states(found)[-1] == wanted or f'"{wanted}"' in json.dumps(found).lower():
                event: Answer = found[0]["event"]
                return event


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_answer_reaches_the_task_that_asked_and_is_seen_on_its_way(version: str, tmp_path: Path) -> None:
    async with watched_agent(version, tmp_path) as (only, server):
        task = await waiting(server, version)
        status, told = await post(server, f"tasks/{task}/answer", {"text": "blue"})
        assert (status, told["agent"]) == (200, "a"), told
        after = await kept(only, task, "completed")
        assert "with 'blue'" in json.dumps(after["artifacts"])
        said = next(message for message in after["history"] if message["messageId"] == told["message"])
        assert said["contextId"] == after["contextId"]
        seen: list[Answer] = []
        async with asyncio.timeout(30):
            while not seen:
                seen = [one for one in await server.all(f"tasks/{task}/messages") if "blue" in json.dumps(one["blocks"])]
        assert [(one["role"], one["author"]) for one in seen] == [("user", "human")]
        again, refused = await post(server, f"tasks/{task}/answer", {"text": "red"})
        assert again in (409, 502)
        assert refused["error"]["hint"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_form_is_answered_by_data(version: str, tmp_path: Path) -> None:
    async with watched_agent(version, tmp_path) as (only, server):
        task = await waiting(server, version)
        status, told = await post(server, f"tasks/{task}/answer", {"data": {"amount": 3}})
        assert status == 200, told
        after = await kept(only, task, "completed")
        parts = next(message["parts"] for message in after["history"] if message["messageId"] == told["message"])
        assert [part["data"] for part in parts] == [{"amount": 3}]


async def test_what_cannot_be_answered_says_why(tmp_path: Path) -> None:
    async with watched_agent("1", tmp_path) as (only, server):
        asks = await waiting(server, "1")
        login = task_of(await ask("1", f"{server.url}/a2a/a", "stream", "plan auth=0"))
        over = task_of(await ask("1", f"{server.url}/a2a/a", "stream", "plan"))
        await state_of(server, over, "completed")
        await state_of(server, login, "auth-required")
        for id, body, status, words in (
            (login, {"text": "x"}, 409, "login"),
            (over, {"text": "x"}, 409, "waits for no answer"),
            ("nothing", {"text": "x"}, 404, "nothing"),
            (asks, {}, 400, "either a text or data"),
            (asks, {"text": "x", "data": {}}, 400, "either a text or data"),
            (asks, {"words": "x"}, 400, "no answer"),
        ):
            got, told = await post(server, f"tasks/{id}/answer", body)
            assert (got, words in told["error"]["message"]) == (status, True), told
        foreign, _ = await post(server, f"tasks/{asks}/answer", {"text": "x"}, origin="http://evil.example")
        assert foreign == 403
        only.kill()
        dead, told = await post(server, f"tasks/{asks}/answer", {"text": "x"})
        assert (dead, told["error"]["code"]) == (502, "agent_refused")


async def test_an_agent_that_was_not_named_is_never_asked(tmp_path: Path) -> None:
    async with agent("1") as only, serve(only.url, tmp_path) as server:
        port = server.url.rpartition(":")[2]
        async with following(tmp_path, only.url, "--say", "plan ask=0", "--store", server.store, "--port", port) as told:
            await told.until("input-required")
            told.interrupt()
            await told.over()
        status, refused = await post(server, f"tasks/{native(told.tree)}/answer", {"text": "x"})
    assert (status, "was not named" in refused["error"]["message"]) == (409, True)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_tree_is_canceled_from_the_top_and_what_is_over_is_left_alone(version: str, tmp_path: Path) -> None:
    async with watched_agent(version, tmp_path) as (only, server):
        port = server.url.rpartition(":")[2]
        words = ("--store", server.store, "--port", port, "--a2a", f"a={only.url}")
        async with following(tmp_path, only.url, "--say", "plan depth=1 fanout=2 stay=20 announce=each", *words) as told:
            root = (await told.until("working")).rpartition("(")[2].rstrip(")")
            await told.until("Work 1 working")
            await children_of(server, root, 2)
            canceled = await asyncio.to_thread(ramify, tmp_path, "cancel", root, "--json", "--store", server.store, "--port", port)
            await told.over()
        items = json.loads(canceled.stdout)["items"]
        assert [(item["asked"], item["status"], item["error"]) for item in items] == [(True, "canceled", None)] * 3
        assert (told.status, [task["status"] for task in each(told.tree)]) == (0, ["canceled"] * 3)
        assert [item["task"] for item in items] == [task["id"] for task in each(told.tree)]
        status, again = await post(server, f"tasks/{root}/cancel", {})
        assert (status, [item["asked"] for item in again["items"]]) == (200, [True, False, False])
        assert {(item["status"], item["error"]) for item in again["items"]} == {("canceled", None)}


@pytest.mark.parametrize("version", VERSIONS)
async def test_children_that_were_only_named_are_canceled_at_the_agent_that_named_them(version: str, tmp_path: Path) -> None:
    async with watched_agent(version, tmp_path) as (_, server):
        async with client(version, f"{server.url}/a2a/a", "stream", "plan depth=1 fanout=2 stay=20 announce=each") as lines:
            root = task_of([await anext(lines)])
            await children_of(server, root, 2)
            status, canceled = await post(server, f"tasks/{root}/cancel", {})
        assert (status, [(item["agent"], item["status"], item["error"]) for item in canceled["items"]]) == (200, [("a", "canceled", None)] * 3)


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_answer_without_a_server_is_stored_from_here(version: str, tmp_path: Path) -> None:
    async with agent(version) as only:
        async with following(tmp_path, only.url, "--say", "plan ask=0", "--a2a", f"a={only.url}") as told:
            line = await told.until("input-required")
            told.interrupt()
            await told.over()
        task = line.rpartition("(")[2].rstrip(")")
        nobody = await asyncio.to_thread(ramify, tmp_path, "answer", task, "blue", RAMIFY_PORT="1")
        assert (nobody.returncode, "was not named" in nobody.stderr) == (2, True)
        answered = await asyncio.to_thread(ramify, tmp_path, "answer", task, "blue", "--a2a", f"a={only.url}", RAMIFY_PORT="1")
        assert (answered.returncode, "a has the answer" in answered.stdout) == (0, True), answered.stderr
        again = await follow(tmp_path, only.url, "--task", task, "--a2a", f"a={only.url}")
    assert (again.status, again.tree["status"]) == (0, "completed")
    said = json.loads(ramify(tmp_path, "messages", task, "--json").stdout)["items"]
    assert [one["role"] for one in said if "blue" in json.dumps(one["blocks"]) and one["role"] == "user"] == ["user"]
