"""One message as the client reports it: what was said, answered, returned, and which agents it names."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ramify.model.event import (
    Event,
    Hint,
    MessageSaid,
    ModelAnswered,
    Part,
    Place,
    Scope,
    TaskMoved,
    TaskOpened,
    TaskReferred,
    Unreadable,
)
from ramify.model.observation import Record
from ramify.protocols.anthropic.answer import extra_of, served_by, tokens_of
from ramify.protocols.anthropic.normal import blocks_of, read_part
from ramify.protocols.claude.shape import mapping, mappings, parse, text


class Seen(Struct, frozen=True):
    """A record, and what all its events repeat. `under`: the tool call inside which it was said, where the agent
    itself is not named."""

    record: Record
    scope: Scope
    place: Place = Place()
    under: str = ""

    @property
    def stamp(self) -> tuple[str, str, int]:
        """Source, observation and time: what follows the scope in every event of this kind."""
        return self.record.source, self.record.id, self.record.at

    def child(self, agent: str) -> Scope:
        return Scope(self.scope.project, session=self.scope.session, agent=agent)


def events_of(record: Record, read: Callable[[dict[str, Any]], Iterable[Event]]) -> tuple[Event, ...]:
    """What `read` makes of a record that is one JSON object; what cannot be read is said to be so."""
    fields = parse(record.body)
    if isinstance(fields, str):
        return (Unreadable(record.id, record.at, fields),)
    try:
        return tuple(read(fields))
    except RecursionError:
        return (Unreadable(record.id, record.at, "nested too deeply"),)


def read_message(message: dict[str, Any], role: str) -> tuple[Part, tuple[dict[str, Any], ...]]:
    """What is no block is left out."""
    content = message.get("content")
    blocks = mappings(blocks_of(content)) if isinstance(content, str | list) else []
    return read_part({"role": role, "content": blocks}), tuple(blocks)


def say(seen: Seen, message: dict[str, Any], role: str, hint: Hint) -> MessageSaid:
    part, blocks = read_message(message, role)
    answer = text(message.get("id")) if role == "assistant" else ""
    return MessageSaid(seen.scope, *seen.stamp, part, blocks, hint, seen.place, answer, seen.under)


def placed(part: Part, line: int) -> Part:
    """The blocks of one answer come one a line: a tool call's place among them is its line."""
    return replace(part, uses=tuple(replace(use, block=line) for use in part.uses)) if line else part


def answer(seen: Seen, message: dict[str, Any], part: Part | None, status: str, request_id: str) -> ModelAnswered:
    """Without a stop reason the figures are those of the answer's beginning."""
    usage = mapping(message.get("usage"))
    model = served_by(usage, text(message.get("model")))
    stop_reason = text(message.get("stop_reason"))
    return ModelAnswered(
        request="",
        response=seen.record.id,
        project=seen.record.project,
        at=seen.record.at,
        status=status,
        message=text(message.get("id")),
        request_id=request_id,
        model=model,
        stop_reason=stop_reason,
        tokens=tokens_of(usage) if usage and status != "aborted" else None,  # its client does not count it
        extra_tokens=extra_of(usage, model),
        part=placed(part, seen.place.position) if part else None,
        scope=seen.scope,
        source=seen.record.source,
        final=bool(stop_reason),
        under=seen.under,
        place=seen.place,
    )


def named_agents(seen: Seen, tool: str, value: dict[str, Any], rule: str) -> list[Event]:
    """By a call's structured result: the call started an agent, woke one, or started a workflow."""
    if text(value.get("agentId")) and text(value.get("status")):
        return started_agent(seen, tool, value, rule)
    if woken := text(value.get("resumedAgentId")):
        return [TaskMoved(seen.child(woken), *seen.stamp, "working", "resumed")]
    # A workflow has two names: its folder among the transcripts, and its task in the stream.
    names = (text(value.get("runId")), text(value.get("taskId"))) if "runId" in value else ()
    return [TaskReferred(seen.child(""), *seen.stamp, "workflow-run", tool, run) for run in names if run]


def started_agent(seen: Seen, tool: str, value: dict[str, Any], rule: str) -> list[Event]:
    """Until 2.1.112 an agent that failed is said to be completed; its last answer, which no model gave, cost nothing."""
    agent, status = text(value.get("agentId")), text(value.get("status"))
    child, launched = seen.child(agent), status.endswith("_launched")
    opened = TaskOpened(
        replace(child, parent_agent=seen.scope.agent),
        *seen.stamp,
        prompt=text(value.get("prompt")),
        title=text(value.get("description")),
        agent_type=text(value.get("agentType")),
    )
    events: list[Event] = [
        TaskReferred(child, *seen.stamp, rule, tool),
        replace(opened, background=True) if launched else replace(opened, at=0),  # a report tells the end's time
    ]
    if status == "completed":
        failed = value.get("totalTokens") == 0
        events.append(TaskMoved(child, *seen.stamp, "failed" if failed else "completed", status))
    return events
