"""The real client cannot tell whether the proxy is there, and neither can the API behind it."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from ramify.capture.head import HOP_BY_HOP
from ramify.demo.upstream import Received, Upstream, serving
from tests.capture.world import Seen, proxied, until
from tests.peers.claude_cli import CliRun, Script, Story, run_story
from tests.peers.stories import STORIES

RANDOM = (
    (rb'device_id\\":\\"[0-9a-f]+', b"device_id"),
    (rb"\ba[0-9a-f]{16}\b", b"AGENT"),
    (rb"duration_ms(\\?\"?[:>] ?)\d+", b"duration_ms"),
    (rb'("tool_use_id":"toolu_\w+?)\d\d"', rb"\1"),  # twins: either may be the first to come back
    (rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", b"UUID"),
)
"""What the client draws, measures or races for anew in every run."""

pytestmark = pytest.mark.peer


@dataclass
class Told:
    """One story, told once: what the client gave back, what the API was asked, what was observed."""

    run: CliRun
    requests: list[Received]
    seen: Seen


async def tell(story: Story, folder: Path, *, through_proxy: bool) -> Told:
    """Both times in folders of the same name: the client writes its working folder into its requests."""
    seen = Seen()
    async with serving(Script(story)) as upstream, proxied(upstream.url, seen) as front:
        url = front.url if through_proxy else upstream.url
        run = await run_story(story, url, folder / "world", lambda: mid_stream(upstream))
        if through_proxy:
            await until(lambda: len(seen.responses) == len(upstream.requests))
        else:
            (folder / "world").rename(folder / "world-before")
        if story.stopped_by:
            await until(lambda: upstream.requests[-1].left)
    return Told(run, upstream.requests, seen)


async def mid_stream(upstream: Upstream) -> None:
    await until(lambda: any(received.sent == 4 for received in upstream.requests), seconds=30)


def bare(received: Received) -> tuple[bytes, ...]:
    """A request without what may differ: what belongs to one hop, and what the client makes up."""
    head = b"".join(
        name + b": " + value + b"\n"
        for name, value in received.headers
        if name.lower() not in HOP_BY_HOP | {b"host", b"content-length"}
    )
    raw = (received.method.encode(), received.path.encode(), head, received.body)
    return tuple(settled(part) for part in raw)


def settled(raw: bytes) -> bytes:
    for pattern, word in RANDOM:
        raw = re.sub(pattern, word, raw)
    return raw


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name.replace(" ", "-"))
async def test_a_story_is_the_same_with_and_without_the_proxy(story: Story, tmp_path: Path) -> None:
    direct = await tell(story, tmp_path, through_proxy=False)
    proxied_ = await tell(story, tmp_path, through_proxy=True)
    assert (proxied_.run.exit, proxied_.run.text) == (direct.run.exit, direct.run.text)
    assert sorted(map(bare, proxied_.requests)) == sorted(map(bare, direct.requests))
    assert not any("ramify" in str(received.headers).lower() for received in proxied_.requests)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name.replace(" ", "-"))
async def test_every_request_of_a_story_is_observed_as_the_api_got_it(story: Story, tmp_path: Path) -> None:
    told = await tell(story, tmp_path, through_proxy=True)
    wanted = sorted((received.path, received.body) for received in told.requests)
    assert sorted((request.path, request.body) for request in told.seen.requests) == wanted
    outcomes = {response.outcome for response in told.seen.responses}
    assert outcomes == ({"aborted"} if story.stopped_by else {"complete"})
