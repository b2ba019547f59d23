"""Filtered lists answer what looking at every row would, page by page, on every list."""

import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.filler import rows
from ramify.ingest import Ingest
from ramify.model.entity import Entity, Task
from ramify.query import lists
from ramify.query.errors import BadQuestion, NotFound
from ramify.query.filter import BadFilter
from ramify.query.service import Questions
from ramify.storage import sifting
from ramify.storage.base import Changes
from ramify.storage.sqlite import open_sqlite
from tests.contracts.engines import ENGINES
from tests.story import anthropic_cases, exchanges, told

Shape = dict[str, Any]
Judge = Callable[[Shape], bool]


@pytest.fixture(scope="module", params=ENGINES)
def questions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Questions]:
    engine = ENGINES[request.param]
    if engine.missing:
        pytest.skip(engine.missing)
    store = engine.open(tmp_path_factory.mktemp("lists"))
    questions, ingest = Questions(store), Ingest(store)
    for case in anthropic_cases():
        ingest.step([seen for story in exchanges("anthropic", case) for seen in story])
    many: dict[tuple[str, str], Entity | None] = dict(row for number in range(300) for row in rows(number, 300))
    orphan = Task("task_orphan", "default", "conv_orphan", "task_orphan", "sub", opened=1_700_000_000_000_000, title="Nobody's", prompt="100 percent")
    store.append((), Changes(rows={**many, ("tasks", orphan.id): orphan}))
    yield questions
    store.close()


def everything(questions: Questions, kind: str) -> list[Shape]:
    return list(getattr(questions, kind)(limit=0)["items"])


def paged(questions: Questions, kind: str, filter: str, limit: int) -> list[Shape]:
    found: list[Shape] = []
    cursor = None
    for _ in range(10_000):
        page = getattr(questions, kind)(filter=filter, limit=limit, cursor=cursor)
        assert len(page["items"]) <= limit
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            return found
    raise AssertionError("pages without an end")


def tokens(shape: Shape) -> int:
    return sum(shape["usage"][part] for part in ("input", "output", "cache_read", "cache_write"))


def cost(shape: Shape) -> float:
    return -1 if shape["usage"]["cost_usd"] is None else float(shape["usage"]["cost_usd"])


def text(task: Shape) -> str:
    return f"{task['title']} {task['prompt']}".lower()


TASKS: dict[str, Judge] = {
    "status:completed": lambda task: task["status"] == "completed",
    "status:failed,working": lambda task: task["status"] in ("failed", "working"),
    "-status:completed": lambda task: task["status"] != "completed",
    "status:error": lambda task: task["status"] == "failed",
    "is:root": lambda task: not task["link"] and task["depth"] == 0 and "orphan" not in task["flags"] and task["prompt_author"] != "agent",
    "is:open": lambda task: task["status"] in ("working", "submitted"),
    "is:orphan": lambda task: "orphan" in task["flags"],
    "-is:orphan": lambda task: "orphan" not in task["flags"],
    "is:inferred": lambda task: bool(task["link"]) and task["link"]["certainty"] < 1,
    "is:stalled": lambda task: "stalled" in task["flags"],
    "agent:explore": lambda task: (task["agent_type"] or "").lower() == "explore",
    "agent:HR*,plan": lambda task: (task["agent_type"] or "").lower().startswith("hr") or (task["agent_type"] or "").lower() == "plan",
    "-agent:*e*": lambda task: "e" not in (task["agent_type"] or task["agent"] or "").lower(),
    "author:agent": lambda task: task["prompt_author"] == "agent",
    "project:rare": lambda task: task["project"] == "rare",
    "rule:agent-id-header": lambda task: bool(task["link"]) and task["link"]["rule"] == "agent-id-header",
    "cost>0.5": lambda task: cost(task) > 0.5,
    "-cost>0.0001": lambda task: not cost(task) > 0.0001,
    "tokens<=4k": lambda task: tokens(task) <= 4000,
    "calls>1": lambda task: task["usage"]["calls"] > 1,
    "tools>0": lambda task: task["tool_calls"] > 0,
    "duration>30s": lambda task: (task["duration_ms"] or 0) > 30_000,
    "has:subtasks": lambda task: task["subtasks"] > 0,
    "-has:subtasks": lambda task: task["subtasks"] == 0,
    "since:2026-05-01": lambda task: task["opened"] >= "2026-05-01",
    "until:2026-04-28": lambda task: task["opened"] < "2026-04-29",
    "marmalade": lambda task: "marmalade" in text(task),
    "-the": lambda task: "the" not in text(task),
    '"look into the p"': lambda task: "look into the p" in text(task),
    "100%": lambda task: "100%" in text(task),
}  # fmt: skip
CALLS: dict[str, Judge] = {
    "status:error,aborted": lambda call: call["status"] in ("error", "aborted"),
    "status:failed": lambda call: call["status"] == "error",
    "is:open": lambda call: call["status"] == "running",
    "model:RARE*": lambda call: (call["model"] or "").startswith("rare"),
    "kind:utility": lambda call: call["kind"] == "utility",
    "stop:tool_use": lambda call: call["stop_reason"] == "tool_use",
    "is:retry": lambda call: bool(call["attempt_of"]),
    "tokens>1000": lambda call: tokens(call) > 1000,
    "duration>=1s": lambda call: (call["duration_ms"] or 0) >= 1000,
}  # fmt: skip
CONVERSATIONS: dict[str, Judge] = {
    "project:RARE": lambda one: one["project"] == "rare",
    "cost>0.01": lambda one: cost(one) > 0.01,
    "calls>5": lambda one: one["calls"] > 5,
    "has:subtasks": lambda one: one["subtasks"] > 0,
    "since:2026-05-01": lambda one: one["active"] >= "2026-05-01",
}  # fmt: skip
LISTS = {"tasks": TASKS, "calls": CALLS, "conversations": CONVERSATIONS}
CASES = [(kind, filter) for kind, filters in LISTS.items() for filter in filters]


