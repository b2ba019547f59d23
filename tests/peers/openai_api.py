"""An OpenAI-compatible API on this machine: answers by a script, whole or in pieces, as Chat Completions and Responses do."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Json = dict[str, Any]
Script = Callable[[str, int], "Said"]
"""From the prompt that opened the conversation, and how many answers it has had, to what the model says."""


@dataclass(frozen=True)
class Said:
    text: str = ""
    tools: tuple[tuple[str, str, Json], ...] = ()  # id, name, arguments
    thinking: str = ""


@dataclass
class Api:
    script: Script
    url: str = ""
    requests: list[Json] = field(default_factory=list)
    kept: dict[str, list[Any]] = field(default_factory=dict)  # what `previous_response_id` goes on from

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        messages = body["messages"]
        prompt = next(message["content"] for message in messages if message["role"] == "user")
        said = self.script(prompt, sum(message["role"] == "assistant" for message in messages))
        id = f"chatcmpl-{len(self.requests)}"
        if body.get("stream"):
            return await streamed(request, [*chat_pieces(id, body["model"], said), "[DONE]"])
        return web.json_response(chat_body(id, body["model"], said))

    async def responses(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        given = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
        items = [*self.kept.get(body.get("previous_response_id") or "", []), *given]
        prompt = next(item["content"] for item in items if item.get("role") == "user")
        turn = sum(item.get("type") == "function_call_output" for item in items)
        id = f"resp_{len(self.requests)}"
        output = output_items(id, self.script(prompt, turn))
        self.kept[id] = [*items, *output]
        whole = response_body(id, body["model"], output)
        if body.get("stream"):
            return await streamed(request, list(response_events(whole)), named=True)
        return web.json_response(whole)


def chat_message(said: Said) -> Json:
    calls = [{"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}} for id, name, given in said.tools]
    return {"role": "assistant", "content": said.text or None, "refusal": None} | ({"tool_calls": calls} if calls else {})


USAGE = {"prompt_tokens": 120, "completion_tokens": 15, "total_tokens": 135, "prompt_tokens_details": {"cached_tokens": 100}}


def chat_body(id: str, model: str, said: Said) -> Json:
    choice = {"index": 0, "message": chat_message(said), "finish_reason": "tool_calls" if said.tools else "stop", "logprobs": None}
    return {"id": id, "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": USAGE}


def chat_pieces(id: str, model: str, said: Said) -> list[Json]:
    def piece(delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {"id": id, "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice]}

    found = [piece({"role": "assistant", "content": ""})]
    found += [piece({"content": said.text[at : at + 3]}) for at in range(0, len(said.text), 3)]
    for index, (tool, name, given) in enumerate(said.tools):
        raw = json.dumps(given)
        found.append(piece({"tool_calls": [{"index": index, "id": tool, "type": "function", "function": {"name": name, "arguments": ""}}]}))
        found += [piece({"tool_calls": [{"index": index, "function": {"arguments": raw[at : at + 5]}}]}) for at in range(0, len(raw), 5)]
    found.append(piece({}, "tool_calls" if said.tools else "stop"))
    return [*found, {**piece({}), "choices": [], "usage": USAGE}]


def output_items(id: str, said: Said) -> list[Json]:
    thought = [{"type": "reasoning", "id": f"rs_{id}", "summary": [{"type": "summary_text", "text": said.thinking}]}] if said.thinking else []
    text = {"type": "output_text", "text": said.text, "annotations": []}
    words = [{"type": "message", "id": f"msg_{id}", "role": "assistant", "status": "completed", "content": [text]}] if said.text else []
    calls = [
        {"type": "function_call", "id": f"fc_{id}_{tool}", "call_id": tool, "name": name, "arguments": json.dumps(given), "status": "completed"}
        for tool, name, given in said.tools
    ]
    return [*thought, *words, *calls]


def response_body(id: str, model: str, output: list[Json]) -> Json:
    usage = {
        "input_tokens": 120, "output_tokens": 15, "total_tokens": 135, "input_tokens_details": {"cached_tokens": 100},
        "output_tokens_details": {"reasoning_tokens": 4},
    }  # fmt: skip
    return {
        "id": id, "object": "response", "created_at": 1, "model": model, "status": "completed", "output": output, "usage": usage, "error": None,
        "incomplete_details": None, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip


def response_events(whole: Json) -> list[Json]:
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    found: list[Json] = [{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}]
    for place, item in enumerate(whole["output"]):
        empty = {**item, "status": "in_progress"} | ({"content": []} if item["type"] == "message" else {"arguments": ""} if "arguments" in item else {})
        found.append({"type": "response.output_item.added", "output_index": place, "item": empty})
        at = {"output_index": place, "item_id": item["id"]}
        if item["type"] == "message":
            text = item["content"][0]["text"]
            part = {"type": "output_text", "text": "", "annotations": []}
            found.append({"type": "response.content_part.added", **at, "content_index": 0, "part": part})
            found += [
                {"type": "response.output_text.delta", **at, "content_index": 0, "delta": text[start : start + 4], "logprobs": []}
                for start in range(0, len(text), 4)
            ]
            found.append({"type": "response.output_text.done", **at, "content_index": 0, "text": text, "logprobs": []})
        elif item["type"] == "function_call":
            raw = item["arguments"]
            found += [{"type": "response.function_call_arguments.delta", **at, "delta": raw[start : start + 4]} for start in range(0, len(raw), 4)]
            found.append({"type": "response.function_call_arguments.done", **at, "name": item["name"], "arguments": raw})
        found.append({"type": "response.output_item.done", "output_index": place, "item": item})
    found.append({"type": "response.completed", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(found)]


async def streamed(request: web.Request, events: list[Json | str] | list[Json], named: bool = False) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for event in events:
        head = f"event: {event['type']}\n" if named and isinstance(event, dict) else ""
        payload = event if isinstance(event, str) else json.dumps(event)
        await response.write(f"{head}data: {payload}\n\n".encode())
    await response.write_eof()
    return response


@asynccontextmanager
async def serving(script: Script) -> AsyncIterator[Api]:
    api = Api(script)
    application = web.Application()
    application.router.add_post("/v1/chat/completions", api.chat)
    application.router.add_post("/v1/responses", api.responses)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    api.url = "http://{}:{}".format(*runner.addresses[0][:2])
    try:
        yield api
    finally:
        await runner.cleanup()
