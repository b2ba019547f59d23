"""What is known of what was seen: what a tree lacks, counted, with a few examples of each to look at."""

from typing import Any

from ramify.model.entity import Call, Conversation, Task, ToolCall
from ramify.model.standing import DONE
from ramify.query.content import Content
from ramify.query.forest import AGENT, CERTAINTY, ID, STATUS, Cells, Forest
from ramify.query.related import related
from ramify.query.resolve import resolve
from ramify.storage.base import Store

EXAMPLES = 20
MOST_READ = 300  # answers that are read for one question; reasoning of more calls is not counted


def completeness(store: Store, id: str) -> dict[str, Any]:
    _, subject = resolve(store, id, ("tasks", "conversations"))
    assert isinstance(subject, Task | Conversation)
    forest = Forest(related(store, subject.conversation if isinstance(subject, Task) else subject.id))
    placed, loose = forest.reached()[0], forest.unreached()
    if isinstance(subject, Task):
        forest.seen = bytearray(len(forest.rows))
        placed = forest.descend([forest.place[subject.id]])[0]
    else:
        placed += loose[0]
    tasks = [forest.rows[at] for at in placed]
    rows = store.among("calls", "task", [task[ID] for task in tasks])
    calls = [row for row in rows if isinstance(row, Call) and not (row.relation == "seen" and row.twin)]
    tools = [row for row in store.among("tools", "call", [call.id for call in calls]) if isinstance(row, ToolCall)]
    withheld = withheld_calls(store, calls)
    missing = {
        "unattached": [forest.rows[at][ID] for at, depth in zip(*loose, strict=True) if not depth],
        "unresolved": [task[ID] for task in tasks if is_unresolved(task, forest)],
        "inferred": [task[ID] for task in tasks if (task[CERTAINTY] or 1) < 1],
        "no_result": [tool.native for tool in unanswered(tools, calls, tasks)],
        "cut_short": [call.id for call in calls if call.lost or call.status == "aborted"],
        "failed_calls": [call.id for call in calls if call.status == "error"],
        "withheld": withheld or [],
    }
    return {
        "tasks": len(tasks), "calls": len(calls), "tools": len(tools), "unreadable": store.count_unreadable(),
        "withheld_counted": withheld is not None,
        "missing": [{"kind": kind, "count": len(ids), "ids": ids[:EXAMPLES]} for kind, ids in missing.items() if ids],
    }  # fmt: skip


def is_unresolved(task: Cells, forest: Forest) -> bool:
    """A child that was named, and of which nobody has shown anything."""
    return task[STATUS] == "unknown" and task[CERTAINTY] is not None and task[AGENT] == forest.agents.get("")


def unanswered(tools: list[ToolCall], calls: list[Call], tasks: list[Cells]) -> list[ToolCall]:
    """Tool calls whose result never came, in a request or in a report, although their task has ended."""
    ended = {task[ID] for task in tasks if task[STATUS] in DONE}
    over = {call.id for call in calls if call.task in ended}
    return [tool for tool in tools if not (tool.closed or tool.told) and tool.call in over]


def withheld_calls(store: Store, calls: list[Call]) -> list[str] | None:
    if len(calls) > MOST_READ:
        return None
    content = Content(store)
    return [call.id for call in calls if call.response and any(is_withheld(block) for block in content.answer(call).blocks)]


def is_withheld(block: dict[str, Any]) -> bool:
    return block.get("type") == "redacted_thinking" or (block.get("type") == "thinking" and not block.get("thinking"))
