"""A task's row, from what is known of it."""

from typing import Any

import msgspec

from ramify.linking.a2a import subject
from ramify.linking.a2a.facts import Facts
from ramify.model.a2a_event import INTERRUPTED
from ramify.model.entity import NativeRef, Task


def describe(row: Task, facts: Facts, title: str) -> None:
    row.project, row.agent, row.protocol, row.named = facts.project, facts.agent, "a2a", False
    row.opened = facts.first[0]  # that of its request, where that was seen first
    row.active = facts.active
    row.prompt = facts.prompt.text if facts.prompt is not None else ""
    row.title = title or first_line(row.prompt)
    row.status, row.native_status = facts.status()
    row.closed = facts.closed()
    row.flags = facts.flags()
    row.refs = refs_of(facts)
    row.home = subject.conversation_id(facts.project, facts.agent, context_of(facts))
    row.native = native_of(facts, title)


def first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:200]


def context_of(facts: Facts) -> str:
    """A task without a context stands in a conversation of its own."""
    return facts.context.value if facts.context is not None else f"@{facts.id}"


def refs_of(facts: Facts) -> tuple[NativeRef, ...]:
    found = [("task", facts.native), ("context", facts.context.value if facts.context is not None else ""), ("message", facts.message)]
    return tuple(NativeRef("a2a", kind, value, facts.agent) for kind, value in found if value)


def native_of(facts: Facts, title: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if title:
        found["referencedWorkflow"] = title
    if facts.metadata is not None:
        found["metadata"] = msgspec.json.decode(facts.metadata.value)
    if facts.asked is not None and facts.asked.value and facts.status()[0] in INTERRUPTED:
        found["question"] = msgspec.json.decode(facts.asked.value)
    return found


def describe_unresolved(row: Task, project: str, native: str, title: str, opened: int) -> None:
    """An agent named it, and nobody has seen more of it."""
    row.project, row.protocol, row.named, row.agent = project, "a2a", True, ""
    row.status, row.prompt_author = "unknown", "agent"
    row.title, row.opened, row.active = title, opened, opened
    row.refs = (NativeRef("a2a", "task", native),)
    row.native = {"referencedWorkflow": title} if title else {}
