"""The real client through the real server: the trees that people are shown are the ones that the client made."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from tests.peers import stories
from tests.peers.claude_cli import SESSION
from tests.peers.served import Answer
from tests.peers.told import Told, tell, walk

pytestmark = pytest.mark.peer

Shape = tuple[str, str, tuple[Any, ...]]
"""A task as a person would draw it: its prompt, its branch, what it gave to others."""

EXPECTED: dict[str, Shape] = {
    stories.ONE.name: ("Ask one agent.", "main", (("Count the trees.", "subtask_1", ()),)),
    stories.THREE.name: (
        "Ask three agents.",
        "main",
        tuple((f"Part {part}.", f"subtask_{number}", ()) for number, part in enumerate("abc", 1)),
    ),
    stories.TWINS.name: (
        "Ask twins.",
        "main",
        (("Look twice.", "subtask_1", ()), ("Look twice.", "subtask_2", ())),
    ),
    stories.NESTED.name: ("Go deep.", "main", (("Go deeper.", "subtask_1", (("Go deepest.", "subtask_2", ()),)),)),
    stories.BACKGROUND.name: (
        "Ask somebody to do it later.",
        "main",
        (("Take your time.", "subtask_1", ()),),
    ),
    stories.LOOPED.name: (
        "Ask again and again.",
        "main",
        (("Have a look.", "subtask_1", ()), ("Have a look.", "subtask_2", ())),
    ),
    stories.CUT.name: ("Ask an unlucky agent.", "main", (("Speak up.", "subtask_1", ()),)),
    stories.RETRIED.name: ("Try hard.", "main", ()),
    stories.REFUSED.name: ("Insist.", "main", ()),
    stories.INTERRUPTED.name: (stories.ENDLESS, "main", ()),
}
TOLD = (
    stories.ONE,
    stories.THREE,
    stories.TWINS,
    stories.NESTED,
    stories.BACKGROUND,
    stories.LOOPED,
    stories.CUT,
    stories.RETRIED,
    stories.REFUSED,
    stories.INTERRUPTED,
)
FIGURES = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}


@pytest.fixture(scope="module", params=TOLD, ids=lambda story: story.name.replace(" ", "-"))
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    return asyncio.run(tell(request.param, tmp_path_factory.mktemp("told")))


def shape(node: Answer) -> Shape:
    return (node["prompt"], node["branch"], tuple(shape(child) for child in node["children"]))


def figures(usage: Answer) -> dict[str, int]:
    return {name: usage[name] for name in FIGURES}


def test_a_session_is_one_conversation(told: Told) -> None:
    assert [one["session"] for one in told.conversations] == [str(SESSION)]
    assert told.trees[0]["unattached"] == []
    assert len(told.tasks) == len(told.nodes)


def test_the_tree_is_the_one_that_the_model_asked_for(told: Told) -> None:
    assert shape(told.root) == EXPECTED[told.story.name]


def test_the_root_was_asked_for_by_a_person_and_the_rest_by_agents(told: Told) -> None:
    assert (told.root["prompt_author"], told.root["link"], told.root["agent"]) == ("human", None, None)
    assert {node["prompt_author"] for node in told.nodes[1:]} <= {"agent"}
    for node in told.nodes:
        first = next(one for one in told.messages[node["id"]] if one["author_kind"] is None)
        assert first["author"] == node["prompt_author"]
        assert node["prompt"] in [block.get("text") for block in first["blocks"]]


def test_every_task_knows_its_depth_and_its_root(told: Told) -> None:
    def check(node: Answer, depth: int) -> None:
        assert (node["depth"], node["root"], node["flags"]) == (depth, told.root["id"], [])
        assert node["subtasks"] == len(node["children"])
        for child in node["children"]:
            assert child["link"]["parent"] == node["id"]
            check(child, depth + 1)

    check(told.root, 0)


def test_every_agent_hangs_on_the_call_that_the_client_says_started_it(told: Told) -> None:
    """The client tells its own reader which call started which agent; nothing of that passes the proxy."""
    started = {
        line["task_id"]: (line["tool_use_id"], line["spawn_depth"], line["subagent_type"])
        for line in told.run.lines
        if line.get("subtype") == "task_started"
    }
    found = {
        node["agent"]: (node["link"]["via"], node["depth"], node["agent_type"]) for node in told.agents
    }
    assert found == started
    assert {(node["link"]["rule"], node["link"]["certainty"]) for node in told.agents} <= {("agent-id-in-result", 1.0)}


def test_a_call_names_the_task_that_it_started_and_no_other_does(told: Told) -> None:
    spawned = {tool["call_id"]: tool["spawned"] for tools in told.tools.values() for tool in tools if tool["spawned"]}
    assert spawned == {node["link"]["via"]: [node["id"]] for node in told.agents}


def test_what_is_over_is_said_to_be_over(told: Told) -> None:
    ended = "canceled" if told.story.stopped_by else "completed"
    assert {node["status"] for node in told.nodes} == {ended}
    assert all(node["closed"] and node["duration_ms"] > 0 for node in told.nodes)


def test_no_call_is_outside_and_none_is_missing(told: Told) -> None:
    assert len(told.calls) == len(told.requests)
    places = {node["id"]: (told.conversations[0]["id"], node["branch"]) for node in told.nodes}
    for call in told.calls:
        assert (call["conversation"], call["branch"]) == places[call["task"]]
        assert call["kind"] == ("subagent" if call["agent"] else "main")
        assert call["utility"] is None


def test_a_task_begins_once_and_every_other_call_goes_on_from_one_of_its_own(told: Told) -> None:
    for node in told.nodes:
        calls = [call for call in told.calls if call["task"] == node["id"] and call["attempt_of"] is None]
        assert calls[0]["parent"] is None
        for before, call in pairwise(calls):
            assert call["parent"] == before["id"]
            assert call["link"]["kind"] == "continued"


def test_usage_is_what_the_api_said(told: Told) -> None:
    assert figures(told.conversations[0]["usage"]) == counted(told, None)
    assert figures(told.root["tree_usage"]) == counted(told, None)
    by_prompt: dict[str, list[Answer]] = {}
    for node in told.nodes:
        by_prompt.setdefault(node["prompt"], []).append(node)
    for words, nodes in by_prompt.items():
        assert summed([node["usage"] for node in nodes]) == counted(told, words)


def counted(told: Told, words: str | None) -> dict[str, int]:
    total = told.script.total(words)
    return {name: total[wire] for name, wire in FIGURES.items()}


def summed(usages: list[Answer]) -> dict[str, int]:
    return {name: sum(usage[name] for usage in usages) for name in FIGURES}


def test_a_tree_used_what_its_tasks_used(told: Told) -> None:
    for node in told.nodes:
        under = [one["usage"] for one in walk(node)]
        assert figures(node["tree_usage"]) == summed(under)
        assert node["tree_usage"]["calls"] == sum(usage["calls"] for usage in under)


def test_a_list_says_of_a_task_what_the_tree_says(told: Told) -> None:
    listed = {task["id"]: task for task in told.tasks}
    for node in told.nodes:
        assert listed[node["id"]] == {name: value for name, value in node.items() if name != "children"}


def test_every_tool_call_has_its_result(told: Told) -> None:
    asked = [tool for tools in told.tools.values() for tool in tools]
    assert sum(node["tool_calls"] for node in told.nodes) == len(asked)
    for tool in asked:
        assert tool["status"] == "ok"
        assert tool["result"]
        if tool["name"] == "Bash":
            assert tool["result"] == tool["args"]["command"].rpartition("echo ")[2]


def test_the_client_got_its_answer(told: Told) -> None:
    if not told.story.stopped_by:
        last = told.story.replies[told.story.prompt][-1][-1].content[-1]["text"]
        assert (told.run.exit, told.run.text) == (0, last)
