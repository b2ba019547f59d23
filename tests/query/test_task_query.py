"""The five questions for Python programs, with the ids and types that they promise."""

from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from ramify.ingest import Ingest
from ramify.model.mistake import UserMistake
from ramify.model.observation import Observation, Request, Response
from ramify.query import Ambiguous, AsyncTaskQueryService, NotFound, TaskQueryService, ToolCall, ToolCallWithIO
from ramify.query.task_query import result_text
from ramify.storage.sqlite import open_sqlite
from tests.story import CASES, reports

SEED = {"id", "name", "type", "args", "result", "timestamp", "agent_name"}


def elsewhere(seen: Observation) -> Observation:
    """The same, seen in another project."""
    if isinstance(seen, Request):
        return replace(seen, id=seen.id + "-2", project="other", exchange=seen.exchange + "-2")
    assert isinstance(seen, Response)
    return replace(seen, id=seen.id + "-2", project="other", request=seen.request + "-2")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run with sub-agents of sub-agents; and a smaller one that was seen in two projects."""
    url = f"sqlite:{tmp_path_factory.mktemp('store')}/ramify.db"
    store = open_sqlite(url)
    ingest = Ingest(store)
    ingest.step([seen for story in reports(CASES / "claude" / "nested", "exchanges") for seen in story])
    small = [seen for story in reports(CASES / "claude" / "simple", "exchanges") for seen in story]
    ingest.step([*small, *map(elsewhere, small)])
    store.close()
    return url


@pytest.fixture
def service(url: str) -> TaskQueryService:
    return TaskQueryService.open(url)


@pytest.fixture
def root(service: TaskQueryService) -> str:
    return str(max(service.questions.tasks(roots=True, limit=0)["items"], key=lambda task: task["subtasks"])["id"])


def test_own_calls_by_default_and_the_whole_tree_when_asked(service: TaskQueryService, root: str) -> None:
    own = service.get_tool_calls_by_task(root)
    tree = service.get_tool_calls_by_task(root, include_subtasks=True)
    assert own
    assert {call.ref for call in own} < {call.ref for call in tree}
    assert {field.name for field in fields(ToolCall)} > SEED
    assert [call.timestamp for call in tree] == sorted(call.timestamp for call in tree if call.timestamp)
    assert all(isinstance(call.timestamp, datetime) and call.timestamp.tzinfo is UTC for call in tree)
    assert all(call.id.startswith("toolu_") for call in tree)


def test_a_call_names_the_task_that_it_started_as_its_protocol_does(service: TaskQueryService, root: str) -> None:
    spawning = [call for call in service.get_tool_calls_by_task(root) if call.child_task_ids]
    children = service.get_subtasks(root)
    assert [child.task_id for child in children] == [id for call in spawning for id in call.child_task_ids]
    assert [child.function_call_id for child in children] == [call.id for call in spawning]
    assert not any(child.task_id.startswith("task_") for child in children)  # an agent's own id
    assert service.get_subtasks(children[0].task_id) == service.get_subtasks(service.questions.task(children[0].task_id)["id"])


def test_sub_tasks_are_the_direct_ones_or_all(service: TaskQueryService, root: str) -> None:
    direct, every = service.get_subtasks(root), service.get_subtasks(root, recursive=True)
    assert {one.depth for one in direct} == {1}
    assert {one.depth for one in every} >= {1, 2}
    assert [one for one in every if one.depth == 1] == direct
    deep = next(one for one in every if one.depth == 2)
    parent = next(one for one in every if one.task_id == deep.parent_task_id)
    assert deep.delegating_agent_name == parent.agent_name
    below = service.get_subtasks(parent.task_id)
    assert [one.depth for one in below] == [1] * len(below)
    for one in every:
        assert one.num_messages >= 2
        assert one.tool_calls == service.get_tool_calls_by_task(one.task_id)
        assert one.started_at
        assert (one.ended_at is None) == (one.status in ("working", "submitted", "unknown"))


def test_one_call_with_what_went_in_and_came_out(service: TaskQueryService, root: str) -> None:
    for call in service.get_tool_calls_by_task(root, include_subtasks=True):
        whole = service.get_tool_call_with_io(call.id)
        assert isinstance(whole, ToolCallWithIO)
        assert (whole.input, whole.output, whole.ref) == (call.args, call.result, call.ref)
        assert service.get_tool_call_with_io(call.ref) == service.get_tool_call_with_io(f"claude:tool_use:{call.id}") == whole
        assert whole.result_source in ("wire", "history", None)
        assert whole.output_text or whole.output is None


def test_reasoning_of_a_kind_and_of_the_tree(service: TaskQueryService, root: str) -> None:
    own, tree = service.get_reasoning_for_task(root), service.get_reasoning_for_task(root, include_subtasks=True)
    assert len(own) <= len(tree)
    assert service.get_reasoning_for_task(root, kinds=["thinking"], include_subtasks=True) == tree
    assert service.get_reasoning_for_task(root, kinds=["progress"]) == []
    assert all(block.conversation_history == [] and block.kind == "thinking" for block in tree)


def test_the_flow_holds_the_whole_tree(service: TaskQueryService, root: str) -> None:
    flow = service.get_complete_task_flow(root)
    assert flow.tool_calls == service.get_tool_calls_by_task(root, include_subtasks=True)
    assert flow.subtasks == service.get_subtasks(root, recursive=True)
    assert flow.reasoning == service.get_reasoning_for_task(root, include_subtasks=True)
    task = service.questions.task(root)
    assert (flow.request_text, flow.status, flow.tree_usage) == (task["prompt"], task["status"], task["tree_usage"])
    assert flow.context_id == service.questions.conversation(task["conversation"])["session"]
    assert flow.timeline[0]["kind"] == "request"
    assert flow.open_items == []
    assert flow.final_text


def test_unknown_ids_are_named_and_known_tasks_without_anything_answer_nothing(service: TaskQueryService) -> None:
    for ask in (service.get_tool_calls_by_task, service.get_reasoning_for_task, service.get_subtasks, service.get_complete_task_flow, service.get_tool_call_with_io):
        with pytest.raises(NotFound, match="nobody"):
            ask("nobody")
    lone = next(task["id"] for task in service.questions.tasks(limit=0)["items"] if not task["subtasks"])
    assert service.get_subtasks(lone) == []


def test_an_id_that_fits_several_calls_lists_them_and_a_task_narrows_it(service: TaskQueryService) -> None:
    other = next(task["id"] for task in service.questions.tasks(project="other", limit=0)["items"] if task["tool_calls"])
    call = service.get_tool_calls_by_task(other)[0]
    with pytest.raises(Ambiguous) as several:
        service.get_tool_call_with_io(call.id)
    assert len(several.value.candidates) == 2
    assert {"ref", "id", "task_id", "occurrence", "name", "agent_name", "timestamp"} == set(several.value.candidates[0])
    assert service.get_tool_call_with_io(call.id, task_id=other).ref == call.ref
    assert all(service.get_tool_call_with_io(one["ref"]).id == call.id for one in several.value.candidates)
    with pytest.raises(NotFound, match="none of that task"):
        service.get_tool_call_with_io(call.ref, task_id=next(task["id"] for task in service.questions.tasks(project="default", limit=0)["items"]))


async def test_asynchronous_programs_get_the_same(url: str, service: TaskQueryService, root: str) -> None:
    async with await AsyncTaskQueryService.open(url) as asking:
        assert await asking.get_tool_calls_by_task(root, include_subtasks=True) == service.get_tool_calls_by_task(root, include_subtasks=True)
        assert await asking.get_subtasks(root, recursive=True) == service.get_subtasks(root, recursive=True)
        assert await asking.get_reasoning_for_task(root) == service.get_reasoning_for_task(root)
        assert await asking.get_complete_task_flow(root) == service.get_complete_task_flow(root)
        with pytest.raises(NotFound):
            await asking.get_tool_call_with_io("nobody")


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="there is no store"):
        TaskQueryService.open(f"sqlite:{tmp_path}/none.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("result", "text"),
    [("a", "a"), (None, None), ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "a\nb"), ({"data": {"result": "x"}}, "x"), ({"n": 1}, None), (5, None),
     ({"status": "success", "data": {"city": "Århus", "c": 21.5}}, '{"city": "Århus", "c": 21.5}'), ({"status": "error", "message": "no", "data": None}, "no")],
)  # fmt: skip
def test_the_words_of_a_result(result: object, text: str | None) -> None:
    assert result_text(result) == text
