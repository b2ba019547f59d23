"""`ramify follow` with real agents of both versions."""

import asyncio
import json
import os
import pty
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession

from ramify.app import Ramify
from ramify.capture.a2a_client.follower import Follower, Watcher
from ramify.capture.a2a_client.offer import Binding, Offer
from ramify.capture.a2a_client.peer import Peer
from ramify.capture.a2a_client.tape import Place
from ramify.model.observation import Record
from tests.capture.a2a.world import watched
from tests.capture.world import Seen
from tests.cli.test_main import environment, ramify
from tests.peers.a2a.following import each, follow, following, native, outline
from tests.peers.a2a.world import Agent, agent, ask, client, states, task_of
from tests.peers.served import serve

pytestmark = pytest.mark.peer
VERSIONS = ["1", "03"]


@asynccontextmanager
async def agents(*versions: str) -> AsyncIterator[list[Agent]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(agent(version)) for version in versions]


def done(agent: str, *children: object) -> tuple[str, str, list[object]]:
    return "completed", agent, list(children)


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_whole_tree_is_followed_however_its_children_are_announced(version: str, tmp_path: Path) -> None:
    async with agents(version) as [only]:
        for story in ("together", "each", "twice", "late", "last", "together context=own"):
            told = await follow(tmp_path, only.url, "--say", f"plan depth=2 fanout=2 announce={story}", "--a2a", f"a={only.url}")
            assert told.status == 0, told.lines
            leaf = done("a")
            assert outline(told.tree) == done("a", done("a", leaf, leaf), done("a", leaf, leaf)), story
            tasks = list(each(told.tree))
            assert sorted(task["branch"] for task in tasks) == ["main", *(f"subtask_{number}" for number in range(1, 7))]
            for family in (task["children"] for task in tasks):
                assert [child["branch"] for child in family] == sorted(child["branch"] for child in family)
            assert {(task["link"]["rule"], task["link"]["certainty"]) for task in tasks[1:]} == {("referenceTaskIds", 1.0)}
            assert {task["prompt_author"] for task in tasks} == {"human", "agent"}
        alone = await follow(tmp_path, only.url, "--say", "plan depth=1 announce=never", "--a2a", f"a={only.url}")
        assert (alone.status, outline(alone.tree)) == (0, done("a"))


@pytest.mark.parametrize(("above", "below"), [("1", "03"), ("03", "1")])
async def test_children_on_an_agent_of_the_other_version_are_found_where_they_run(above: str, below: str, tmp_path: Path) -> None:
    async with agents(above, below) as [parent, child]:
        named = ("--a2a", f"parent={parent.url}", "--a2a", f"child={child.url}")
        told = await follow(tmp_path, parent.url, "--say", f"plan depth=2 fanout=2 at={child.url}", *named)
        assert told.status == 0, told.lines
        leaf = done("child")
        assert outline(told.tree) == done("parent", done("child", leaf, leaf), done("child", leaf, leaf))


async def test_a_child_that_no_named_agent_has_stays_visible_as_unresolved(tmp_path: Path) -> None:
    async with agents("1", "03") as [parent, child]:
        told = await follow(tmp_path, parent.url, "--say", f"plan depth=1 at={child.url}", "--a2a", f"parent={parent.url}")
    assert told.status == 0, told.lines
    assert outline(told.tree) == ("completed", "parent", [("unknown", None, [])])
    assert told.tree["children"][0]["title"] == "Work"
    assert any("unresolved, not known to parent" in line for line in told.lines)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_task_that_is_over_is_shown_and_one_that_does_not_exist_is_not_found(version: str, tmp_path: Path) -> None:
    async with agents(version) as [only]:
        task = task_of(await ask(version, only.url, "stream", "plan depth=1 fanout=3 announce=each"))
        told = await follow(tmp_path, only.url, "--task", task)
        assert (told.status, len(list(each(told.tree)))) == (0, 4)
        assert native(told.tree) == task
        missing = await follow(tmp_path, only.url, "--task", "no-such-task")
        assert (missing.status, missing.tree) == (1, {})
        assert "no-such-task" in missing.lines[-1]
    gone = await follow(tmp_path, only.url, "--task", task)
    assert gone.status == 1
    assert "nobody answers" in gone.lines[-1]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("story", "end"), [("reject=0", "rejected"), ("fail=0", "failed"), ("depth=1 fail=0", "completed")])
