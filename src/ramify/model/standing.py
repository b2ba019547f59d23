"""How a task stands, as its row tells by itself: its status, and when it ended."""

from ramify.model.entity import Task
from ramify.model.sketch import Sketch

DONE = ("completed", "failed", "canceled", "rejected")
AT_WORK = ("tool_use", "pause_turn", "compaction")


def task_status(task: Task | Sketch) -> str:
    """What the caller's side or a report says wins, unless the agent was resumed since; else the last call tells."""
    if task.status:
        return task.status
    ends = _ends(task)
    if ends:
        if "canceled" in (status for _, status in ends):
            return "canceled"
        end = max(ends)[1]  # old clients report a failure of the agent's requests as if it were an answer
        return "failed" if end == "completed" and task.last_status == "error" else end
    match task.last_status:
        case "running":
            return "working"
        case "error" | "cut":  # a cut one may have come whole to the client, whose word counts then
            return "failed"
        case "aborted":
            return "canceled"
        case "ok":
            return "working" if task.last_stop in AT_WORK else "completed"
        case _:
            return "submitted" if task.stated is not None and task.kind == "root" else "unknown"


def _ends(task: Task | Sketch) -> list[tuple[int, str]]:
    """What was said about it since its last call began; at one moment an end outweighs a beginning."""
    said = [(task.outcome_at, task.outcome)] if task.outcome else []
    if task.stated is not None and task.stated.status:
        said.append((task.stated.moved, task.stated.status))
    since = [(at, status) for at, status in said if at >= task.last_started]
    over = [end for end in since if end[1] != "working"]
    return over if over and max(over)[0] >= max(since)[0] else since


def task_closed(task: Task | Sketch) -> int:
    if task_status(task) not in DONE:
        return 0
    if task.status:
        return task.closed
    if task.last_ended and task.last_status == "ok" and task.last_stop not in AT_WORK:
        return task.last_ended  # what is said about it later may have no time of its own
    return max(task.last_ended, task.outcome_at, task.stated.moved if task.stated else 0)
