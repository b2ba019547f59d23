"""Agents that talk to agents, for a browser to look at: recorded runs, and small ones that a test tells frame by frame."""

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

from ramify.model.observation import Record
from ramify.protocols.adcp.keep import Entry, keep
from tests import event_story
from tests.browser.world import World
from tests.linking.a2a_builder import Connection, Wire, message, record
from tests.story import CASES
from tests.test_mesh_cases import lines, observed

Shape = dict[str, Any]


def a2a_case(name: str) -> list[Record]:
    frames = (CASES / "a2a" / name / "frames.jsonl").read_text("utf-8").splitlines()
    return [record(json.loads(frame), "default") for frame in frames]


def show_a2a(server: World, name: str) -> str:
    """The id of the run's root."""
    server.see(a2a_case(name))
    return newest_root(server, "a2a")


def show_mesh(server: World, name: str) -> str:
    server.see(observed(lines(name)))
    return newest_root(server, "sam")


def show_log(server: World, name: str) -> None:
    entries = zip(count(event_story.START, 1000), event_story.lines(name), strict=False)
    server.see(keep(line, Entry("default", at, "local", at=at, identity=f"{name} {at}")) for at, line in entries)


def newest_root(server: World, protocol: str) -> str:
    roots = server.served.questions.tasks(roots=True, limit=0)["items"]
    return str(next(task["id"] for task in roots if any(ref["protocol"] == protocol for ref in task["refs"])))


class Agents(Wire):
    """What passes between agents while somebody looks; `seen` lets the server see what is new."""

    def __init__(self, server: World) -> None:
        super().__init__()
        self.server = server
        self._told = 0

    def seen(self) -> None:
        fresh = self.frames[self._told :]
        self._told = len(self.frames)
        self.server.see(record(frame, "default") for frame in fresh)

    def id(self, native: str) -> str:
        return str(self.server.served.questions.task(native)["id"])


def announce(line: Connection, parent: str, *children: str, title: str, state: str = "WORKING") -> None:
    said = message(f"handing over to {title}", f"{parent}-names-{'-'.join(children)}", refs=children, metadata={"referencedWorkflow": {"workflowName": title}})
    line.status(parent, state, said)


def made(id: str, *parts: Shape, name: str = "", **more: Any) -> Shape:
    return {"artifactId": id, "name": name or id, "parts": list(parts), **more}


def texts(*words: str) -> Sequence[Shape]:
    return [{"text": word} for word in words]
