"""Agents that a transcript names: in the result of a call, in a notification, in a report, in the files beside it."""

import re
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ramify.model.event import Event, Part, Scope, TaskMoved, TaskOpened, TaskReferred
from ramify.model.observation import Record
from ramify.protocols.claude.entry import Entry, beside
from ramify.protocols.claude.files import File
from ramify.protocols.claude.said import Seen, named_agents
from ramify.protocols.claude.shape import mappings, micros_of, text
from ramify.protocols.claude.wire import Outcome, is_object, object_decoder, outcome_decoder, progress_decoder

# Shells, workflows and all else that runs beside a session: a letter for the kind, then six or eight characters.
# An agent's id begins with `a`, or has eight hexadecimal digits.
OTHER_TASK = re.compile(r"[b-z](?:[0-9a-z]{6}|[0-9a-z]{8})")
ENDS = {"completed": "completed", "failed": "failed", "killed": "canceled", "stopped": "canceled"}
STATES = {"done": "completed", "error": "failed"}
SIDECAR_FIELDS = frozenset({"type", "agentType", "description", "name", "toolUseId", "parentAgentId"})


def outcome_of(entry: Entry) -> Outcome:
    """What the client noted beside a result; nothing where the tool failed, for then it is a text."""
    raw = entry.line.tool_use_result
    return outcome_decoder.decode(raw) if is_object(raw) else Outcome()


def by_outcome(entry: Entry, outcome: Outcome, part: Part) -> Iterable[Event]:
    """It is one note: beside several results it is nobody's. Other tools' notes may name an `agentId` as well; only
    the client's own has the prompt. The caller is whose file it stands in."""
    if len(part.results) != 1 or ("agentId" in outcome and "prompt" not in outcome):
        return
    by_main = not (entry.seen.scope.agent or entry.seen.place.side)
    for event in named_agents(entry.seen, part.results[0].id, dict(outcome), "agent-id-in-result"):
        yield replace(event, from_main=by_main) if isinstance(event, TaskOpened) else event


def by_notices(seen: Seen, part: Part) -> Iterable[Event]:
    """After a resumption the tool is the call that woke the agent, not the one that started it."""
    for notice in part.notices:
        if not notice.agent or OTHER_TASK.fullmatch(notice.agent):
            continue
        child = seen.child(notice.agent)
        if notice.tool:
            yield TaskReferred(child, *seen.stamp, "task-notification", notice.tool)
        if notice.status in ENDS:
            yield TaskMoved(child, *seen.stamp, ENDS[notice.status], notice.status)


def by_progress(entry: Entry) -> Iterable[Event]:
    """2.1.30 tells the caller's file what the agent says; the agent's own file says it again."""
    if not is_object(entry.line.data):
        return
    progress = progress_decoder.decode(entry.line.data)
    agent, tool = text(progress.agent_id), text(entry.line.parent_tool_use_id)
    if progress.type != "agent_progress" or not agent or not tool:
        return
    seen, child = entry.seen, entry.seen.child(agent)
    yield TaskReferred(child, *seen.stamp, "parent_tool_use_id", tool)
    yield TaskOpened(replace(child, parent_agent=seen.scope.agent), *seen.stamp, prompt=text(progress.prompt))


def by_sidecar(record: Record, file: File) -> Iterable[Event]:
    """`finished` is no end of ours: it is there after a failure as well. Clients before 2.1.325 do not name the agent
    above, so that only the depth tells whose call it was."""
    fields = object_decoder.decode(record.body)
    tool, parent = text(fields.get("toolUseId")), text(fields.get("parentAgentId"))
    seen, shape = beside(record, file, file.agent), fields.get("requestShape")
    yield TaskOpened(
        replace(seen.scope, parent_agent=parent),
        *seen.stamp,
        title=text(fields.get("description")),
        agent_type=text(fields.get("agentType")),
        name=text(fields.get("name")),
        background=shape == "background" if isinstance(shape, str) else None,
        from_main=bool(tool) and not parent and fields.get("spawnDepth") == 1,
        native={key: value for key, value in fields.items() if key not in SIDECAR_FIELDS},
    )
    if tool:
        yield TaskReferred(replace(seen.scope, parent_agent=parent), *seen.stamp, "sidecar", tool)
    if fields.get("stoppedByUser") is True:
        yield TaskMoved(seen.scope, *seen.stamp, "canceled", "stoppedByUser")
    yield from in_workflow(seen, file, seen.scope)


def in_workflow(seen: Seen, file: File, agent: Scope) -> Iterable[Event]:
    """An agent's folder names the workflow that it worked in."""
    if file.run:
        yield TaskReferred(agent, *seen.stamp, "workflow-run", run=file.run)


def by_journal(record: Record, file: File) -> Iterable[Event]:
    """A workflow's journal has no times: an agent began, an agent gave its result."""
    fields = object_decoder.decode(record.body)
    agent = text(fields.get("agentId"))
    if not agent:
        return
    seen = beside(record, file, agent)
    yield from in_workflow(seen, file, seen.scope)
    if fields.get("type") == "result":
        yield TaskMoved(seen.scope, *seen.stamp, "completed", "result")


def by_workflow(record: Record, file: File) -> Iterable[Event]:
    """The state of a whole workflow, written when it ends: its agents, and how each ended."""
    for agent in mappings(object_decoder.decode(record.body).get("workflowProgress")):
        if agent.get("type") == "workflow_agent" and text(agent.get("agentId")):
            yield from workflow_agent(beside(record, file, text(agent.get("agentId"))), file, agent)


def workflow_agent(seen: Seen, file: File, fields: dict[str, Any]) -> Iterable[Event]:
    source, observation, _ = seen.stamp
    began, ended = micros_of(fields.get("startedAt")), micros_of(fields.get("lastProgressAt"))
    yield from in_workflow(seen, file, seen.scope)
    yield TaskOpened(seen.scope, source, observation, began, title=text(fields.get("label")))
    state = text(fields.get("state"))
    if state in STATES:
        yield TaskMoved(seen.scope, source, observation, ended, STATES[state], state)
