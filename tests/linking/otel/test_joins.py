"""Spans together with what other protocols show: a task of A2A, a session of the Claude client."""

import json
import random
from itertools import permutations
from typing import Any

import pytest
from msgspec import structs

from ramify.capture.a2a.frame_file import read_frames
from ramify.model.observation import Observation, Response
from ramify.protocols.otel.request import read_json
from tests import story
from tests.linking.world_builder import Story
from tests.spans import BEGIN, CLIENT, SERVER, TRACE, Told, agent, chat, id_of, pairs, records, span, tool

SESSION = "5e551011-0000-4000-8000-00000000000a"
FRAMES = story.CASES / "a2a" / "v1-input-required" / "frames.jsonl"


def frames() -> list[Observation]:
    return [seen for read in read_frames(FRAMES, "default") for seen in read.observations]


@pytest.mark.parametrize("spans_first", [False, True])
def test_a_span_about_a_task_of_a2a_is_that_task(spans_first: bool) -> None:
    alone = Told().observe(*frames())
    root = next(task for task in alone.questions.tasks(limit=0)["items"] if task["link"] is None)
    native = next(ref["value"] for ref in root["refs"] if ref["kind"] == "task")
    said = {"a2a.method.name": "SendMessage", "a2a.task.id": native}
    spans = records([agent("planner"), span("SendMessage", "planner", id="send", kind=CLIENT, attributes=said)])
    world = Told()
    for batch in (spans, frames()) if spans_first else (frames(), spans):
        world.observe(*batch)
    before, after = (len(one.questions.tasks(limit=0)["items"]) for one in (alone, world))
    assert after == before + 1  # the planner, and no second task for the same work
    (child,) = world.tree()["children"]
    assert {ref["value"] for ref in child["refs"] if ref["protocol"] == "a2a" and ref["kind"] == "task"} == {native}
    assert child["link"]["rule"] in ("span-parent", "traceparent")
    assert "orphan" not in child["flags"]


def asked(alone: Told) -> tuple[list[dict[str, Any]], list[str]]:
    """What A2A shows by itself: its tasks, the root first, and their ids."""
    tasks = sorted(alone.questions.tasks(limit=0)["items"], key=lambda task: task["depth"])
    return tasks, [next(ref["value"] for ref in task["refs"] if ref["kind"] == "task") for task in tasks]


def sends(name: str, parent: str, native: str, **more: Any) -> dict[str, Any]:
    return span("SendMessage", parent, id=name, attributes={"a2a.method.name": "SendMessage", "a2a.task.id": native}, **more)


@pytest.mark.parametrize("seed", range(4))
def test_what_spans_show_inside_a_task_of_a2a_stays_with_it_in_any_order(seed: int) -> None:
    tasks, natives = asked(Told().observe(*frames()))
    root, child = tasks[0]["id"], tasks[1]["id"]
    spans = [
        agent("planner", end=900), tool("ask", "planner"), sends("out", "ask", natives[0], kind=CLIENT),
        sends("in", "out", natives[0], kind=SERVER, flags=769), chat("call", "in"), tool("look", "in"),
        tool("again", "planner"), sends("child", "again", natives[1], kind=CLIENT),
    ]  # fmt: skip
    seen = [*frames(), *(record for one in spans for record in records([one]))]
    chance = random.Random(seed)
    chance.shuffle(seen)
    world = Told()
    while seen:
        size = chance.choice((1, 5, 40))
        world.observe(*seen[:size])
        seen = seen[size:]
    (top,) = world.tree()["children"]
    assert (top["id"], top["link"]["rule"], top["tool_calls"], top["usage"]["calls"], top["prompt_author"]) == (root, "traceparent", 1, 1, "agent")
    planner = world.tree()["id"]
    assert {message["author_id"] for message in world.questions.messages(root)["items"] if message["author"] == "agent"} == {root, planner}
    assert child not in [id for call in world.questions.tools(planner)["items"] for id in call["spawned"]]  # its own protocol names another parent


