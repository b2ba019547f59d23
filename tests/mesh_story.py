"""Small runs of a mesh, told message by message: each says what it is about and nothing else."""

import json
import random
from itertools import count
from pathlib import Path
from typing import Any

from ramify.capture.cleaner import Cleaner
from ramify.capture.mesh_file import read_line
from ramify.ingest import Ingest
from ramify.model.observation import Observation
from ramify.query.service import Questions
from ramify.storage.sqlite import Sqlite, open_sqlite
from tests import story

Json = dict[str, Any]


def stamp(second: float) -> str:
    whole = int(second)
    hour = 10 + whole // 3600
    return f"2026-11-15T{hour}:{whole // 60 % 60:02}:{whole % 60:02}.{round((second - whole) * 1e6):06}+00:00"


class Mesh:
    """Every message is a second after the one before, unless `at` says otherwise."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self._numbers = count(1)
        self._now = 0.0

    def _put(self, topic: str, payload: Json, at: float | None, **properties: Any) -> Json:
        self._now = self._now + 1 if at is None else at
        message = {"topic": f"n/a2a/v1/{topic}", "payload": payload, "received_at": stamp(self._now + 0.001), "user_properties": properties or None}
        self.messages.append(message)
        return message

    def ask(self, task: str, agent: str, text: str = "do it", *, parent: str = "", call: str = "", at: float | None = None, **metadata: Any) -> Json:
        if parent:
            metadata |= {"parentTaskId": parent, **({"function_call_id": call} if call else {})}
        parts = [{"kind": "text", "text": text}] if text else [data(type="structured_invocation_request")]
        message = {"messageId": f"m{next(self._numbers)}", "contextId": "c", "role": "user", "parts": parts, "metadata": metadata}
        return self._put(f"agent/request/{agent}", {"id": task, "method": "message/stream", "params": {"message": message}}, at)

    def say(self, task: str, *parts: Json, agent: str = "Chef", state: str = "working", kind: str = "status-update", at: float | None = None, metadata: Json | None = None, final: bool = False, message_id: str = "", result_metadata: Json | None = None) -> Json:
        now = self._now + 1 if at is None else at
        message = {"messageId": message_id or f"m{next(self._numbers)}", "role": "agent", "parts": list(parts), "metadata": metadata or {}}
        beside = {"agent_name": agent} if metadata is None else {}
        result = {"kind": kind, "id": task, "taskId": task, "contextId": "c", "final": final, "metadata": result_metadata or beside, "status": {"state": state, "timestamp": stamp(now), "message": message}}
        return self._put(f"gateway/status/gw/{task}", {"id": task, "result": result}, now)

    def end(self, task: str, text: str = "done", *, state: str = "completed", agent: str = "Chef", at: float | None = None, **more: Any) -> Json:
        return self.say(task, {"kind": "text", "text": text}, agent=agent, state=state, kind="task", at=at, **more)

    def cancel(self, target: str, agent: str, at: float | None = None) -> Json:
        return self._put(f"agent/request/{agent}", {"id": f"x{next(self._numbers)}", "method": "tasks/cancel", "params": {"id": target}}, at)

    # -- questions ---------------------------------------------------------------------------------------------------

    def observations(self) -> list[Observation]:
        raw = [json.dumps(message).encode() for message in self.messages]
        found = [read for number, line in enumerate(raw, 1) for read in read_line(line, number, Path("x"), "default", "UTC")]
        return [seen for read in found for seen in read.observations]

    def told(self) -> Questions:
        """The same in three orders and three sizes of batches, or it is no answer."""
        seen = self.observations()
        first = stored(seen, 1000)
        for seed in range(6):
            mixed = [*seen, *seen[: len(seen) // 2]]
            random.Random(seed).shuffle(mixed)
            assert story.row_differences(story.rows(first), story.rows(stored(mixed, (1, 3, 7)[seed % 3]))) == []
        return Questions(first)


def stored(seen: list[Observation], size: int) -> Sqlite:
    store = open_sqlite("memory:")
    ingest = Ingest(store, redaction=Cleaner())
    for start in range(0, len(seen), size):
        ingest.step(seen[start : start + size])
    return store


def data(**fields: Any) -> Json:
    return {"kind": "data", "data": fields}


def model_asked(*results: tuple[str, str, Any], model: str = "m/x") -> Json:
    contents = [{"role": "user", "parts": [{"function_response": {"id": id, "name": name, "response": response}}]} for id, name, response in results]
    return data(type="llm_invocation", request={"model": model, "contents": contents or [{"role": "user", "parts": [{"text": "hi"}]}]})


def model_answered(*calls: tuple[str, str, Any], text: str = "", used: tuple[int, int] = (10, 5), partial: bool = False) -> Json:
    parts: list[Json] = [{"text": text}] if text else []
    parts += [{"function_call": {"id": id, "name": name, "args": args}} for id, name, args in calls]
    usage = {"input_tokens": used[0], "output_tokens": used[1], "model": "m/x"}
    return data(type="llm_response", data={"content": {"parts": parts, "role": "model"}, "partial": partial}, usage=usage)


def started(id: str, name: str, args: Any = None) -> Json:
    return data(type="tool_invocation_start", tool_name=name, tool_args=args, function_call_id=id)


def returned(id: str, name: str, result: Any, **more: Any) -> Json:
    return data(type="tool_result", tool_name=name, result_data=result, function_call_id=id, **more)


def task_object(id: str, state: str = "completed") -> Json:
    return {"kind": "task", "id": id, "status": {"state": state, "message": {"parts": [{"kind": "text", "text": "child's words"}]}}}