@pytest.mark.parametrize(("kind", "filter"), CASES)
def test_a_filter_keeps_what_fits_and_nothing_else(questions: Questions, kind: str, filter: str) -> None:
    wanted = [one["id"] for one in everything(questions, kind) if LISTS[kind][filter](one)]
    assert [one["id"] for one in getattr(questions, kind)(filter=filter, limit=0)["items"]] == wanted


def test_the_filters_above_keep_something_and_leave_something_out(questions: Questions) -> None:
    for kind, filters in LISTS.items():
        every = everything(questions, kind)
        for filter, judge in filters.items():
            if filter not in ("is:stalled", "100%", "is:open"):
                assert 0 < sum(map(judge, every)) < len(every), filter


def test_however_little_is_looked_at_at_once_the_pages_together_are_the_list(questions: Questions) -> None:
    slow = questions.store.url.startswith("clickhouse:")  # hundreds of small windows would take it minutes
    least = 25 if slow else 1
    kinds = st.sampled_from(sorted(LISTS))

    @settings(max_examples=3 if slow else 25, deadline=None)
    @given(
        kinds.flatmap(lambda kind: st.tuples(st.just(kind), st.lists(st.sampled_from(sorted(LISTS[kind])), max_size=3))),
        st.integers(least, 40), st.integers(least, 30), st.sampled_from([0, 3, 2000]),
    )  # fmt: skip
    def holds(asked: tuple[str, list[str]], limit: int, window: int, few: int) -> None:
        pages_are_the_list(questions, asked, limit, window, few)

    holds()


def pages_are_the_list(questions: Questions, asked: tuple[str, list[str]], limit: int, window: int, few: int) -> None:
    kind, filters = asked
    wanted = [one["id"] for one in everything(questions, kind) if all(LISTS[kind][filter](one) for filter in filters)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sifting, "FIRST_WINDOW", window)
        patch.setattr(sifting, "FEW", few)
        patch.setattr(lists, "MOST", window * 3)
        assert [one["id"] for one in paged(questions, kind, " ".join(filters), limit)] == wanted


def test_a_tool_is_found_wherever_it_belongs(questions: Questions) -> None:
    rare = [task["id"] for task in questions.tasks(filter="agent:HR*")["items"]]
    assert len(rare) == 5
    assert [task["id"] for task in questions.tasks(filter="tool:marmalade")["items"]] == rare
    assert [call["task"] for call in questions.calls(filter="tool:Marma*")["items"]] == rare
    assert {call["task"] for call in questions.calls(filter="agent:hr-agent")["items"]} == set(rare)
    assert [one["id"] for one in questions.conversations(filter="tool:marmalade")["items"]] == [questions.task(rare[0])["conversation"]]
    assert not questions.tasks(filter="tool:marmalade -tool:marmalade")["items"]
    step = 15 if questions.store.url.startswith("clickhouse") else 1  # each question costs it tens of milliseconds
    some = {task["id"] for task in everything(questions, "tasks")[::step]}
    used = {task for task in some if any(tool["name"] == "Bash" for tool in questions.tools(task, limit=0)["items"])}
    assert used
    assert {task["id"] for task in questions.tasks(filter="tool:Bash", limit=0)["items"]} & some == used
    assert {task["id"] for task in questions.tasks(filter="-tool:Bash", limit=0)["items"]} & some == some - used


def test_a_page_says_how_much_was_looked_at_and_a_list_without_a_filter_does_not(questions: Questions) -> None:
    assert "looked" not in questions.tasks()
    found = questions.tasks(filter="cost>0.5", limit=50)
    assert found["looked"] >= len(everything(questions, "tasks"))
    assert questions.tasks(filter="agent:HR*")["looked"] == 5


def test_a_conversation_and_a_task_are_named_by_any_id(questions: Questions) -> None:
    found = questions.tasks(filter="calls>1", limit=0)["items"]
    task, session = next((task, one["session"]) for task in found if (one := questions.conversation(task["conversation"]))["session"])
    assert task["id"] in {one["id"] for one in questions.tasks(filter=f"conversation:{session}", limit=0)["items"]}
    assert {call["task"] for call in questions.calls(filter=f"task:{task['id'][:14]}", limit=0)["items"]} == {task["id"]}
    with pytest.raises(NotFound, match="nothing has the id"):
        questions.tasks(filter="conversation:nobody")


