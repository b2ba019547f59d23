"""From rows to the shapes that people and programs rely on."""

from collections.abc import Iterable
from typing import Any

from ramify.model.entity import Call, Conversation, NativeRef, Task
from ramify.model.link import Link
from ramify.model.moment import iso
from ramify.model.rules import RULES
from ramify.model.standing import task_closed, task_status
from ramify.model.usage import Usage
from ramify.protocols.anthropic.decode import BATCH
from ramify.query.flags import flags_of

Shape = dict[str, Any]


def usage_shape(usage: Usage) -> Shape:
    return {
        "calls": usage.calls,
        "input": usage.input,
        "output": usage.output,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "cost_usd": usage.cost_usd,
    }


def link_shape(link: Link | None) -> Shape | None:
    if link is None or not link.kind:
        return None
    return {
        "kind": link.kind,
        "rule": link.rule,
        "certainty": link.certainty,
        "parent": link.parent or None,
        "via": link.via or None,
        "via_id": link.via_id or None,
        "evidence": list(link.evidence),
    }


def explained_link(link: Link | None) -> Shape | None:
    """As `why` gives it: with what the rule means."""
    shape = link_shape(link)
    return shape and {**shape, "explanation": RULES.get(shape["rule"])}


def candidate_shapes(links: Iterable[Link]) -> list[Shape]:
    return [
        {
            "parent": one.parent,
            "rule": one.rule,
            "explanation": RULES.get(one.rule),
            "certainty": one.certainty,
            "rejected_because": one.rejected_because,
        }
        for link in links
        for one in link.candidates
    ]


def ref(protocol: str, kind: str, value: str, scope: str = "") -> Shape:
    shape = {"protocol": protocol, "kind": kind, "value": value}
    return {**shape, "scope": scope} if scope else shape


def native_refs(refs: Iterable[NativeRef]) -> list[Shape]:
    return [ref(one.protocol, one.kind, one.value, one.scope) for one in refs]


def task_shape(task: Task, branch: str | None) -> Shape:
    closed = task_closed(task)
    agent = "" if task.agent.startswith("@") else task.agent  # a stand-in: nobody named the agent
    return {
        "id": task.id,
        "title": task.title,
        "prompt": task.prompt or (None if task.protocol else ""),
        "prompt_author": task.prompt_author or "unknown",
        "agent": agent or None,
        "agent_type": task.agent_type or None,
        "status": task_status(task),
        "native_status": task.native_status or (task.stated.native if task.stated else "") or task.last_stop or task.last_status or None,
        "flags": flags_of(task),
        "conversation": task.conversation,
        "branch": branch,
        "operation": task.operation or None,
        "root": task.id,
        "depth": 0,
        "link": link_shape(task.link),
        "opened": iso(task.opened),
        "closed": iso(closed),
        "duration_ms": max(0, closed - task.opened) / 1000 if closed else None,
        "usage": usage_shape(task.usage),
        "tree_usage": usage_shape(task.usage),
        "subtasks": 0,
        "tool_calls": task.tool_calls,
        "refs": _refs(task, agent),
        "native": _native(task),
        "project": task.project,
    }


def _refs(task: Task, agent: str) -> list[Shape]:
    if task.protocol:
        return native_refs(task.refs)
    named = [("agent", agent), ("session", task.session)]
    return [ref("claude", kind, value) for kind, value in named if value]


def _native(task: Task) -> Shape:
    if task.protocol:
        return task.native
    stated = task.stated
    if stated is None or task.kind == "root":
        return {}
    return {key: value for key, value in (("name", stated.name), ("background", stated.background)) if value}


def call_kind(call: Call) -> str:
    if call.utility:
        return "utility"
    return "subagent" if call.agent or (call.line and call.line == call.task) else "main"


def call_refs(call: Call) -> list[Shape]:
    if call.protocol:
        own = [("message", call.message), ("request", call.request_id)]
        spans = [ref("otel", "span", place) for place in call.details.get("spans", ())]
        return [ref(call.protocol, kind, value) for kind, value in own if value] + spans
    refs = [("capture", "exchange", call.exchange), ("claude", "message", call.message), ("claude", "request", call.request_id)]
    refs += [("claude", "batch", call.exchange)] if call.source == BATCH else []
    refs += [("claude", "session", call.session), ("claude", "agent", call.agent)]
    refs += [("otel", "span", call.span)] if call.relation == "seen" else []
    return [ref(*one) for one in refs if one[2]]


def call_shape(call: Call, branch: str | None, attempt: int) -> Shape:
    linked = call.link if call.link is not None and call.link.kind != "spawned" else None
    return {
        "id": call.id,
        "task": call.task or None,
        "conversation": call.conversation or None,
        "branch": branch,
        "parent": call.parent or None,
        "kind": call_kind(call),
        "utility": call.utility or None,
        "model": call.model or None,
        "attempt": attempt,
        "attempt_of": call.attempt_of or None,
        "status": call.status,
        "link": link_shape(linked),
        "opened": iso(call.started),
        "closed": iso(call.ended),
        "first_token_ms": (call.first_byte - call.started) / 1000 if call.first_byte else None,
        "duration_ms": max(0, call.ended - call.started) / 1000 if call.ended else None,
        "usage": usage_shape(call.usage),
        "message_count": call.message_count,
        "new_messages": max(call.message_count - call.new_message, 0),
        "stop_reason": call.stop_reason or None,
        "http_status": call.http_status or None,
        "error": call.error or None,
        "agent": call.agent or None,
        "refs": call_refs(call),
        "observations": [seen for seen in (call.request, call.response) if seen],
        "sources": sorted({call.source, *call.sources} - {""}),
        "project": call.project,
    }


def conversation_shape(row: Conversation, title: str, tasks: int, roots: int, branches: list[str]) -> Shape:
    return {
        "id": row.id,
        "project": row.project,
        "session": row.session or None,
        "title": title,
        "opened": iso(row.opened),
        "active": iso(row.active),
        "calls": row.calls,
        "tasks": tasks,
        "roots": roots,
        "subtasks": tasks - roots,
        "branches": branches,
        "usage": usage_shape(row.usage),
        "client": row.client or None,
        "refs": native_refs(row.refs) if row.protocol else [ref("claude", "session", row.session)] if row.session else [],
    }
