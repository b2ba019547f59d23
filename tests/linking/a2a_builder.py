"""Frames of A2A, written as a capture would write them: small worlds of agents, clients and streams."""

import json
from collections.abc import Sequence
from typing import Any

from ramify.model import ids
from ramify.model.moment import iso
from ramify.model.observation import Record

START = 1_790_000_000_000_000
Frame = dict[str, Any]
Shape = dict[str, Any]


def record(frame: Frame, project: str = "p") -> Record:
    """As every way in makes it: the identity of a frame is (agent, connection, seq)."""
    agent, connection, seq = frame["agent"], frame["connection"], frame["seq"]
    place = f"{agent}/{connection}#{seq}"
    id = ids.observation_id("record", project, "a2a", agent, connection, seq)
    return Record(id, project, START, "import", "a2a", place, json.dumps(frame, ensure_ascii=False).encode())


def records(frames: Sequence[Frame], project: str = "p") -> list[Record]:
    return [record(frame, project) for frame in frames]


def message(text: str, id: str, role: str = "agent", refs: Sequence[str] = (), **more: Any) -> Shape:
    shape: Shape = {"messageId": id, "role": f"ROLE_{role.upper()}", "parts": [{"text": text}], **more}
    return {**shape, "referenceTaskIds": list(refs)} if refs else shape


def artifact(id: str, *texts: str, name: str = "") -> Shape:
    return {"artifactId": id, "name": name or id, "parts": [{"text": text} for text in texts]}


class Wire:
    """Everything that passes, with one clock: each frame is a millisecond later than the one before."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.now = START
        self._connections = 0

    def connect(self, agent: str) -> "Connection":
        self._connections += 1
        return Connection(self, agent, f"run/{agent}-{self._connections}")

    def wait(self, seconds: float) -> None:
        self.now += int(seconds * 1_000_000)

    def stamp(self) -> str:
        """A time by the agent's clock."""
        return iso(self.now) or ""


class Connection:
    def __init__(self, wire: Wire, agent: str, name: str) -> None:
        self.wire, self.agent, self.name, self.seq = wire, agent, name, 0

    def frame(self, kind: str, **fields: Any) -> "Connection":
        self.wire.now += 1_000
        self.wire.frames.append(
            {"agent": self.agent, "connection": self.name, "seq": self.seq, "time": iso(self.wire.now), "kind": kind, **fields}
        )
        self.seq += 1
        return self

    # -- requests ------------------------------------------------------------------------------------------------------

    def ask(self, method: str, params: Shape, headers: Shape | None = None) -> "Connection":
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.frame("request", method="POST", path="/", headers={"a2a-version": "1.0", **(headers or {})}, body=body)

    def send(self, said: Shape, method: str = "SendStreamingMessage", headers: Shape | None = None, **params: Any) -> "Connection":
        return self.ask(method, {"message": said, **params}, headers)

    def push(self, body: Shape) -> "Connection":
        return self.frame("request", direction="out", method="POST", path="/hook", headers={}, body=body).frame("response", status=200, headers={})

    # -- answers -------------------------------------------------------------------------------------------------------

    def answer(self, result: Any, status: int = 200) -> "Connection":
        body = {"jsonrpc": "2.0", "id": 1, "result": result}
        return self.frame("response", status=status, headers={"content-type": "application/json"}, body=body)

    def refuse(self, code: int) -> "Connection":
        body = {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}}
        return self.frame("response", status=200, headers={"content-type": "application/json"}, body=body)

    def open(self) -> "Connection":
        return self.frame("response", status=200, headers={"content-type": "text/event-stream"})

    def event(self, result: Any, end: str = "\r\n") -> "Connection":
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}, ensure_ascii=False)
        return self.frame("sse", raw=f"data: {line}{end}{end}")

    def fail(self, code: int = -32603) -> "Connection":
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "boom"}})
        return self.frame("sse", raw=f"event: error\r\ndata: {line}\r\n\r\n")

    def end(self) -> "Connection":
        return self.frame("end")

    def cut(self, by: str = "agent") -> "Connection":
        return self.frame("abort", by=by)

    # -- what agents say -----------------------------------------------------------------------------------------------

    def task(self, id: str, context: str = "ctx", state: str = "SUBMITTED", said: Shape | None = None, **more: Any) -> "Connection":
        return self.event({"task": task(id, context, state, said, **more)})

    def status(self, id: str, state: str, said: Shape | None = None, context: str = "ctx", time: str | None = None) -> "Connection":
        status = {"state": f"TASK_STATE_{state}", "timestamp": time or self.wire.stamp()}
        return self.event({"statusUpdate": {"taskId": id, "contextId": context, "status": {**status, "message": said} if said else status}})

    def chunk(self, id: str, made: Shape, append: bool = False, last: bool = False, context: str = "ctx") -> "Connection":
        marks = {name: True for name, there in (("append", append), ("lastChunk", last)) if there}
        return self.event({"artifactUpdate": {"taskId": id, "contextId": context, "artifact": made, **marks}})


def task(id: str, context: str = "ctx", state: str = "SUBMITTED", said: Shape | None = None, time: str = "", **more: Any) -> Shape:
    status: Shape = {"state": f"TASK_STATE_{state}"}
    if time:
        status["timestamp"] = time
    if said:
        status["message"] = said
    return {"id": id, "contextId": context, "status": status, **more}


def begin(wire: Wire, agent: str, id: str, prompt: str = "do it", context: str = "ctx", refs: Sequence[str] = (), **sent: Any) -> Connection:
    """A client opens a stream with a prompt; the agent makes a task of it and starts to work."""
    said = message(prompt, f"m-{id}", "user", refs)
    line = wire.connect(agent).send({**said, "contextId": context}, **sent).open()
    line.task(id, context, history=[{**said, "taskId": id, "contextId": context}])
    return line.status(id, "WORKING", message(f"{id}: started", f"{id}-started"), context)
