"""What is odd about a task, beside its status: one rule for the API, the terminal and the page. The time is an argument."""

import time
from collections.abc import Callable

from msgspec import Struct

from ramify.model.entity import Task
from ramify.model.sketch import Sketch

LOOPING = 3  # times the same thing in a row
STALLED_AFTER = 120  # seconds


def wall_clock() -> int:
    return time.time_ns() // 1000


class Patience(Struct, frozen=True):
    """How long a task that works may be silent, in seconds, and by which clock (microseconds since 1970)."""

    stalled_after: int = STALLED_AFTER
    clock: Callable[[], int] = wall_clock

    def since(self) -> int:
        """Whoever has been silent from before this moment on stands still."""
        return self.clock() - self.stalled_after * 1_000_000


USUAL = Patience()


def last_sign(task: Task | Sketch) -> int:
    """When it was last heard of."""
    moved = task.stated.moved if task.stated is not None else 0
    return max(task.last_started, task.last_ended, moved, task.active)


def flags_of(task: Task | Sketch, stalled: bool = False) -> list[str]:
    found = []
    if task.kind == "sub" and task.link is None:
        found.append("orphan")
    if task.loops >= LOOPING:
        found.append("looping")
    if stalled and "stalled" not in task.flags:
        found.append("stalled")
    return [*found, *task.flags]


def is_stalled(task: Task | Sketch, status: str, below: bool, since: int) -> bool:
    """It works, nobody under it does (`below`), and it gave no sign of life. Who waits for somebody at work does not."""
    return status == "working" and not below and last_sign(task) < since
