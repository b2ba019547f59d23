"""What a check is, and what it finds."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

from msgspec import Struct

from ramify.model import ids
from ramify.model.entity import Task
from ramify.model.moment import iso
from ramify.query.lints.run import Run

Severity = Literal["error", "warning", "note"]
RANK = {"error": 0, "warning": 1, "note": 2}


class Found(Struct, frozen=True):
    """One thing. `own` tells it apart from others of the same check and task: the same thing found again has the same."""

    task: Task
    text: str
    since: int
    evidence: tuple[str, ...] = ()
    figures: dict[str, Any] = {}
    own: str = ""


class Check(Struct, frozen=True):
    """`find` is a pure function of a run as it is stored, and of the time that the run was looked at."""

    name: str
    severity: Severity
    summary: str  # what is looked for
    advice: str  # what to do about it
    find: Callable[[Run], Iterator[Found]]

    def shape(self) -> dict[str, Any]:
        return {"name": self.name, "severity": self.severity, "summary": self.summary, "advice": self.advice}


def finding(check: Check, found: Found) -> dict[str, Any]:
    task = found.task
    return {
        "id": ids.short("finding", check.name, task.id, found.own),
        "check": check.name,
        "severity": check.severity,
        "text": found.text,
        "task": task.id,
        "title": task.title,
        "conversation": task.conversation,
        "project": task.project,
        "since": iso(found.since),
        "evidence": list(found.evidence),
        "figures": found.figures,
    }