@pytest.mark.parametrize("frames_first", [False, True])
def test_a_trace_whose_root_is_a_task_of_a2a_keeps_what_hangs_loose(frames_first: bool) -> None:
    tasks, natives = asked(Told().observe(*frames()))
    spans = records([sends("in", "", natives[0], kind=SERVER), chat("call", "lost")])
    world = Told()
    for batch in (frames(), spans) if frames_first else (spans, frames()):
        world.observe(*batch)
    assert [(call["task"], call["conversation"]) for call in world.questions.calls(limit=0)["items"]] == [(tasks[0]["id"], tasks[0]["conversation"])]


def client(name: str, parent: str, start: int, **attributes: Any) -> dict[str, Any]:
    return span(f"claude_code.{name}", parent, id=name, start=start, end=start + 50, attributes={"session.id": SESSION, "span.type": name, **attributes})


def session(parent: str) -> list[Observation]:
    """A session with one prompt and one call, as the client exports it."""
    spans = [
        {**client("interaction", parent, 10), "flags": 769},
        client("llm_request", "interaction", 20, request_id="req_1", model="claude-opus-5-5", input_tokens=3, output_tokens=5, success=True),
    ]
    prompt = {"session.id": SESSION, "event.name": "user_prompt", "prompt": "Go", "message.uuid": "7081dfd7-ec82-4fff-a248-0dbfd12db62e"}
    log = {"timeUnixNano": str(BEGIN + 11_000_000), "body": {"stringValue": "claude_code.user_prompt"}, "attributes": pairs(prompt)}
    scope = {"name": "com.anthropic.claude_code.events"}
    logs = {"resourceLogs": [{"scopeLogs": [{"scope": scope, "logRecords": [log]}]}]}
    told = list(read_json(json.dumps(logs).encode(), "default", "logs").records)
    return [*told, *records(spans, scope="com.anthropic.claude_code.tracing")]


@pytest.mark.parametrize("client_first", [False, True])
def test_a_session_that_was_started_inside_a_span_hangs_there(client_first: bool) -> None:
    outer = records([agent("planner"), tool("shell", "planner", attributes={"gen_ai.tool.call.id": "call_9"})])
    world = Told()
    for batch in (session("shell"), outer) if client_first else (outer, session("shell")):
        for one in batch:
            world.observe(one)
    (child,) = world.tree()["children"]
    assert (child["prompt"], child["link"]["rule"], child["link"]["via"]) == ("Go", "traceparent", "call_9")
    assert world.tree()["tree_usage"]["output"] == 5


@pytest.mark.parametrize("client_first", [False, True])
def test_spans_of_a_program_that_the_clients_shell_ran_hang_under_its_task(client_first: bool) -> None:
    run = [
        client("tool", "interaction", 30, tool_name="Bash", tool_use_id="toolu_1"),
        client("tool.execution", "tool", 31, tool_use_id="toolu_1", success=True),
    ]
    inside = records([{**agent("script", "tool.execution", start=35), "flags": 769}])
    ours = [*session(""), *records(run, scope="com.anthropic.claude_code.tracing")]
    world = Told()
    for batch in (ours, inside) if client_first else (inside, ours):
        world.observe(*batch)
    script = world.questions.task(f"otel:span:{TRACE}-{id_of('script')}")
    root = next(task for task in world.questions.tasks(limit=0)["items"] if task["prompt"] == "Go")
    assert (script["link"]["rule"], script["link"]["parent"]) == ("traceparent", root["id"])


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_a_request_that_failed_is_the_one_that_telemetry_tells_of(order: tuple[int, ...]) -> None:
    """Its answer has no id of its own: whose it is, the id of the request says, whichever of its two sides was seen first."""
    wire = Story()
    wire.line(session=SESSION).ask("a", "Go", http=529)
    request, refused = wire.seen[0]
    assert isinstance(refused, Response)
    refused = structs.replace(refused, headers=(*refused.headers, ("request-id", "req_1")))
    (told,) = records([client("llm_request", "interaction", 20, request_id="req_1", success=False)], scope="com.anthropic.claude_code.tracing")
    world = Told()
    for at in order:
        world.observe((request, refused, told)[at])
    assert [call["status"] for call in world.questions.calls(limit=0)["items"]] == ["error"]
