"""A question in an agent mesh, as its broker carries it: an orchestrator asks a peer, which uses a tool."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

Json = dict[str, Any]
ROOT = "shop/mesh/a2a/v1"
STOCK = "Which of the spring teas are running low?"
COUNT = "Count what is left of the spring teas."
MODEL = "openai/demo-model"


class Mesh:
    """Topics and payloads of one conversation; ids follow from its seed."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0
        self.context = f"web-session-{self._hex()}"
        self.root = f"gdk-task-{self._hex()}"
        self.peer = f"a2a_subtask_{self._hex()}"

    def _hex(self) -> str:
        self._count += 1
        return uuid5(NAMESPACE_URL, f"{self._seed}/mesh/{self._count}").hex

    def asked(self, agent: str, task: str, words: str, metadata: Json) -> tuple[str, Json]:
        message = {"messageId": self._hex(), "contextId": self.context, "role": "user", "kind": "message",
                   "parts": [{"kind": "text", "text": words}], "metadata": {"agent_name": agent, **metadata}}
        return f"{ROOT}/agent/request/{agent}", {"id": task, "jsonrpc": "2.0", "method": "message/stream", "params": {"message": message}}

    def said(self, agent: str, task: str, *parts: Json) -> tuple[str, Json]:
        result = {"kind": "status-update", "taskId": task, "contextId": self.context, "final": False, "metadata": {"agent_name": agent},
                  "status": {"state": "working", "timestamp": now(), "message": self._message(parts)}}
        return self._topic("status", task), {"id": task, "jsonrpc": "2.0", "result": result}

    def ended(self, agent: str, task: str, words: str) -> tuple[str, Json]:
        return self._topic("response", task), {"id": task, "jsonrpc": "2.0", "result": self.end(agent, task, words)}

    def end(self, agent: str, task: str, words: str) -> Json:
        return {"kind": "task", "id": task, "contextId": self.context, "metadata": {"agent_name": agent},
                "status": {"state": "completed", "timestamp": now(), "message": self._message(({"kind": "text", "text": words},))}}

    def _message(self, parts: tuple[Json, ...]) -> Json:
        return {"messageId": self._hex(), "contextId": self.context, "kind": "message", "role": "agent", "parts": list(parts)}

    def _topic(self, kind: str, task: str) -> str:
        return f"{ROOT}/gateway/{kind}/shop-gw/{task}" if task == self.root else f"{ROOT}/agent/{kind}/Orchestrator/{task}"


def part(type: str, **fields: Any) -> Json:
    return {"kind": "data", "data": {"type": type, **fields}}


def thought(words: str) -> Json:
    return part("llm_invocation", request={"model": MODEL, "contents": [{"role": "user", "parts": [{"text": words}]}]}, usage=None)


def decided(words: str, tokens: int, call: Json | None = None) -> Json:
    parts: list[Json] = [{"text": words}, *([{"function_call": call}] if call else [])]
    return part("llm_response", data={"content": {"role": "model", "parts": parts}, "partial": False},
                usage={"input_tokens": tokens, "output_tokens": 24, "model": MODEL})


async def play(pace: float, seed: str) -> AsyncIterator[tuple[str, bytes]]:
    """Topic and payload of each message, when its time has come."""
    mesh = Mesh(seed)
    ask = {"id": "call_stock", "name": "peer_StockAgent", "args": {"task_description": COUNT}}
    count = {"id": "call_count", "name": "count_stock", "args": {"kind": "spring"}}
    left = {"Sencha": 12, "Gyokuro": 3, "White peony": 41}
    low = "Gyokuro is nearly gone: three tins are left. Sencha will do for a week."
    steps: tuple[Callable[[], tuple[str, Json]], ...] = (
        lambda: mesh.asked("Orchestrator", mesh.root, STOCK, {}),
        lambda: mesh.said("Orchestrator", mesh.root, thought(STOCK)),
        lambda: mesh.said("Orchestrator", mesh.root, decided("The stock agent can count them.", 812, ask)),
        lambda: mesh.asked("StockAgent", mesh.peer, COUNT, {"parentTaskId": mesh.root, "function_call_id": ask["id"]}),
        lambda: mesh.said("Orchestrator", mesh.root, part("tool_invocation_start", tool_name=ask["name"], tool_args=ask["args"], function_call_id=ask["id"])),
        lambda: mesh.said("StockAgent", mesh.peer, thought(COUNT)),
        lambda: mesh.said("StockAgent", mesh.peer, decided("Looking at the shelves.", 640, count)),
        lambda: mesh.said("StockAgent", mesh.peer, part("tool_invocation_start", tool_name=count["name"], tool_args=count["args"], function_call_id=count["id"])),
        lambda: mesh.said("StockAgent", mesh.peer, part("tool_result", tool_name=count["name"], result_data={"status": "success", "data": left}, function_call_id=count["id"])),
        lambda: mesh.said("StockAgent", mesh.peer, part("agent_progress_update", status_text="Three kinds counted.")),
        lambda: mesh.ended("StockAgent", mesh.peer, "Sencha 12, Gyokuro 3, White peony 41."),
        lambda: mesh.said("Orchestrator", mesh.root, part("tool_result", tool_name=ask["name"], result_data=mesh.end("StockAgent", mesh.peer, "Sencha 12, Gyokuro 3, White peony 41."), function_call_id=ask["id"])),
        lambda: mesh.said("Orchestrator", mesh.root, thought(STOCK)),
        lambda: mesh.said("Orchestrator", mesh.root, decided(low, 1020)),
        lambda: mesh.ended("Orchestrator", mesh.root, low),
    )
    for step in steps:
        await asyncio.sleep(0.9 * pace)
        topic, payload = step()
        yield topic, json.dumps(payload).encode()


def now() -> str:
    return datetime.now(UTC).isoformat()
