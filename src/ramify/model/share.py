"""What one row adds to the sums of its day. The type of agent is its task's, and may become known later than the row."""

from typing import NamedTuple

from msgspec.structs import replace

from ramify.model.entity import Call, Entity, Task, ToolCall
from ramify.model.standing import task_closed, task_status
from ramify.model.tally import day_of
from ramify.model.usage import Usage

MAIN = "main"  # no agent: what was asked directly
UNKNOWN = "unknown"
COUNTED = frozenset({"calls", "tools", "tasks"})


class CallShare(NamedTuple):
    project: str
    day: int
    model: str
    task: str
    status: str
    usage: Usage
    milliseconds: int | None
    uses: tuple[str, ...]


class ToolShare(NamedTuple):
    project: str
    day: int
    name: str
    task: str
    call: str
    native: str
    status: str
    milliseconds: int | None


class TaskShare(NamedTuple):
    project: str
    day: int
    kind: str
    agent: str
    status: str
    extra: Usage
    milliseconds: int | None
    counted: bool


Share = CallShare | ToolShare | TaskShare


def share_of(row: Entity | None) -> Share | None:
    match row:
        case Call():
            return _of_call(row)
        case ToolCall():
            return _of_tool(row)
        case Task():
            return _of_task(row)
        case _:
            return None


def _of_call(row: Call) -> CallShare | None:
    """A call that stands nowhere counts nowhere: another one stands for it, or it was only heard of."""
    if not row.conversation:
        return None
    usage = replace(row.usage, calls=0) if row.repeated else row.usage
    timed = row.ended and row.status == "ok" and row.relation != "seen"  # a report has the time at which it was written down
    lasted = max(0, row.ended - row.started) // 1000 if timed else None
    return CallShare(row.project, day_of(row.started), row.model or UNKNOWN, row.task, row.status, usage, lasted, row.uses)


def _of_tool(row: ToolCall) -> ToolShare | None:
    if not row.name or not row.opened:
        return None  # its result was seen and it was not: nobody knows which tool it is
    told = row.told if not row.closed else None
    closed = row.closed or (told.at if told else 0)
    lasted = max(0, closed - row.opened) // 1000 if closed else None
    status = told.status if told else row.status
    return ToolShare(row.project, day_of(row.opened), row.name, row.task, row.call, row.native, status, lasted)


def _of_task(row: Task) -> TaskShare:
    """What is known by name only is not counted; its calls, if there are any, know whose they are."""
    counted = row.kind in ("root", "sub") and bool(row.opened) and not row.named
    closed = task_closed(row)
    lasted = max(0, closed - row.opened) // 1000 if closed and counted else None
    return TaskShare(row.project, day_of(row.opened), row.kind, agent_of(row), task_status(row), row.extra, lasted, counted)


def agent_of(task: Task) -> str:
    """The type. An id would be a type of its own for each run."""
    if task.protocol:
        return task.agent_type or task.agent or UNKNOWN
    return MAIN if task.kind == "root" else task.agent_type or UNKNOWN


def part_of(usage: Usage, place: int, parts: int) -> Usage:
    """One of equal parts; what does not divide goes to some of them, so that all together are the whole."""

    def cut(amount: int) -> int:
        return amount * (place + 1) // parts - amount * place // parts

    return Usage(
        0, cut(usage.input), cut(usage.output), cut(usage.cache_read), cut(usage.cache_write), cut(usage.cost_nano), usage.unpriced
    )


