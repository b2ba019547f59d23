"""Tool calls and operations are narrowed by the same language as every list, page by page."""

from collections.abc import Callable
from typing import Any

import pytest

from ramify.model.entity import Operation
from ramify.query import at_hand
from ramify.query.filter import BadFilter
from ramify.query.service import Questions
from ramify.storage.base import Changes
from tests import event_story
from tests.mesh_story import Mesh, model_answered, returned, started
from tests.test_mesh_cases import lines, observed, told

Shape = dict[str, Any]


@pytest.fixture(scope="module")
def mesh() -> tuple[Questions, str]:
    made = Mesh()
    made.ask("t", "Chef")
    made.say("t", model_answered(("c1", "get_weather", {"city": "Oslo"}), ("c2", "get_time", {"zone": "UTC"}), ("c3", "peer_Sous", {"task_description": "chop"}), ("c4", "add", {})), at=10)
    for at, id, name in ((10, "c1", "get_weather"), (10, "c2", "get_time"), (20, "c3", "peer_Sous"), (30, "c4", "add")):
        made.say("t", started(id, name, {"city": "Oslo"} if id == "c1" else {}), at=at)
    made.say("t", returned("c1", "get_weather", {"status": "error", "message": "no"}), at=11)
    made.say("t", returned("c2", "get_time", "noon"), at=15)
    made.ask("u", "Sous", "chop", parent="t", call="c3", at=21)
    questions = made.told()
    return questions, questions.task("t")["id"]


TOOLS: dict[str, Callable[[Shape], bool]] = {
    "status:ok": lambda tool: tool["status"] == "ok",
    "status:completed,failed": lambda tool: tool["status"] in ("ok", "error"),
    "-status:running": lambda tool: tool["status"] != "running",
    "tool:get_*": lambda tool: tool["name"].startswith("get_"),
    "tool:GET_TIME": lambda tool: tool["name"] == "get_time",
    "-tool:get_*": lambda tool: not tool["name"].startswith("get_"),
    "agent:chef": lambda tool: tool["agent_name"] == "Chef",
    "task:t": lambda tool: True,
    "duration>2s": lambda tool: (tool["duration_ms"] or 0) > 2000,
    "-duration>2s": lambda tool: not (tool["duration_ms"] or 0) > 2000,
    "is:open": lambda tool: tool["status"] == "running",
    "is:done": lambda tool: tool["status"] != "running",
    "-is:done": lambda tool: tool["status"] == "running",
    "has:subtasks": lambda tool: bool(tool["spawned"]),
    "has:errors": lambda tool: tool["status"] == "error",
    "oslo": lambda tool: "Oslo" in str(tool["args"]),
    "get -oslo": lambda tool: tool["name"] == "get_time",
}


@pytest.mark.parametrize("filter", TOOLS)
def test_tool_calls_are_those_that_fit(mesh: tuple[Questions, str], filter: str) -> None:
    questions, id = mesh
    every = questions.tools(id)["items"]
    assert len(every) == 4
    wanted = [tool["call_id"] for tool in every if TOOLS[filter](tool)]
    assert wanted
    found = questions.tools(id, filter=filter)
    assert ([tool["call_id"] for tool in found["items"]], found["looked"]) == (wanted, 4)


def test_pages_of_filtered_tool_calls_follow_each_other(mesh: tuple[Questions, str]) -> None:
    questions, id = mesh
    first = questions.tools(id, filter="tool:get_*", limit=1)
    second = questions.tools(id, filter="tool:get_*", limit=1, cursor=first["next"])
    assert ([tool["name"] for page in (first, second) for tool in page["items"]], second["next"]) == (["get_weather", "get_time"], None)


def test_tool_calls_of_a_recorded_tree_are_found_by_their_agents() -> None:
    _, questions = told(observed(lines("parallel")))
    root = questions.tasks(roots=True)["items"][0]["id"]
    every = questions.tools(root, tree=True)["items"]
    found = questions.tools(root, tree=True, filter="agent:Weather*")["items"]
    assert found == [tool for tool in every if tool["agent_name"] == "WeatherAgent"]
    assert 0 < len(found) < len(every)


# -- operations ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def log() -> Questions:
    return Questions(event_story.told([line for case in ("async_fanout", "edges") for line in event_story.lines(case)]))


OPERATIONS: dict[str, Callable[[Shape], bool]] = {
    "status:completed": lambda one: one["status"] == "completed",
    "-status:completed": lambda one: one["status"] != "completed",
    "agent:mcp_alpha": lambda one: "mcp_alpha" in one["agents"],
    "agent:mcp_*": lambda one: any(agent.startswith("mcp_") for agent in one["agents"]),
    "tool:sync_creatives": lambda one: "sync_creatives" in one["taskTypes"],
    "session:local": lambda one: one["session"] == "local",
    "duration>100ms": lambda one: one["durationMs"] > 100,
    "is:open": lambda one: not one["completedAt"] and one["status"] != "unknown",
    "is:done": lambda one: bool(one["completedAt"]),
    "has:errors": lambda one: bool(one["statusCounts"].get("failed") or one["statusCounts"].get("rejected")),
    "e5fe9a5b": lambda one: "e5fe9a5b" in one["operationId"],
    "is:late": lambda one: "late" in one["flags"],
    "since:2020-01-01 until:2030-01-01": lambda one: True,
}


@pytest.mark.parametrize("filter", OPERATIONS)
@pytest.mark.parametrize("limit", [1, 3, 0])
def test_operations_are_those_that_fit(log: Questions, filter: str, limit: int) -> None:
    every = log.operations(limit=0)["items"]
    found: list[Shape] = []
    cursor = None
    while True:
        page = log.operations(filter=filter, limit=limit, cursor=cursor)
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
        assert 0 < len(page["items"]) <= limit
    assert found == [one for one in every if OPERATIONS[filter](one)]


def test_the_filters_of_operations_tell_some_from_others(log: Questions) -> None:
    every = log.operations(limit=0)["items"]
    parting = [filter for filter, judge in OPERATIONS.items() if 0 < sum(map(judge, every)) < len(every)]
    assert len(every) > 5
    assert len(parting) >= 6, parting


def test_one_question_looks_at_so_many_operations_and_goes_on_where_it_stopped(log: Questions, monkeypatch: pytest.MonkeyPatch) -> None:
    store = event_story.told(event_story.lines("async_fanout"))
    model = log.store.page("operations", at_hand.Ask("updated", limit=1))[0]
    assert isinstance(model, Operation)
    many = {("operations", f"op_{at}"): Operation(f"op_{at}", "default", model.session, f"n{at}", at, at, model.details) for at in range(1, 100)}
    store.append((), Changes(rows={**many}))
    monkeypatch.setattr(at_hand, "BATCH", 7)
    monkeypatch.setattr("ramify.query.lists.MOST", 20)
    page = Questions(store).operations(filter="n1", limit=50)
    assert (page["looked"], bool(page["next"])) == (20, True)
    found = list(page["items"])
    while page["next"]:
        page = Questions(store).operations(filter="n1", limit=50, cursor=page["next"])
        found += page["items"]
    assert len({one["id"] for one in found}) == len(found) == 11


@pytest.mark.parametrize("ask", [lambda log: log.operations(filter="cost>1"), lambda log: log.operations(filter="stats:x")])
def test_a_wrong_filter_is_refused(log: Questions, ask: Callable[[Questions], object]) -> None:
    with pytest.raises(BadFilter):
        ask(log)
