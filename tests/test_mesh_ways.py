"""Every recorded run of a mesh, asked in Python, at the command line and over HTTP: the true answers, however its messages came."""

import asyncio
import json
import random
import re
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from itertools import product
from typing import Any, NamedTuple
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from ramify.cli.main import main
from ramify.query import TaskQueryService
from ramify.query.flow import flow
from ramify.query.service import Questions
from ramify.storage.sqlite import open_sqlite
from tests import mesh_verdicts, story
from tests.mesh_verdicts import Entry
from tests.test_mesh_cases import CASES, later, lines, noise
from tests.web.served import Small, serving

Ask = Callable[..., Any]
LISTS = ("tasks", "conversations", "tools", "reasoning", "subtasks", "messages")


# -- how the messages come -------------------------------------------------------------------------------------------------


def shuffled(given: list[bytes]) -> list[bytes]:
    return random.Random(len(given)).sample(given, len(given))


def among_noise(given: list[bytes]) -> list[bytes]:
    """A card of somebody, and what is nobody's business, before each message."""
    return [line for pair in zip(noise(len(given)), given, strict=True) for line in pair]


def with_tokens(given: list[bytes]) -> list[bytes]:
    """As Python's `json` writes what is no number: JSON does not know these words."""
    found = [re.sub(rb'"payload": ?\{', b'"payload": {"score": NaN, "most": Infinity, "least": -Infinity, ', line, count=1) for line in given]
    assert all(b"NaN" in line for line in found)
    return found


COURSES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "as given": list,
    "shuffled": shuffled,
    "twice": lambda given: [*given, *map(later, given)],
    "twice and shuffled": lambda given: shuffled([*given, *map(later, given)]),
    "among noise": among_noise,
    "with NaN": with_tokens,
}


class Told(NamedTuple):
    """A store that the command line filled, and the true course of what is in it."""

    url: str
    truth: Entry


@pytest.fixture(scope="module", params=product(CASES, COURSES), ids=lambda pair: f"{pair[0]}-{pair[1]}")
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    case, course = request.param
    folder = tmp_path_factory.mktemp("mesh")
    url, file = f"sqlite:{folder}/x.db", folder / "messages.jsonl"
    file.write_bytes(b"\n".join(COURSES[course](lines(case))))
    report = typed("import", str(file), "--format", "sam", "--store", url)
    assert (report["unreadable_count"], report["read"]) == (0, len(file.read_bytes().splitlines()))
    return Told(url, story.expected("sam", case))


# -- how it is asked -------------------------------------------------------------------------------------------------------


def typed(*words: str) -> Any:
    """At the command line, without the process around it."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([*words, "--json"])
    assert status == 0, err.getvalue()
    return json.loads(out.getvalue())


def at_the_command_line(url: str) -> Ask:
    def ask(question: str, id: str = "", tree: bool = False) -> Any:
        words = [question, *([id] if id else []), *(["--tree"] if tree else []), *(["--limit", "0"] if question in LISTS else [])]
        return typed(*words, "--store", url)

    return ask


def over_http(address: str) -> Ask:
    def ask(question: str, id: str = "", tree: bool = False) -> Any:
        named = quote(id, safe="")
        path = {"show": f"tasks/{named}", "tool": f"tools/{named}"}.get(question, f"tasks/{named}/{question}" if id else question)
        asked = (["limit=1000"] if question in LISTS else []) + (["tree=true"] if tree else [])
        with urlopen(f"{address}/api/{path}?{'&'.join(asked)}", timeout=30) as response:
            return json.load(response)

    return ask


class Asked(Questions):
    """Answers that come from elsewhere, in place of the store's own. Tasks are asked for by the mesh's own ids."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._native: dict[str, str] = {}

    def tasks(self, **given: Any) -> Any:
        found = self._ask("tasks")
        self._native = {task["id"]: mesh_verdicts.native_id(task) for task in found["items"]}
        return found

    def conversations(self, **given: Any) -> Any:
        return self._ask("conversations")

    def task(self, id: str) -> Any:
        return self._ask("show", self._native[id])

    def tools(self, id: str, *, tree: bool = False, **given: Any) -> Any:
        return self._ask("tools", self._native[id], tree)

    def reasoning(self, id: str, **given: Any) -> Any:
        return self._ask("reasoning", self._native[id])

    def subtasks(self, id: str, *, tree: bool = False, **given: Any) -> Any:
        return self._ask("subtasks", self._native[id], tree)


def differences(ask: Ask, truth: Entry) -> list[str]:
    root = truth["root_task_id"]
    found = mesh_verdicts.differences(Asked(ask), truth)
    found += mesh_verdicts.flow(ask("flow", root), truth)
    found += [] if ask("messages", root)["items"] else ["nothing was said"]
    found += [] if ask("why", root)["id"] == ask("show", root)["id"] else ["why tells of another task"]
    for call in truth["tool_calls"]:
        tool = ask("tool", f"sam:call:{call['task_id']}/{call['call_id']}/{call['occurrence']}")
        found += mesh_verdicts.compare(call["call_id"], {name: tool[name] for name in ("name", "args", "status")}, call)
    return found


