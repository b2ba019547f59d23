"""Tool calls of one task: a decision, a start and a result that belong together become one row.

A start, and then a result, goes to the oldest call of the same id and name that lacks it. Weak models give every call
the same id, so the id alone proves nothing.
"""

import re

from ramify.linking.mesh import names
from ramify.linking.mesh.deliveries import evidence
from ramify.linking.mesh.rows import SYNTHETIC
from ramify.linking.mesh.writing import Writing
from ramify.model.entity import ToolCall
from ramify.model.mesh_event import MeshMessage, PastResult, ToolAsked, ToolReturned, ToolStarted

DECIDED, STARTED, RETURNED = "llm_response", "tool_invocation_start", "tool_result"
PHASES = (DECIDED, STARTED, RETURNED)
TIMED_OUT = re.compile(rb"timed out after \d+(?:\.\d+)? seconds?")


def decided(work: Writing, message: MeshMessage, asked: ToolAsked, caller: str) -> None:
    row = opened(work, message, asked.call, asked.name, DECIDED)
    row.args, row.call = asked.args, caller
    row.observation = evidence(message)


def started(work: Writing, message: MeshMessage, told: ToolStarted) -> None:
    row = lacking(work, told.call, told.name, STARTED) or opened(work, message, told.call, told.name, STARTED)
    reach(row, STARTED)
    row.begun, row.args, row.observation = message.at, told.args or row.args, evidence(message)
    if told.group:
        row.details["parallel_group_id"] = told.group
    close_when_whole(work, row)


def returned(work: Writing, message: MeshMessage, told: ToolReturned) -> None:
    row = lacking(work, told.call, told.name, RETURNED) or opened(work, message, told.call, told.name, RETURNED)
    reach(row, RETURNED)
    row.closed, row.status, row.result, row.error = message.at, told.status, told.result, told.error
    row.result_source, row.observation = "wire", evidence(message)
    if told.word:
        row.details["result_status"] = told.word
    if told.child:
        row.details["child"] = told.child
    close_when_whole(work, row)


def remembered(work: Writing, results: tuple[PastResult, ...]) -> None:
    """A later call to the model holds the result of a tool whose end nobody published: peers that time out."""
    waiting = [row for id in work.state.open_tools if RETURNED not in (row := work.tool(id)).phases]
    for row in waiting:
        found = past_result(work, row, [one for one in results if (one.call, one.name) == (row.native, row.name)])
        if found is not None:
            row.result, row.result_source = found.response, "history"
            late = TIMED_OUT.search(found.response) is not None
            row.status, row.error = ("timed_out", "") if late else (found.status, found.error)
            row.details.pop("flawed", None)


def past_result(work: Writing, row: ToolCall, results: list[PastResult]) -> PastResult | None:
    """The last result is that of the last call, and so on backwards: a compaction drops the oldest."""
    later = range(row.occurrence + 1, used(work, row.native) + 1)
    rows = [work.glance(names.tool_id(work.project, work.native, row.native, occurrence)) for occurrence in later]
    behind = sum(one is not None and one.name == row.name for one in rows)
    return results[-1 - behind] if behind < len(results) else None


def flawed(work: Writing, text: str) -> None:
    """An error that names a tool ends the calls of it that never began; where there are none, those without a result."""
    rows = [work.tool(id) for id in work.state.open_tools]
    named = [row for row in rows if RETURNED not in row.phases and not row.result_source and is_named(row.name, text)]
    for row in [row for row in named if row.phases == (DECIDED,)] or named:
        row.details["flawed"] = text
        judge(work, row)


def is_named(tool: str, text: str) -> bool:
    """One tool's name may be the beginning of another's."""
    return bool(tool) and re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", text) is not None


def judge_open(work: Writing) -> None:
    """The task has ended, or goes on."""
    for id in work.state.open_tools:
        judge(work, work.tool(id))


def judge(work: Writing, row: ToolCall) -> None:
    if row.result_source:
        return
    row.error = row.details.get("flawed", "")
    if row.error:
        row.status = "error"
    elif not work.state.is_over:
        row.status = "running"
    else:
        row.status = "canceled" if work.state.outcome == "canceled" else "missing"


# -- rows --------------------------------------------------------------------------------------------------------------


def opened(work: Writing, message: MeshMessage, call: str, name: str, phase: str) -> ToolCall:
    occurrence = used(work, call) + 1
    if occurrence > 1:
        work.state.repeated[call] = occurrence
    work.called.add(call)
    row = ToolCall(
        names.tool_id(work.project, work.native, call, occurrence), call, work.project, name=name, opened=message.at,
        protocol=names.PROTOCOL, task=work.task, args=b"{}", phases=(phase,), occurrence=occurrence,
        agent_name=message.agent, synthetic=call.startswith(SYNTHETIC), block=work.state.tools,
    )  # fmt: skip
    row.details["ref"] = f"{work.native}/{call}/{occurrence}"
    work.state.tools += 1
    work.state.open_tools.append(row.id)
    work.put("tools", row)
    judge(work, row)
    return row


def used(work: Writing, call: str) -> int:
    """How many calls have this id. Most ids are used once, so only the others are remembered."""
    first = names.tool_id(work.project, work.native, call, 1)
    return work.state.repeated.get(call) or int(work.glance(first) is not None)


def forget_beyond(work: Writing) -> None:
    """Calls that another order of the same messages had opened besides."""
    for call in work.called:
        occurrence = used(work, call) + 1
        while work.world.get("tools", id := names.tool_id(work.project, work.native, call, occurrence)) is not None:
            work.possible("tools", id)
            occurrence += 1


def lacking(work: Writing, call: str, name: str, phase: str) -> ToolCall | None:
    for id in work.state.open_tools:
        row = work.tool(id)
        if (row.native, row.name) == (call, name) and phase not in row.phases:
            return row
    return None


def reach(row: ToolCall, phase: str) -> None:
    row.phases = tuple(one for one in PHASES if one in (*row.phases, phase))


def close_when_whole(work: Writing, row: ToolCall) -> None:
    if STARTED in row.phases and RETURNED in row.phases:
        if row.closed < row.begun:
            row.details["flags"] = ["clock"]
        work.state.open_tools.remove(row.id)
