"""The real OpenAI client through the real server: whole and in pieces, Chat Completions and Responses, a sub-agent by its tool call."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI

from tests.peers import openai_api
from tests.peers.openai_api import Said
from tests.peers.served import Answer, Server, serve

MODEL = "gpt-test"
TRAINS = "Find a train to Ghent that leaves before nine, and say its number."
ROOT = "Plan a day in Ghent."
STORY: dict[str, tuple[Said, ...]] = {
    ROOT: (
        Said("I ask somebody.", (("call_delegate_1", "ask_expert", {"expert": "trains", "task": TRAINS}),), "Trains first."),
        Said("Take IC 511."),
    ),
    TRAINS: (Said("", (("call_look_1", "timetable", {"to": "Ghent", "before": "09:00"}),)), Said("IC 511 leaves at 8:12.")),
}
DOOR = {"timetable": "IC 511 8:12", "ask_expert": ""}


def script(prompt: str, turn: int) -> Said:
    return STORY[prompt][turn]


async def chat(client: AsyncOpenAI, prompt: str, stream: bool) -> str:
    """An agent as people write it: a loop around the model, with its tools."""
    messages: list[Any] = [{"role": "system", "content": f"You help with: {prompt}"}, {"role": "user", "content": prompt}]
    while True:
        if stream:
            async with client.chat.completions.stream(model=MODEL, messages=messages, stream_options={"include_usage": True}) as running:
                answer = (await running.get_final_completion()).choices[0].message
        else:
            answer = (await client.chat.completions.create(model=MODEL, messages=messages)).choices[0].message
        messages.append(answer.model_dump(exclude_none=True, exclude={"parsed"}))
        if not answer.tool_calls:
            return answer.content or ""
        for call in answer.tool_calls:
            given = json.loads(call.function.arguments)
            result = await chat(client, given["task"], stream) if call.function.name == "ask_expert" else DOOR[call.function.name]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


async def responses(client: AsyncOpenAI, prompt: str, stream: bool, threaded: bool) -> str:
    """`threaded`: the provider keeps the history, and only what is new is sent."""
    items: list[Any] = [{"role": "user", "content": prompt}]
    previous: str | None = None
    while True:
        given: dict[str, Any] = {"model": MODEL, "input": items, "instructions": f"You help with: {prompt}"}
        given |= {"previous_response_id": previous} if previous else {}
        if stream:
            async with client.responses.stream(**given) as running:
                answer = await running.get_final_response()
        else:
            answer = await client.responses.create(**given)
        results = []
        for item in answer.output:
            if item.type == "function_call":
                asked = json.loads(item.arguments)
                result = await responses(client, asked["task"], stream, threaded) if item.name == "ask_expert" else DOOR[item.name]
                results.append({"type": "function_call_output", "call_id": item.call_id, "output": result})
        if not results:
            return str(answer.output_text)
        sent = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in answer.output]
        items = results if threaded else [*items, *sent, *results]
        previous = answer.id if threaded else None


async def told(server: Server, session: str | None = None) -> Answer:
    (root,) = await server.all("tasks?roots=true")
    return await server.ask(f"tasks/{root['id']}/tree")


@pytest.mark.parametrize("way", ["chat", "chat-stream", "responses", "responses-stream", "threaded", "threaded-stream"])
async def test_an_agent_and_its_sub_agent_are_one_tree(way: str, tmp_path: Path) -> None:
    async with openai_api.serving(script) as api, serve("http://127.0.0.1:9", tmp_path, RAMIFY_OPENAI_UPSTREAM=api.url) as server:
        client = AsyncOpenAI(api_key="sk-dummy", base_url=f"{server.url}/openai/v1", max_retries=0)
        stream = way.endswith("stream")
        if way.startswith("chat"):
            assert await chat(client, ROOT, stream) == "Take IC 511."
        else:
            assert await responses(client, ROOT, stream, way.startswith("threaded")) == "Take IC 511."
        await client.close()
        await server.settled(4)
        root = await told(server)
        assert (root["title"], root["status"], root["prompt_author"]) == (ROOT, "completed", "human")
        (child,) = root["children"]
        assert (child["prompt"], child["status"], child["prompt_author"]) == (TRAINS, "completed", "agent")
        assert child["link"]["via"] == "call_delegate_1"
        assert root["tree_usage"] == {"calls": 4, "input": 80, "output": 60, "cache_read": 400, "cache_write": 0, "cost_usd": None}
        tools = await server.about(root["id"], "tools?tree=true")
        assert [(tool["name"], tool["status"], tool["args"], tool["result"]) for tool in tools] == [
            ("ask_expert", "ok", {"expert": "trains", "task": TRAINS}, "IC 511 leaves at 8:12."),
            ("timetable", "ok", {"to": "Ghent", "before": "09:00"}, "IC 511 8:12"),
        ]
        messages = await server.about(root["id"], "messages")
        texts = [block.get("text") for message in messages for block in message["blocks"] if block["type"] == "text"]
        assert [text for text in texts if not str(text).startswith("You help")] == [ROOT, "I ask somebody.", "Take IC 511."]
        if not way.startswith("chat"):
            (thought,) = await server.about(root["id"], "reasoning")
            assert thought["text"] == "Trains first."
        hits = await server.ask("search?q=Ghent")
        assert hits["items"]


async def test_a_dead_upstream_is_told_in_the_clients_own_words(tmp_path: Path) -> None:
    from openai import InternalServerError

    async with serve("http://127.0.0.1:9", tmp_path, RAMIFY_OPENAI_UPSTREAM="http://127.0.0.1:9") as server:
        client = AsyncOpenAI(api_key="sk-dummy", base_url=f"{server.url}/openai/v1", max_retries=0)
        with pytest.raises(InternalServerError, match="--openai-upstream"):
            await client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Hello"}])
        await client.close()
