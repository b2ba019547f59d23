"""A flow tells everything once, in order, whatever the source."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ramify.app import Ramify
from ramify.query.errors import NotFound
from ramify.query.flow import KINDS, flow, subtree
from ramify.query.service import Questions
from tests import test_mesh_cases as mesh_cases
from tests.a2a_verdicts import told as a2a_told
from tests.linking.a2a_builder import Wire, artifact, begin, message, records
from tests.story import CASES, anthropic_cases, exchanges, reports, told

FILES = {"exchanges": "exchanges.jsonl", "transcripts": "transcripts", "stream-json": "stream.jsonl", "sdk": "sdk_messages.jsonl"}
STORIES = [(case, source) for case in ("simple", "nested", "parallel", "background") for source, file in FILES.items() if (CASES / "claude" / case / file).exists()]
FIELDS = {"timestamp", "kind", "task", "id", "agent_name", "text", "status", "closed"}


def seen(case: str, source: str = "exchanges") -> Questions:
    return told(reports(CASES / "claude" / case, source))[1]


def root(questions: Questions) -> str:
    return str(max(questions.tasks(roots=True, limit=0)["items"], key=lambda task: task["subtasks"])["id"])


def of_kind(answer: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in answer["events"] if event["kind"] == kind]


def check(questions: Questions, id: str) -> None:
    answer = flow(questions, id)
    tasks = subtree(questions, id)
    assert set(answer) == {"task", "events", "totals", "open", "final_text", "feedback"}
    assert all(set(event) >= FIELDS and event["kind"] in KINDS for event in answer["events"])
    times = [event["timestamp"] for event in answer["events"] if event["timestamp"]]
    assert times == sorted(times)
    assert [event["id"] for event in of_kind(answer, "tool_call")] == list(dict.fromkeys(event["id"] for event in of_kind(answer, "tool_call")))
    assert {event["id"] for event in of_kind(answer, "tool_call")} == {tool["id"] for tool in questions.tools(id, tree=True, limit=0)["items"]}
    assert Counter(event["id"] for event in of_kind(answer, "subtask")) == Counter(set(tasks) - {id})
    assert all(event["task"] == tasks[event["id"]]["parent"] for event in of_kind(answer, "subtask"))
    assert {event["id"] for event in of_kind(answer, "request")} == set(tasks)
    ended = {event["id"] for event in of_kind(answer, "end")}
    assert ended | {one for one in answer["open"] if one.startswith("task_")} == set(tasks)
    assert not ended & set(answer["open"])
    assert len(of_kind(answer, "end")) == len({event["task"] for event in of_kind(answer, "end")})
    totals = answer["totals"]
    assert (totals["tasks"], totals["subtasks"]) == (len(tasks), len(tasks) - 1)
    assert len(of_kind(answer, "model_call")) >= totals["tree"]["calls"]
    assert (answer["final_text"] is None) >= (id in answer["open"])
    assert len(of_kind(answer, "thinking")) == len(questions.reasoning(id, tree=True, limit=0)["items"])


@pytest.mark.parametrize("case", anthropic_cases())
def test_every_task_of_the_wire_has_a_flow(case: str) -> None:
    _, questions = told(exchanges("anthropic", case))
    for task in questions.tasks(limit=0)["items"]:
        check(questions, task["id"])


@pytest.mark.parametrize(("case", "source"), STORIES)
def test_every_source_has_a_flow(case: str, source: str) -> None:
    questions = seen(case, source)
    for task in questions.tasks(limit=0)["items"]:
        check(questions, task["id"])


def test_a_prompt_is_told_once_and_the_last_words_are_the_end() -> None:
    questions = seen("nested")
    id = root(questions)
    answer = flow(questions, id)
    prompts = [event["text"] for event in of_kind(answer, "request")]
    assert answer["events"][0]["text"] == answer["task"]["prompt"]
    assert not [event for event in of_kind(answer, "message") if event["text"] in prompts]
    assert answer["final_text"] == [event["text"] for event in of_kind(answer, "message") if event["task"] == id][-1]


def test_asked_with_a_sub_task_it_answers_for_that_subtree() -> None:
    questions = seen("nested")
    whole = flow(questions, root(questions))
    child = of_kind(whole, "subtask")[0]["id"]
    part = flow(questions, child)
    assert part["task"]["id"] == child
    assert 0 < len(part["events"]) < len(whole["events"])
    inside = set(subtree(questions, child))
    assert {event["task"] for event in part["events"]} <= inside


def test_what_is_no_task_is_not_found() -> None:
    questions = seen("simple")
    with pytest.raises(NotFound, match="nobody"):
        flow(questions, "nobody")
    conversation = questions.conversations()["items"][0]["id"]
    with pytest.raises(NotFound, match="is a conversation, not a task") as refused:
        flow(questions, conversation)
    assert refused.value.hint == f"ramify tree {conversation} leads to its tasks"


def imported(tmp_path: Path, protocol: str) -> Questions:
    opened = Ramify.open(f"sqlite:{tmp_path}/store.db", write=True)
    files = [path for path in sorted((CASES / protocol).rglob("*")) if path.suffix in (".jsonl", ".stim") and "expected" not in path.name]
    opened.import_paths(files, "auto", lambda done, total: None)
    return opened.questions


@pytest.mark.parametrize("protocol", ["sam", "a2a", "events"])
def test_tasks_of_other_protocols_have_flows_too(tmp_path: Path, protocol: str) -> None:
    questions = imported(tmp_path, protocol)
    tasks = questions.tasks(limit=0)["items"]
    assert tasks
    for task in tasks:
        answer = flow(questions, task["id"])
        ends = [event["task"] for event in of_kind(answer, "end")]
        assert len(ends) == len(set(ends))
        assert len(of_kind(answer, "tool_call")) == answer["totals"]["tool_calls"]
        assert (task["id"] in answer["open"]) == (task["status"] not in ("completed", "failed", "canceled", "rejected"))
        assert all(event["kind"] in KINDS for event in answer["events"])
    questions.store.close()


def test_what_sub_tasks_produced_is_told_of_them() -> None:
    wire = Wire()
    root, kid = begin(wire, "a", "root"), begin(wire, "b", "kid")
    root.status("root", "WORKING", message("off to the kid", "m", refs=["kid"]))
    kid.chunk("kid", artifact("r", "result", name="report"), last=True).status("kid", "COMPLETED").end()
    root.chunk("root", artifact("s", "sum")).status("root", "COMPLETED").end()
    questions = Questions(a2a_told(records(wire.frames)))
    named = {task["id"]: task["agent"] for task in questions.tasks()["items"]}
    told = [(named[event["task"]], event["agent_name"], event["id"], event["text"]) for event in of_kind(flow(questions, "root"), "artifact")]
    assert told == [("b", "b", "r", "report"), ("a", "a", "s", "s")]
    assert [event["id"] for event in of_kind(flow(questions, "kid"), "artifact")] == ["r"]


def test_a_list_of_thoughts_leaves_out_what_models_were_given_where_that_is_not_wanted() -> None:
    _, questions = mesh_cases.told(mesh_cases.observed(mesh_cases.lines("thinking")))
    root = questions.tasks(roots=True)["items"][0]["id"]
    assert any(block["conversation_history"] for block in questions.reasoning(root)["items"])
    assert not any(block["conversation_history"] for block in questions.reasoning(root, histories=False)["items"])
