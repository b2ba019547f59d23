"""A story told to the real client through the real server, and everything that the server then says of it."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ramify.demo.upstream import Received, Upstream, serving
from tests.capture.world import until
from tests.peers.claude_cli import CliRun, Metered, Script, Story, run_story
from tests.peers.served import Answer, Server, serve


@dataclass
class Told:
    """What was told by everybody: the client, the API behind the server, and the server."""

    story: Story
    run: CliRun
    requests: list[Received]
    script: Metered
    conversations: list[Answer] = field(default_factory=list)
    trees: list[Answer] = field(default_factory=list)
    tasks: list[Answer] = field(default_factory=list)
    calls: list[Answer] = field(default_factory=list)
    tools: dict[str, list[Answer]] = field(default_factory=dict)
    messages: dict[str, list[Answer]] = field(default_factory=dict)

    @property
    def root(self) -> Answer:
        (root,) = self.trees[0]["roots"]
        assert isinstance(root, dict)
        return root

    @property
    def nodes(self) -> list[Answer]:
        return list(walk(self.root))

    @property
    def agents(self) -> list[Answer]:
        return [node for node in self.nodes if node["agent"]]


def walk(node: Answer) -> Iterator[Answer]:
    yield node
    for child in node["children"]:
        yield from walk(child)


async def mid_stream(upstream: Upstream) -> None:
    await until(lambda: any(received.sent == 4 for received in upstream.requests), seconds=30)
    await asyncio.sleep(0.3)  # what the API has written is on its way through two more processes


async def tell(story: Story, folder: Path, *later: Story) -> Told:
    """Later stories go on in the same session; what the client gave back is the last one's."""
    script = Metered(Script(story))
    async with serving(script) as upstream, serve(upstream.url, folder) as server:
        for one in (story, *later):
            script.script = Script(one)
            run = await run_story(one, server.url, folder / "world", lambda: mid_stream(upstream))
        await server.settled(len(upstream.requests))
        told = Told(story, run, upstream.requests, script)
        await ask_everything(server, told)
    return told


async def ask_everything(server: Server, told: Told) -> None:
    told.conversations = await server.all("conversations")
    told.trees = [await server.ask(f"conversations/{one['id']}/tree") for one in told.conversations]
    told.tasks = await server.all("tasks")
    told.calls = (await server.all("calls"))[::-1]
    for task in told.tasks:
        told.tools[task["id"]] = await server.about(task["id"], "tools")
        told.messages[task["id"]] = await server.about(task["id"], "messages")