@pytest.mark.parametrize(("kind", "filter"), [("tasks", "kind:main"), ("calls", "has:subtasks"), ("conversations", "is:root"), ("calls", "calls>3"), ("tasks", "is:root,open")])
def test_what_means_nothing_for_a_list_is_said(questions: Questions, kind: str, filter: str) -> None:
    with pytest.raises(BadFilter, match=re.escape(filter)):
        getattr(questions, kind)(filter=filter)


def test_a_search_is_narrowed_by_the_call_and_the_task_of_a_hit() -> None:
    from ramify.indexing import Indexer

    store, questions = told(exchanges("anthropic", "subtask-three-parallel"))
    Indexer(store).catch_up()
    found = questions.search("paint fence", limit=50)
    assert "looked" not in found
    subs = questions.search("paint fence is:sub", limit=50)
    kinds = {hit["task"]: questions.task(hit["task"])["prompt_author"] for hit in found["items"]}
    assert {"human", "agent"} == set(kinds.values())
    assert [hit for hit in found["items"] if kinds[hit["task"]] == "agent"] == subs["items"]
    one = questions.search("paint fence is:sub", limit=1)
    rest = questions.search("paint fence is:sub", limit=50, cursor=one["next"])
    assert [*one["items"], *rest["items"]] == subs["items"]
    assert not questions.search("paint fence model:nobody")["items"]
    assert {hit["snippet"] for hit in questions.search("paint -south is:sub", limit=50)["items"]} < {hit["snippet"] for hit in subs["items"]}
    said = {call["id"] for call in questions.calls(filter="paint", limit=0)["items"]}
    assert said == {hit["call"] for hit in questions.search("paint", limit=0)["items"]}


@pytest.mark.parametrize(
    ("table", "filter", "index"),
    [("tasks", "status:failed", "tasks_unusual"), ("tasks", "-status:completed", "tasks_unusual"), ("tasks", "agent:HR*", "tasks_agent"), ("tasks", "project:x", "tasks_project"),
     ("tasks", "tool:Bash", "tools_name"), ("tasks", "model:a*", "calls_model"), ("calls", "status:error", "calls_unusual"), ("calls", "status:running", "calls_running"),
     ("calls", "agent:HR", "tasks_agent"), ("tasks", "is:root marmalade", "tasks_roots"), ("tasks", "cost>0.5", "tasks_opened"), ("tasks", "has:subtasks", "tasks_parent"),
     ("tasks", "status:completed", "tasks_opened"), ("calls", "cost>1", "calls_started"), ("conversations", "cost>1", "conversations_active")],
)  # fmt: skip
def test_no_list_reads_a_table_without_an_index(table: str, filter: str, index: str) -> None:
    store = open_sqlite("memory:")
    plans: list[str] = []

    def read(sql: str, values: Any) -> list[Any]:
        plans.extend(row[3] for row in store._file.read("EXPLAIN QUERY PLAN " + sql, values))
        return store._file.read(sql, values)

    store._read = read  # type: ignore[method-assign, assignment]
    getattr(Questions(store), table)(filter=filter)
    assert any(index in plan for plan in plans), plans
    assert not [plan for plan in plans if plan.startswith("SCAN") and "USING" not in plan and "SCAN counted" not in plan and "CONSTANT" not in plan], plans


@pytest.mark.parametrize("cursor", ["x", "", "=", "9" * 60 + " x", "9" * 5000 + " 1", "٣ 1", "1 \0", "1"])
def test_a_cursor_of_no_list_is_refused(questions: Questions, cursor: str) -> None:
    made = urlsafe_b64encode(cursor.encode()).decode()
    for ask in (questions.tasks, questions.calls, questions.conversations, questions.operations):
        with pytest.raises(BadQuestion, match="is no cursor of this list"):
            ask(cursor=made)


@pytest.mark.parametrize("cursor", ["1 ²", "1 ٣", "1 " + "9" * 5000, "-1 0", "1 x"])
def test_a_cursor_that_is_no_place_in_a_list_is_refused(questions: Questions, cursor: str) -> None:
    made = urlsafe_b64encode(cursor.encode()).decode()
    task = questions.tasks(limit=1)["items"][0]["id"]
    for ask in (questions.subtasks, questions.tools, questions.reasoning, questions.messages, questions.artifacts):
        with pytest.raises(BadQuestion, match="is no cursor of this list"):
            ask(task, cursor=made)


@pytest.mark.parametrize("cursor", ["²", "٣", "9" * 60, "-1", ""])
def test_a_cursor_that_no_search_gave_is_refused(questions: Questions, cursor: str) -> None:
    with pytest.raises(BadQuestion, match="is no cursor of this list"):
        questions.search("paint", limit=5, cursor=cursor)
