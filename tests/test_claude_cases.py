"""Captured runs of the real client, seen on the wire: tasks, calls, tool calls, messages with authors, totals."""

from typing import Any

import pytest

from ramify.query.service import Questions
from tests import story

SOURCE = "exchanges"
Entry = dict[str, Any]


def seen_here(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if SOURCE in entry.get("sources", [SOURCE])]


def task_ids(questions: Questions, truth: Entry) -> dict[str, str]:
    """Ramify's id for each key of the case: agents by their id, roots in the order of their prompts."""
    tasks = questions.tasks(limit=0)["items"]
    roots = sorted((task for task in tasks if task["link"] is None), key=lambda task: task["opened"])
    ids = {f"root{number}": task["id"] for number, task in enumerate(roots, 1)}
    return ids | {task["agent"]: task["id"] for task in tasks if task["agent"]}


def text_of(block: Entry) -> str:
    return block.get("id") or block.get("tool_use_id") or block.get("text") or ""


@pytest.fixture(params=[(case, seed) for case in story.claude_cases() for seed in range(3)], ids=str)
def run(request: pytest.FixtureRequest) -> tuple[Questions, Entry]:
    case, seed = request.param
    seen = story.exchanges("claude", case)
    _, questions = story.told(story.shuffled(seen, seed) if seed else seen)
    return questions, story.expected("claude", case)


def test_tasks_and_their_links(run: tuple[Questions, Entry]) -> None:
    questions, truth = run
    ids = task_ids(questions, truth)
    wanted = seen_here(truth["tasks"])
    assert len(questions.tasks(limit=0)["items"]) == len(wanted)
    for entry in wanted:
        task = questions.task(ids[entry["key"]])
        assert entry["prompt"][0] in task["prompt"]
        assert task["depth"] == entry["depth"]
        assert task["root"] == ids[entry["root"]]
        if entry["kind"] == "sub-agent":
            assert task["link"]["parent"] == ids[entry["parent"]]
            assert task["link"]["via"] == entry["spawned_by"]
            assert (task["link"]["certainty"] == 1.0) == (entry["certainty"][SOURCE] == "exact")
            assert task["branch"] == entry["branch"]
            assert task["status"] in entry["status"]["*"]
            assert task["agent_type"] == entry["agent_type"]


def test_calls_and_their_usage(run: tuple[Questions, Entry]) -> None:
    questions, truth = run
    ids = task_ids(questions, truth)
    calls = story.calls_by_exchange(questions)
    assert len(calls) == len(seen_here(truth["calls"]))
    for entry in seen_here(truth["calls"]):
        call = calls[entry["exchange"]]
        assert (call["kind"], call["utility"], call["status"]) == (entry["kind"], entry["utility"], entry["status"])
        assert entry["task"] is None or call["task"] == ids[entry["task"]]
        assert {name: call["usage"][name] for name in entry["usage"]} == entry["usage"]
        refs = {(ref["kind"], ref["value"]) for ref in call["refs"]}
        assert ("message", entry["message"]) in refs
        assert ("request", entry["request"]) in refs


def test_tool_calls_belong_to_who_called(run: tuple[Questions, Entry]) -> None:
    questions, truth = run
    ids = task_ids(questions, truth)
    for entry in seen_here(truth["tool_calls"]):
        tool = questions.tool(entry["id"])
        assert (tool["name"], tool["task"]) == (entry["name"], ids[entry["task"]])
        assert tool["args"]
        assert tool["status"] == "ok"


def test_messages_have_their_true_authors_and_come_once(run: tuple[Questions, Entry]) -> None:
    questions, truth = run
    ids = task_ids(questions, truth)
    said: list[tuple[str, Entry, Entry]] = []
    for key, id in ids.items():
        for message in questions.messages(id, limit=0)["items"]:
            said += [(key, message, block) for block in message["blocks"]]
    for entry in seen_here(truth["messages"]):
        hits = [
            message
            for key, message, block in said
            if key in entry["task"]
            and block["type"] == entry["type"]
            and (text_of(block) == entry["key"] if entry["match"] == "equals" else entry["key"] in text_of(block))
        ]
        assert len(hits) == 1, (entry, len(hits))
        assert hits[0]["author"] in entry["author"]
        assert entry["kind"] is None or hits[0]["author_kind"] in entry["kind"]


def test_totals_are_the_clients_own(run: tuple[Questions, Entry]) -> None:
    questions, truth = run
    usage = questions.stats()["usage"]
    assert {name: usage[name] for name in ("input", "output", "cache_read", "cache_write")} in truth["usage"][SOURCE]
    roots = [questions.tree(task["id"]) for task in questions.tasks(roots=True)["items"]]
    assert sum(root["tree_usage"]["output"] for root in roots) <= usage["output"]
