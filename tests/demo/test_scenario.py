"""The demo's session, acted out in full against the scripted API."""

import json

from ramify.demo.scenario import CHECKOUT, MEASURE, NOTE, PLAN, SLOW, play, script
from ramify.demo.upstream import Received, prompt, serving, turn
from ramify.demo.wire import Json

AGENT = "x-claude-code-agent-id"
PARENT = "x-claude-code-parent-agent-id"


async def acted_out() -> list[tuple[Received, Json]]:
    async with serving(script()) as upstream:
        assert await play(upstream.url, pace=0.0) == "The note is in notes/speed.md."
    return [(received, json.loads(received.body)) for received in upstream.requests]


async def test_every_line_of_the_plan_is_spoken_once_and_one_is_tried_twice() -> None:
    asked = [prompt(body) for _, body in await acted_out()]
    for words, replies in PLAN.items():
        assert asked.count(words) == len(replies) + (words == CHECKOUT)


async def test_agents_are_told_apart_by_their_headers() -> None:
    agents = {
        prompt(body): (received.header(AGENT), received.header(PARENT))
        for received, body in await acted_out()
    }
    assert agents.pop(SLOW) == ("", "")
    nested = [parent for _, parent in agents.values() if parent]
    assert nested == [agents[MEASURE][0]]
    assert len({agent for agent, _ in agents.values()}) == 5


async def test_results_name_their_agent_on_a_line_of_its_own() -> None:
    exchanges = await acted_out()
    whole = max((body for _, body in exchanges if prompt(body) == SLOW), key=turn)
    results = [
        block["content"][0]["text"]
        for message in whole["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    named = {line.split()[1] for text in results for line in text.split("\n") if line.startswith("agentId: ")}
    direct = {received.header(AGENT) for received, _ in exchanges if not received.header(PARENT)}
    assert named == direct - {""}
    assert [message["content"][0].get("text") for message in whole["messages"]].count(NOTE) == 1
    assert any("<task-notification>" in str(message) for message in whole["messages"])


async def test_two_performances_send_the_same_requests() -> None:
    first = sorted(received.body for received, _ in await acted_out())
    assert first == sorted(received.body for received, _ in await acted_out())
