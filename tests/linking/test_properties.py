"""Random small worlds: whatever happens, and in whatever order it is seen, the rows are the same and they add up."""

import json
import os
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from msgspec import structs

from ramify.ingest import Ingest
from ramify.linking.results import WORKFLOW
from ramify.linking.rollup import counted
from ramify.model.entity import Call, Conversation, Task, ToolCall
from ramify.model.observation import Observation, Request, Response
from ramify.model.usage import NOTHING
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests import story as stories
from tests.linking.play import play
from tests.linking.world_builder import Story, agent, report

EXAMPLES = int(os.environ.get("RAMIFY_EXAMPLES", "30"))
relaxed = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
chances = st.randoms(use_true_random=False)
worlds = st.builds(play, chances, st.integers(1, 14))


def flat(story: Story) -> list[Observation]:
    return [one for seen in story.seen for one in seen]


def retold(seen: Observation) -> str:
    """What was seen, for whoever has to understand an example."""
    match seen:
        case Request():
            return f"{seen.at} {seen.exchange} {seen.project} {dict(seen.headers)} {seen.body.decode()}"
        case Response():
            return f"{seen.at} answer to {seen.request} {seen.outcome} {seen.body.decode()}"
        case _:
            return repr(seen)


def entities(store: Sqlite) -> dict[str, list[Any]]:
    return {table: list(store.docs(table)) for table in ("calls", "tasks", "tools", "conversations")}


@relaxed
@given(worlds, chances, st.integers(1, 9))
def test_any_order_any_batch_and_seen_twice_give_the_same_rows(story: Story, chance: Random, size: int) -> None:
    note("\n".join(map(retold, flat(story))))
    one, _ = story.told(flat(story))
    mixed = flat(story)
    chance.shuffle(mixed)
    other, _ = story.told([*mixed, *mixed[: len(mixed) // 2]], size)
    assert stories.row_differences(stories.rows(one), stories.rows(other)) == []


@relaxed
@given(worlds, chances, st.integers(1, 9))
def test_what_is_remembered_between_batches_decides_nothing(story: Story, chance: Random, size: int) -> None:
    """As where several processes write in turn: each has only what is stored."""
    one, _ = story.told(flat(story))
    mixed = flat(story)
    chance.shuffle(mixed)
    other = open_sqlite("memory:")
    for start in range(0, len(mixed), size):
        Ingest(other).step(mixed[start : start + size])
    assert stories.row_differences(stories.rows(one), stories.rows(other)) == []


@relaxed
@given(worlds)
def test_everything_is_somewhere_once_and_adds_up(story: Story) -> None:
    store, _ = story.told(flat(story))
    rows = entities(store)
    calls: list[Call] = rows["calls"]
    tasks: dict[str, Task] = {task.id: task for task in rows["tasks"]}
    assert len(calls) == sum(isinstance(seen, Request) for seen in flat(story))
    for call in calls:
        helper = call.relation == "helper"
        assert bool(call.conversation) or (helper and not call.session)
        assert bool(call.task) != helper
    for row in rows["conversations"]:
        assert isinstance(row, Conversation)
        mine = [call for call in calls if call.conversation == row.id]
        assert row.calls == len(mine)
        assert row.usage == sum((counted(call) for call in mine), NOTHING)
    for task in tasks.values():
        mine = [call for call in calls if call.task == task.id]
        assert task.usage == sum((counted(call) for call in mine), NOTHING)
        assert {call.conversation for call in mine} == {task.conversation}
    _one_child_each(calls, rows["tools"])
    _no_cycles(calls, tasks)


def _one_child_each(calls: list[Call], tools: list[ToolCall]) -> None:
    """A workflow may have any number, and so no child of its own."""
    shared = {tool.id for tool in tools if tool.prompt == WORKFLOW}
    taken = [call.offer for call in calls if call.offer and call.offer not in shared]
    assert len(taken) == len(set(taken))
    assert {tool.id for tool in tools if tool.child} == set(taken)


def _no_cycles(calls: list[Call], tasks: dict[str, Task]) -> None:
    parents = {call.id: call.parent for call in calls}
    above = {task.id: task.parent for task in tasks.values()}
    for links in (parents, above):
        for start in links:
            seen = {start}
            at = links[start]
            while at:
                assert at not in seen, "a cycle"
                seen.add(at)
                at = links.get(at, "")


def damaged(seen: Observation, at: int, byte: int, cut: bool) -> Observation:
    if not isinstance(seen, Request | Response) or not seen.body:
        return seen
    at %= len(seen.body)
    body = seen.body[:at] if cut else seen.body[:at] + bytes([byte]) + seen.body[at + 1 :]
    return structs.replace(seen, body=body)


@relaxed
@given(worlds, st.integers(0, 40), st.integers(0, 5000), st.integers(0, 255), st.booleans())
def test_damage_stays_where_it_was_done(story: Story, which: int, at: int, byte: int, cut: bool) -> None:
    """Nothing is raised, everything is kept, and strangers (another project) notice nothing."""
    stranger = story.line(project="stranger", session="s")
    stranger.ask("x1", "hello", agent("toolu_1", "look"))
    stranger.ask("x2", report("toolu_1"), "done")
    sound, _ = story.told(flat(story))
    seen = flat(story)[:-4]
    which %= len(seen)
    seen[which] = damaged(seen[which], at, byte, cut)
    store, questions = story.told([*seen, *flat(story)[-4:]])
    assert questions.seq() > 0
    assert store.missing([one.id for one in seen]) == set()
    assert _of_project(store, "stranger") == _of_project(sound, "stranger")


def _of_project(store: Sqlite, project: str) -> dict[str, Any]:
    return {key: row for key, row in stories.rows(store).items() if row.get("project") == project}


@relaxed
@given(st.binary(max_size=300), st.sampled_from(["text/event-stream", "application/json", ""]), st.integers(0, 600))
def test_any_bytes_are_an_answer(body: bytes, kind: str, status: int) -> None:
    story = Story()
    story.line(session="s").ask("a", "hello", "hi")
    request, answer = story.seen[0]
    assert isinstance(answer, Response)
    odd = structs.replace(answer, body=body, status=status, headers=(("content-type", kind),))
    _, questions = story.told([request, odd])
    assert len(questions.calls()["items"]) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "role", "content", "id", "tool_use_id", "input", "x"]), inner, max_size=4),
    max_leaves=12,
)


@relaxed
@given(JSON, JSON, JSON)
def test_any_json_is_a_request(messages: Any, metadata: Any, system: Any) -> None:
    body = json.dumps({"messages": messages, "metadata": metadata, "system": system, "thread": metadata}).encode()
    story = Story()
    story.line(session="s").ask("a", "hello", "hi")
    request = story.seen[0][0]
    assert isinstance(request, Request)
    _, questions = story.told([structs.replace(request, body=body), *story.seen[0][1:]])
    assert len(questions.calls()["items"]) == 1
