"""Tasks that have ids of their own find their place in any order, and move with their links."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramify.ingest import Ingest
from ramify.linking import adoption
from ramify.linking.world import World
from ramify.model.entity import Artifact, ArtifactPart, Message, NativeRef, Note, Task, ToolCall
from ramify.model.link import Link
from ramify.model.observation import Correction
from ramify.model.usage import Usage
from ramify.naming import refs_of
from ramify.query.errors import Ambiguous
from ramify.query.service import Questions
from ramify.storage.base import Changes, Store
from ramify.storage.sqlite import open_sqlite


class Told:
    """A store that is told of tasks directly, one batch for each act."""

    def __init__(self) -> None:
        self.store: Store = open_sqlite("memory:")
        self.ingest = Ingest(self.store)

    @property
    def world(self) -> World:
        return self.ingest.world

    def keep(self) -> None:
        rows = self.world.dirty
        self.store.append((), Changes(rows, self.world.added, tuple(refs_of(rows))))
        self.world.begin()

    def put(self, name: str, parent: str = "", **fields: Any) -> bool:
        task = self.world.task(f"task_{name}") or Task(f"task_{name}", "p", protocol="a2a", agent="planner")
        link = Link("spawned", f"task_{parent}", "referenceTaskIds", 1.0) if parent else None
        given: dict[str, Any] = {"opened": 1000, "home": f"conv_{name}", "status": "working", "title": name, **fields}
        for field, value in given.items():
            setattr(task, field, value)
        task.refs = (
            NativeRef("a2a", "task", name, task.agent),
            NativeRef("a2a", "context", f"ctx-{task.home.removeprefix('conv_')}", task.agent),
        )
        taken = adoption.put(self.world, task, link)
        self.keep()
        return taken

    def rows(self) -> dict[str, Any]:
        tables = ("tasks", "lines", "conversations")
        return {table: sorted(msgspec.json.encode(row) for row in self.store.docs(table)) for table in tables}

    @property
    def ask(self) -> Questions:
        return Questions(self.store)


def test_a_child_stands_in_its_roots_conversation_whoever_comes_first() -> None:
    told = Told()
    told.put("child", "root", opened=2000, usage=Usage(1, 10, 5), calls=1)
    assert told.ask.task("task_child")["conversation"] == "conv_child"
    told.put("root", opened=1000)
    child = told.ask.task("task_child")
    assert (child["conversation"], child["branch"], child["root"], child["depth"]) == ("conv_root", "subtask_1", "task_root", 1)
    conversations = told.ask.conversations()["items"]
    assert [(row["id"], row["tasks"], row["calls"], row["usage"]["input"]) for row in conversations] == [("conv_root", 2, 1, 10)]
    assert conversations[0]["refs"] == [{"protocol": "a2a", "kind": "context", "value": "ctx-root", "scope": "planner"}]


def test_a_circle_is_not_taken() -> None:
    told = Told()
    assert told.put("a", "c")
    assert told.put("b", "a")
    assert not told.put("c", "b")
    assert told.ask.task("task_c")["link"] is None
    assert {task["id"] for task in told.ask.tasks(roots=True)["items"]} == {"task_c"}


def test_a_person_overrules_the_protocol_and_can_take_it_back() -> None:
    told = Told()
    for name, parent in (("one", ""), ("two", ""), ("child", "one"), ("grandchild", "child")):
        told.put(name, parent)
    told.ingest.step([Correction("obs_1", "p", 1, "cli", "link", "task_child", "task_two")])
    assert told.ask.task("task_child")["link"]["rule"] == "manual"
    assert told.ask.task("task_grandchild")["conversation"] == "conv_two"
    assert told.ask.why("task_child")["candidates"][0]["rejected_because"] == "a person said otherwise"
    told.put("child", "one", status="completed", closed=5000)
    assert told.ask.task("task_child")["link"]["parent"] == "task_two"
    told.ingest.step([Correction("obs_2", "p", 2, "cli", "unlink", "task_child")])
    assert told.ask.task("task_child")["branch"] == "main"
    assert told.ask.task("task_grandchild")["conversation"] == "conv_child"


def test_an_id_that_two_agents_use_is_exact_with_its_agent() -> None:
    told = Told()
    told.put("x")
    other = Task("task_other", "p", protocol="a2a", agent="writer", opened=1, refs=(NativeRef("a2a", "task", "x", "writer"),))
    adoption.put(told.world, other, None)
    told.keep()
    with pytest.raises(Ambiguous):
        told.ask.task("x")
    assert told.ask.task("writer/x")["id"] == "task_other"
    assert told.ask.task("a2a:task:planner/x")["id"] == "task_x"


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_any_order_gives_the_same_rows(seed: int) -> None:
    chance = random.Random(seed)
    parents = {f"t{n}": f"t{chance.randrange(n)}" if n and chance.random() < 0.8 else "" for n in range(8)}
    acts = [
        (name, parent, {"opened": 1000 + 10 * int(name[1:]), "usage": Usage(1, int(name[1:])), "calls": 1, "active": 5000})
        for name, parent in parents.items()
    ]
    found = []
    for _ in range(3):
        told = Told()
        for name, parent, fields in chance.sample(acts, len(acts)):
            told.put(name, parent, **fields)
        for name, parent, fields in chance.sample(acts, 3):
            told.put(name, parent, **fields)
        found.append(told.rows())
    assert found[0] == found[1] == found[2]


def test_a_task_that_nobody_tells_of_any_more_leaves_no_trace() -> None:
    told = Told()
    told.put("root")
    told.put("child", "root")
    told.put("grandchild", "child")
    adoption.remove(told.world, "task_child")
    told.keep()
    assert told.ask.task("task_grandchild")["conversation"] == "conv_grandchild"
    adoption.remove(told.world, "task_grandchild")
    adoption.remove(told.world, "task_root")
    told.keep()
    assert told.rows() == {"tasks": [], "lines": [], "conversations": []}


def test_tools_messages_thoughts_and_artifacts_are_shown_as_they_were_kept() -> None:
    told = Told()
    told.put("root")
    world = told.world
    world.save("tools", ToolCall("tool_1", "call_1", "p", name="search", opened=1100, closed=1500, status="ok", protocol="sam",
                                 task="task_root", args=b'{"q":1}', result=b'"found"', phases=("llm_response", "tool_result")))
    world.save("messages", Message("msg_1", "p", "task_root", 1050, protocol="a2a", role="user", author="human",
                                   reason="a root", blocks=b'[{"type":"text","text":"plan"}]'))
    world.save("notes", Note("note_1", "task_root", 1080, 0, "thinking", "hm"))
    world.save("artifacts", Artifact("art_1", "task_root", "report", "Report", 1200, parts=b'[{"text":"a"}]', more=1))
    world.save("artifact_parts", ArtifactPart("art_1.1", b'[{"text":"b"}]'))
    told.keep()
    ask = told.ask
    assert [(tool["args"], tool["result"], tool["type"]) for tool in ask.tools("task_root")["items"]] == [({"q": 1}, "found", "tool_result")]
    assert ask.tool("call_1")["task"] == "task_root"
    assert [message["blocks"][0]["text"] for message in ask.messages("task_root")["items"]] == ["plan"]
    assert [block["text"] for block in ask.reasoning("task_root")["items"]] == ["hm"]
    assert ask.task("task_root")["artifacts"] == [
        {"artifactId": "report", "name": "Report", "parts": [{"text": "a"}, {"text": "b"}], "timestamp": "1970-01-01T00:00:00.001200Z"}
    ]
    assert [(one["task"], len(one["parts"])) for one in ask.artifacts("task_root", tree=True)["items"]] == [("task_root", 2)]
