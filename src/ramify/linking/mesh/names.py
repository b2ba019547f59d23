"""Ids of rows that a mesh told of, made from the mesh's own."""

from functools import lru_cache

from ramify.model import ids
from ramify.model.entity import Task

PROTOCOL = "sam"


@lru_cache(4096)
def task_id(project: str, native: str) -> str:
    return ids.short("task", project, PROTOCOL, native)


def native_id(task: Task) -> str:
    return next((ref.value for ref in task.refs if ref.kind == "task"), "")


@lru_cache(4096)
def conversation_id(project: str, context: str) -> str:
    return ids.short("conv", project, PROTOCOL, context) if context else ""


def tool_id(project: str, task: str, call: str, occurrence: int) -> str:
    return ids.short("tool", project, PROTOCOL, task, call, occurrence)


def model_call_id(project: str, identity: str, part: int) -> str:
    return ids.short("call", project, PROTOCOL, identity, part)


def message_id(project: str, identity: str) -> str:
    return ids.short("msg", project, PROTOCOL, identity)


def note_id(project: str, identity: str, kind: str, part: int = 0) -> str:
    return ids.short("note", project, PROTOCOL, identity, kind, part)


def agent_id(project: str, name: str) -> str:
    return ids.short("agent", project, PROTOCOL, name)