# -- and what is answered --------------------------------------------------------------------------------------------------


def test_in_python(told: Told) -> None:
    store = open_sqlite(told.url)
    try:
        questions = Questions(store)
        assert mesh_verdicts.differences(questions, told.truth) == []
        assert mesh_verdicts.flow(flow(questions, told.truth["root_task_id"]), told.truth) == []
        asked = TaskQueryService(questions)
        for check in (check_tool_calls, check_reasoning, check_sub_tasks, check_flow):
            check(asked, told.truth)
    finally:
        store.close()


def test_at_the_command_line(told: Told) -> None:
    assert differences(at_the_command_line(told.url), told.truth) == []


async def test_over_http(told: Told) -> None:
    small = Small()
    store = open_sqlite(told.url)
    small.questions = Questions(store)  # type: ignore[assignment]
    try:
        async with serving(small) as client:
            assert await asyncio.to_thread(differences, over_http(str(client.make_url("")).rstrip("/")), told.truth) == []
    finally:
        store.close()


def check_tool_calls(asked: TaskQueryService, truth: Entry) -> None:
    found = asked.get_tool_calls_by_task(truth["root_task_id"], include_subtasks=True)
    told = {(call.task_id, call.id, call.occurrence): call for call in found}
    assert len(told) == len(found) == truth["totals"]["tool_calls"]
    for entry in truth["tool_calls"]:
        call = told[entry["task_id"], entry["call_id"], entry["occurrence"]]
        assert (call.name, call.args, call.type, call.status, call.phases, call.duration_ms, call.agent_name) == tuple(
            entry[name] for name in ("name", "args", "type", "status", "phases", "duration_ms", "agent_name")
        )
        assert call.child_task_ids == ([entry["child_task_id"]] if entry["child_task_id"] else [])
        assert (call.started_at is not None) == ("tool_invocation_start" in entry["phases"])
        one = asked.get_tool_call_with_io(entry["call_id"], task_id=entry["task_id"])
        assert (one.input, one.ref, (one.output is not None), one.result_source) == (entry["args"], call.ref, entry["has_result"], entry["result_source"])
    for entry in truth["tasks"]:
        own = asked.get_tool_calls_by_task(entry["task_id"])
        assert len(own) == sum(call["task_id"] == entry["task_id"] for call in truth["tool_calls"])


def check_reasoning(asked: TaskQueryService, truth: Entry) -> None:
    for entry in truth["reasoning"]:
        for kind in ("thinking", "explanation", "progress"):
            assert [block.text for block in asked.get_reasoning_for_task(entry["task_id"], kinds=[kind])] == entry[kind]
        contexts = asked.get_reasoning_for_task(entry["task_id"], kinds=["context"])
        assert len(contexts) == entry["contexts"]
        assert all(block.conversation_history and block.model for block in contexts)


def check_sub_tasks(asked: TaskQueryService, truth: Entry) -> None:
    found = {one.task_id: one for one in asked.get_subtasks(truth["root_task_id"], recursive=True)}
    wanted = {entry["task_id"]: entry for entry in truth["tasks"] if entry["depth"]}
    assert list(found) == list(wanted)
    for id, entry in wanted.items():
        one = found[id]
        assert (one.parent_task_id, one.agent_name, one.num_messages, one.depth, one.status) == (
            entry["parent_task_id"], entry["agent_name"], entry["own_messages"], entry["depth"], entry["status"],
        )  # fmt: skip
        assert (one.function_call_id, one.delegating_agent_name) == (entry["function_call_id"], entry["delegating_agent_name"])
        assert one.ended_at is not None
        assert one.ended_at.isoformat() == entry["ended_at"]
    direct = asked.get_subtasks(truth["root_task_id"])
    assert [one.task_id for one in direct] == [id for id, entry in wanted.items() if entry["depth"] == 1]


def check_flow(asked: TaskQueryService, truth: Entry) -> None:
    whole = asked.get_complete_task_flow(truth["root_task_id"])
    totals = truth["totals"]
    assert (whole.task_id, whole.context_id, whole.status, whole.final_text) == (truth["root_task_id"], truth["context_id"], truth["final_status"], truth["final_text"])
    assert (len(whole.tool_calls), len(whole.subtasks), whole.tree_usage["input"]) == (totals["tool_calls"], totals["subtasks"], totals["input_tokens"])
    assert [(one["rating"], one["comment"]) for one in whole.feedback] == [(one["rating"], one["comment"]) for one in truth["feedback"]]