async def test_every_end_is_an_end(version: str, story: str, end: str, tmp_path: Path) -> None:
    async with agents(version) as [only]:
        told = await follow(tmp_path, only.url, "--say", f"plan {story}")
    assert (told.status, told.tree["status"]) == (0, end)
    assert [child["status"] for child in told.tree["children"]] == (["failed"] if "depth" in story else [])


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_question_is_printed_once_and_an_answer_given_elsewhere_is_followed(version: str, tmp_path: Path) -> None:
    async with agents(version) as [only], following(tmp_path, only.url, "--say", "plan depth=1 ask=0") as told:
        line = await told.until("input-required")
        await asyncio.sleep(1)
        await ask(version, only.url, "stream", "blue", "--task", line.rpartition("(")[2].rstrip(")"))
        await told.over()
    assert (told.status, told.tree["status"], told.tree["children"][0]["status"]) == (0, "completed", "completed")
    assert sum("asks: Task.0: what now?" in line for line in told.lines) == 1
    shown = json.loads(ramify(tmp_path, "show", told.tree["children"][0]["id"], "--json").stdout)
    assert [part["text"] for part in shown["artifacts"][0]["parts"]] == ["[Task.0] with 'blue'\n"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_task_that_somebody_cancels_is_over(version: str, tmp_path: Path) -> None:
    async with agents(version) as [only]:
        task = task_of(await ask(version, only.url, "send", "plan sleep=30", "--immediately"))
        async with following(tmp_path, only.url, "--task", task) as told:
            await told.until("working")
            await ask(version, only.url, "cancel", "--task", task)
            await told.over()
    assert (told.status, told.tree["status"]) == (0, "canceled")


async def test_an_executor_that_raises_is_a_failed_task_with_1_x_and_a_stalled_one_with_0_3(tmp_path: Path) -> None:
    async with agents("1", "03") as [new, old]:
        told = await follow(tmp_path, new.url, "--say", "plan raises=0")
        assert (told.status, told.tree["status"]) == (0, "failed")
        async with following(tmp_path, old.url, "--say", "plan raises=0") as stuck:
            await stuck.until("stalled")
            stuck.interrupt()
            await stuck.over()
    assert (stuck.status, stuck.tree["status"], stuck.tree["flags"]) == (130, "working", ["stalled"])
    assert "detached" in stuck.lines[-1]


async def test_an_interruption_detaches_and_cancels_nothing(tmp_path: Path) -> None:
    async with agents("1") as [only]:
        async with following(tmp_path, only.url, "--say", "plan sleep=2 depth=1") as told:
            line = await told.until("working")
            told.interrupt()
            await told.over()
        assert (told.status, told.tree["status"]) == (130, "working")
        task = line.rpartition("(")[2].rstrip(")")
        again = await follow(tmp_path, only.url, "--task", task)
    assert (again.status, again.tree["id"], again.tree["status"], len(again.tree["children"])) == (0, told.tree["id"], "completed", 1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_agent_that_is_killed_stalls_its_tasks_and_is_asked_again_when_it_is_back(version: str, tmp_path: Path) -> None:
    async with agents(version) as [only]:
        port = int(only.url.rpartition(":")[2])
        async with following(tmp_path, only.url, "--say", "plan sleep=60") as told:
            await told.until("working")
            only.kill()
            await told.until("stalled")
            async with agent(version, port=port):
                await asyncio.sleep(1)  # it has forgotten the task, and says so
                told.interrupt()
                await told.over()
    assert (told.status, told.tree["status"], told.tree["flags"]) == (130, "working", ["stalled"])


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_connection_that_breaks_while_the_agent_works_on_is_made_again(version: str, tmp_path: Path) -> None:
    async with agents(version) as [only], AsyncExitStack() as stack:
        front = await stack.enter_async_context(watched({"a": only.url}, Seen()))
        async with following(tmp_path, f"{front.url}/a2a/a", "--say", "plan sleep=4 depth=1 fanout=2") as told:
            await told.until("working")
            await stack.aclose()
            await asyncio.sleep(1)
            async with watched({"a": only.url}, Seen(), port=front.port):
                await told.over()
    assert (told.status, told.tree["status"], told.tree["flags"], len(told.tree["children"])) == (0, "completed", [], 2)


async def test_following_leaves_the_stored_task_of_a_0_3_agent_as_it_is(tmp_path: Path) -> None:
    async with agents("03") as [only]:
        async with client("03", only.url, "stream", "plan depth=1 chunks=30 pace=0.05") as lines:
            task = task_of([await anext(lines)])
            told = await follow(tmp_path, only.url, "--task", task)
            [_ async for _ in lines]
        kept = (await ask("03", only.url, "get", "--task", task))[0]["event"]
    assert (told.status, told.tree["status"], len(told.tree["children"])) == (0, "completed", 1)
    assert [len(artifact["parts"]) for artifact in kept["artifacts"]] == [30]
    assert set(Counter(message["messageId"] for message in kept["history"]).values()) == {1}
    shown = json.loads(ramify(tmp_path, "show", told.tree["id"], "--json").stdout)
    assert [len(artifact["parts"]) for artifact in shown["artifacts"]] == [30]


async def test_an_agent_of_0_3_is_watched_only_where_somebody_asks_for_it(tmp_path: Path) -> None:
    async with agents("03") as [only]:
        task = task_of(await ask("03", only.url, "send", "plan depth=1 sleep=2 ask=0", "--immediately"))
        store_url = f"sqlite:{tmp_path}/s.db"
        async with following(tmp_path, only.url, "--task", task, "--resubscribe", "--store", store_url) as told:
            line = await told.until("input-required")  # to such a task this agent gives no stream
            await ask("03", only.url, "stream", "blue", "--task", line.rpartition("(")[2].rstrip(")"))
            await told.over()
    assert (told.status, [one["status"] for one in each(told.tree)]) == (0, ["completed", "completed"])
    store = Ramify.open(store_url)
    asked = [json.loads(seen.body).get("body") for _, seen in store.store.observations() if isinstance(seen, Record)]
    store.close()
    assert "tasks/resubscribe" in {body.get("method") for body in asked if isinstance(body, dict)}


async def test_a_message_that_is_answered_at_once_is_one_task_that_is_over(tmp_path: Path) -> None:
    async with agents("1") as [only]:
        told = await follow(tmp_path, only.url, "--say", "plan bare=0")
    assert (told.status, told.tree["status"], told.lines[-1]) == (0, "completed", "Task: at once")


async def test_our_own_looks_are_kept_as_such_and_repeat_nothing(tmp_path: Path) -> None:
    async with agents("03") as [only]:
        await follow(tmp_path, only.url, "--say", "plan depth=1 sleep=3", "--store", f"sqlite:{tmp_path}/s.db")
    store = Ramify.open(f"sqlite:{tmp_path}/s.db")
    frames = [json.loads(seen.body) for _, seen in store.store.observations() if isinstance(seen, Record)]
    sources = {seen.source for _, seen in store.store.observations()}
    store.close()
    asked = [frame for frame in frames if frame["kind"] == "request"]
    marked = [("x-ramify-follow" in frame["headers"], (frame.get("body") or {}).get("method")) for frame in asked]
    assert sources == {"follow"}
    assert {method for own, method in marked if not own} == {"message/stream"}
    assert {method for own, method in marked if own} == {None, "tasks/get"}
    assert len(asked) < 15  # a child is looked at some twenty times


async def test_what_is_followed_goes_through_the_server_that_has_the_same_store(tmp_path: Path) -> None:
    async with agents("1") as [only], serve(only.url, tmp_path) as server:
        port = server.url.rpartition(":")[2]
        told = await follow(tmp_path, only.url, "--say", "plan depth=1", "--store", server.store, "--port", port)
        there = await server.ask(f"tasks/{told.tree['id']}/tree")
        sources = await server.ask("health")
    assert (told.status, outline(there)) == (0, outline(told.tree))
    assert sources["capture"]["lost"] == 0


async def test_on_a_terminal_the_question_is_asked_and_the_answer_sent(tmp_path: Path) -> None:
    async with agents("1") as [only]:
        ours, theirs = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ramify", "follow", only.url, "--say", "plan ask=0"),
            env=environment(tmp_path, TERM="xterm"), stdin=theirs, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        screen = await read_until(ours, b"what now?")
        await asyncio.sleep(0.5)
        os.write(ours, b"blue\n")
        status = await asyncio.wait_for(process.wait(), 20)
        os.close(ours)
        task = (await ask("1", only.url, "list"))[0]["event"]["tasks"][0]
    assert b"asks: Task: what now?" in screen
    assert (status, states([{"event": task}])[0]) == (0, "completed")


async def read_until(terminal: int, words: bytes) -> bytes:
    screen = b""
    async with asyncio.timeout(20):
        while words not in screen:
            screen += await asyncio.to_thread(os.read, terminal, 4096)
    return screen


@pytest.mark.parametrize(("version", "binding"), [("1", "HTTP+JSON"), ("03", "HTTP+JSON"), ("1", "JSONRPC"), ("03", "JSONRPC")])
@pytest.mark.parametrize("streams", [True, False])
async def test_every_binding_is_spoken_and_agents_that_do_not_stream_are_read(version: str, binding: Binding, streams: bool) -> None:
    seen, told = Seen(), list[str]()
    async with agents(version) as [only], ClientSession() as http:
        one = Peer(only.url, http, Place(seen, "default", lambda: time.time_ns() // 1000), "a")
        one.offer = Offer("1.0" if version == "1" else "0.3", binding, only.url + ("/" if binding == "JSONRPC" else ""), streams=streams)
        follower = Follower(one, [], Watcher(lambda task: told.append(task.state)))
        await asyncio.wait_for(follower.say("plan depth=1 fanout=2 sleep=1"), 30)
    expected = 1 if (version, binding) == ("03", "HTTP+JSON") else 3  # whose messages cannot name tasks
    assert [task.state for task in follower.forest.each()] == ["completed"] * expected
    assert told[0] in ("submitted", "working")


async def test_agents_that_the_server_of_the_store_knows_need_no_naming_and_one_behind_it_keeps_its_name(tmp_path: Path) -> None:
    async with agents("1", "03") as [new, old], serve(new.url, tmp_path, RAMIFY_A2A=f"new={new.url},old={old.url}") as server:
        words = ("--say", f"plan depth=1 at={old.url}", "--store", server.store, "--port", server.url.rpartition(":")[2])
        for url in (new.url, f"{new.url}/.well-known/agent-card.json", f"{server.url}/a2a/new"):
            told = await follow(tmp_path, url, *words)
            assert (told.status, outline(told.tree)) == (0, done("new", done("old"))), url
        assert len(await server.all("tasks")) == 6  # each once, whoever has seen it


async def test_a_hundred_children_are_followed_at_once(tmp_path: Path) -> None:
    async with agents("1") as [only]:
        told = await follow(tmp_path, only.url, "--say", "plan depth=1 fanout=100 sleep=1")
    assert (told.status, len(told.tree["children"])) == (0, 100)
    assert {task["status"] for task in each(told.tree)} == {"completed"}
