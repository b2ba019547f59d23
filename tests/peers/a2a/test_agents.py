"""A real client of each version sees through the proxy what it sees without it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.capture.a2a.world import frames, watched
from tests.capture.world import Seen, until
from tests.peers.a2a.world import Agent, agent, alike, ask, client, states, task_of

pytestmark = pytest.mark.peer
# Who talks to whom, and how: each version to its own, a new client to an old agent, an old client to a new agent.
PAIRS = [
    ("1", "1", "JSONRPC"),
    ("1", "1", "HTTP+JSON"),
    ("03", "03", "JSONRPC"),
    ("03", "03", "HTTP+JSON"),
    ("1", "03", "JSONRPC"),
    ("03", "1", "JSONRPC"),
]
STORIES = (
    "plan depth=1 fanout=2 announce=each chunks=3",
    "plan ask=0",
    "plan auth=0",
    "plan reject=0",
    "plan fail=0",
    "plan raises=0",
    "plan bare=0",
)
LARGE = "plan large=8000000"


@asynccontextmanager
async def agents(*versions: str) -> AsyncIterator[tuple[dict[str, Agent], str, Seen]]:
    """Agents by their versions, the address of the proxy, and what it saw."""
    seen = Seen()
    async with AsyncExitStack() as stack:
        running = {version: await stack.enter_async_context(agent(version)) for version in versions}
        names = {f"v{version}": each.url for version, each in running.items()}
        front = await stack.enter_async_context(watched(names, seen))
        yield running, f"{front.url}/a2a", seen


@pytest.mark.parametrize(("asker", "asked", "binding"), PAIRS)
async def test_a_client_sees_the_same_events_in_the_same_order_with_and_without_us(asker: str, asked: str, binding: str) -> None:
    async with agents(asked) as (running, front, seen):
        urls = (running[asked].url, f"{front}/v{asked}")
        for verb in ("stream", "send"):
            direct, through = [alike(await ask(asker, url, verb, *STORIES, "--binding", binding), url) for url in urls]
            assert through == direct
            assert len(direct) > len(STORIES)
    paths = {frame["path"] for frame in frames(seen) if frame["kind"] == "request"}
    assert any("message:stream" in path for path in paths) == (binding == "HTTP+JSON")  # no call has passed us by
    assert {"/.well-known/agent-card.json"} < paths


async def test_what_was_seen_is_what_the_client_got() -> None:
    async with agents("1") as (_, front, seen):
        got = await ask("1", f"{front}/v1", "stream", "plan depth=1 fanout=1")
        await until(lambda: any(frame["kind"] == "end" for frame in frames(seen)))
    told = frames(seen)
    stream = "".join(frame["raw"] for frame in told if frame["kind"] == "sse")
    events = [json.loads(line.removeprefix("data: "))["result"] for line in stream.split("\r\n") if line.startswith("data: ")]
    assert events == [line["event"] for line in got if "event" in line]
    request = next(frame for frame in told if frame["kind"] == "request" and frame["method"] == "POST")
    assert request["headers"]["a2a-version"] == "1.0"
    assert request["body"]["method"] == "SendStreamingMessage"


@pytest.mark.parametrize("version", ["1", "03"])
async def test_tasks_are_read_answered_and_canceled_through_us(version: str) -> None:
    async with agents(version) as (_, front, _):
        url = f"{front}/v{version}"
        asked = await ask(version, url, "stream", "plan ask=0")
        assert states(asked)[-1] == "input-required"
        task = task_of(asked)
        answered = await ask(version, url, "stream", "blue", "--task", task)
        assert states(answered)[-1] == "completed"
        assert states(await ask(version, url, "get", "--task", task))[-1] == "completed"
        waiting = task_of(await ask(version, url, "send", "plan sleep=20", "--immediately"))
        assert states(await ask(version, url, "cancel", "--task", waiting))[-1] == "canceled"
        if version == "1":
            listed = await ask(version, url, "list")
            assert {each["id"] for each in listed[0]["event"]["tasks"]} == {task, waiting}
        for verb in ("get", "cancel", "subscribe"):
            assert "error" in (await ask(version, url, verb, "--task", "no-such-task"))[-1]


@pytest.mark.parametrize("version", ["1", "03"])
async def test_a_second_watcher_gets_its_events_through_us(version: str) -> None:
    async with agents(version) as (_, front, _):
        url = f"{front}/v{version}"
        async with client(version, url, "stream", "plan sleep=2") as lines:
            first = await anext(lines)
            second = await ask(version, url, "subscribe", "--task", task_of([first]))
        assert states(second)[-1] == "completed"


@pytest.mark.parametrize("version", ["1", "03"])
async def test_a_client_finds_the_agents_card_and_the_extended_one_leading_to_us(version: str) -> None:
    async with agents(version) as (_, front, _), aiohttp.ClientSession() as http:
        url = f"{front}/v{version}"
        async with http.get(f"{url}/.well-known/agent-card.json") as answer:
            card, tag = await answer.json(), answer.headers["etag"]
        async with http.get(f"{url}/.well-known/agent-card.json", headers={"if-none-match": tag}) as answer:
            assert answer.status == 304
        found: list[str] = []
        for place in ("/extendedAgentCard", "/v1/card", "/agent/authenticatedExtendedCard"):
            async with http.get(url + place, headers={"a2a-version": "1.0"}) as answer:
                if answer.status == 200:
                    found += addresses(await answer.json())
        called = addresses((await ask(version, url, "card"))[0]["event"])
    assert all(address.startswith(url) for address in (*addresses(card), *found, *called))
    assert all(len(each) >= 3 for each in (addresses(card), found, called))


def addresses(card: dict[str, Any]) -> list[str]:
    parts = [card, *card.get("additionalInterfaces", []), *card.get("supportedInterfaces", [])]
    return [part["url"] for part in parts if part.get("url")]


@pytest.mark.parametrize("version", ["1", "03"])
async def test_an_agent_that_is_killed_breaks_the_stream_for_the_client_as_without_us(version: str) -> None:
    ends = []
    for through in (False, True):
        async with agents(version) as (running, front, seen):
            url = f"{front}/v{version}" if through else running[version].url
            async with client(version, url, "stream", "plan sleep=20") as lines:
                await anext(lines)
                running[version].kill()
                ends.append([line async for line in lines][-1])
            if through:
                await until(lambda: any(frame["kind"] == "abort" for frame in frames(seen)))
                assert frames(seen)[-1]["by"] == "agent"
    assert "error" in ends[0]
    assert ends[1]["error"] == ends[0]["error"]


async def test_a_client_that_is_killed_leaves_an_abort_and_a_task_that_goes_on() -> None:
    async with agents("1") as (_, front, seen):
        async with client("1", f"{front}/v1", "stream", "plan sleep=2") as lines:
            task = task_of([await anext(lines)])
        await until(lambda: any(frame["kind"] == "abort" for frame in frames(seen)))
        assert frames(seen)[-1]["by"] == "client"
        await asyncio.sleep(2.5)
        assert states(await ask("1", f"{front}/v1", "get", "--task", task))[-1] == "completed"


async def test_two_hundred_streams_of_a_real_client_pass_at_once() -> None:
    async with agents("1") as (_, front, seen):
        got = await ask("1", f"{front}/v1", "stream", "plan chunks=3 sleep=2", "--times", "200")
        assert sum("end" in line for line in got) == 200
        assert not [line for line in got if "error" in line]
        await until(lambda: sum(frame["kind"] == "end" for frame in frames(seen)) == 200, 10)
    told = {json.dumps(alike(line for line in got if line["number"] == number)) for number in range(200)}
    assert len(told) == 1  # all of them the same


@pytest.mark.parametrize("version", ["1", "03"])
async def test_a_large_artifact_passes_whole(version: str) -> None:
    async with agents(version) as (running, front, _):
        direct = await ask(version, running[version].url, "stream", LARGE)
        through = await ask(version, f"{front}/v{version}", "stream", LARGE)
    assert alike(through) == alike(direct)
    assert max(len(json.dumps(line)) for line in through) > 10_000_000


async def test_the_headers_of_a_trace_reach_the_agents_and_the_log() -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    async with agents("1") as (_, front, seen):
        await ask("1", f"{front}/v1", "send", "plan", "--header", f"traceparent={trace}", "--header", "authorization=Bearer abc")
        await until(lambda: any(frame["kind"] == "response" and "result" in str(frame["body"]) for frame in frames(seen)))
    call = next(frame for frame in frames(seen) if frame.get("method") == "POST")
    assert call["headers"]["traceparent"] == trace
    assert call["headers"]["authorization"] == "[redacted]"


async def test_streams_on_which_nothing_happens_stay_open_and_pings_pass() -> None:
    """Agents ping every fifteen seconds."""
    async with agents("1", "03") as (_, front, seen):
        got = await asyncio.gather(*(ask(version, f"{front}/v{version}", "stream", "plan sleep=35") for version in ("1", "03")))
        await until(lambda: sum(frame["kind"] == "end" for frame in frames(seen)) == 2)
    assert [states(lines)[-1] for lines in got] == ["completed", "completed"]
    for name in ("v1", "v03"):
        raw = "".join(frame.get("raw", "") for frame in frames(seen) if frame["agent"] == name)
        assert raw.count(": ping") == 2
