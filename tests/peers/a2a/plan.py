"""What a sample agent does, told by the text of a message: `plan depth=2 fanout=2 announce=each chunks=3`.

Knows no SDK: each sample agent lends it a voice and a way to give work to others. Standard library only.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol


@dataclass(frozen=True)
class Plan:
    """`ask`, `auth`, `reject`, `fail`, `raises`, `crash`: for tasks with so many levels below them; -1 for none."""

    title: str = "Task"
    depth: int = 0
    fanout: int = 1
    at: str = ""  # where children run; nothing: where this agent's children always run
    announce: str = "together"  # each, twice, late, last, never
    context: str = "same"  # own: each child has one of its own
    order: str = "parallel"  # sequence: one child after the other
    chunks: int = 2
    large: int = 0  # bytes in one more artifact
    pace: float = 0.02  # seconds between steps
    sleep: float = 0.0  # seconds in which nothing happens
    stay: float = 0.0  # the same, for those who give nothing away
    bare: int = -1
    ask: int = -1
    auth: int = -1
    reject: int = -1
    fail: int = -1
    raises: int = -1
    crash: int = -1

    def here(self, level: int) -> bool:
        return self.depth == level

    def child(self, number: int) -> "Plan":
        return replace(self, title=f"{self.title}.{number}", depth=self.depth - 1, at="")

    def text(self) -> str:
        words = [f"{name}={getattr(self, name)}" for name in FIELDS if getattr(self, name) != getattr(Plan, name)]
        return " ".join(["plan", *words])


FIELDS = tuple(Plan.__dataclass_fields__)


def read_plan(text: str) -> Plan:
    """Words that mean nothing here are left out: any text is a plan."""
    given: dict[str, Any] = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if equals and name in FIELDS:
            given[name] = type(getattr(Plan, name))(value)
    return Plan(**given)


class Voice(Protocol):
    """What an agent can say about one task."""

    async def working(self, text: str, refers: Sequence[str] = (), workflow: str = "") -> None: ...
    async def artifact(self, name: str, text: str, append: bool, last: bool) -> None: ...
    async def large(self, name: str, size: int) -> None: ...
    async def wait_for(self, what: str, text: str) -> None:
        """`what`: input or auth."""

    async def end(self, how: str, text: str, refers: Sequence[str] = ()) -> None:
        """`how`: completed, failed or rejected."""


@dataclass(frozen=True)
class Child:
    task: str
    over: Awaitable[None]


Spawn = Callable[[str, Plan], Awaitable[Child]]
"""Gives work to the agent at an address."""


async def carry_out(plan: Plan, voice: Voice, spawn: Spawn, children_at: str) -> None:
    if plan.here(plan.reject):
        await voice.end("rejected", f"{plan.title}: not my work")
        return
    await voice.working(f"{plan.title}: started")
    await asyncio.sleep(plan.pace + plan.sleep + (0 if plan.depth > 0 else plan.stay))
    children = await give_away(plan, voice, spawn, plan.at or children_at)
    await write(plan, voice)
    if plan.here(plan.ask) or plan.here(plan.auth):
        what = "input" if plan.here(plan.ask) else "auth"
        await voice.wait_for(what, f"{plan.title}: what now?")
        return
    for child in children:
        await child.over
    await finish(plan, voice, [child.task for child in children])


async def give_away(plan: Plan, voice: Voice, spawn: Spawn, address: str) -> list[Child]:
    children: list[Child] = []
    for number in range(plan.fanout if plan.depth > 0 else 0):
        child = await spawn(address, plan.child(number))
        children.append(child)
        if plan.announce == "each":
            await voice.working(f"{plan.title}: gave away {number}", [child.task], f"Work {number}")
        if plan.order == "sequence":
            await child.over
    for _ in range({"together": 1, "twice": 2}.get(plan.announce, 0) if children else 0):
        await voice.working(f"{plan.title}: gave all away", [child.task for child in children], "Work")
        await asyncio.sleep(plan.pace)
    return children


async def write(plan: Plan, voice: Voice) -> None:
    for number in range(plan.chunks):
        await voice.artifact("report", f"[{plan.title} {number + 1}/{plan.chunks}] naïve ✓\n", number > 0, number == plan.chunks - 1)
        await asyncio.sleep(plan.pace)
        if plan.here(plan.raises):
            raise RuntimeError("told to")
        if plan.here(plan.crash):
            os._exit(1)
    if plan.large:
        await voice.large("blob", plan.large)


async def finish(plan: Plan, voice: Voice, children: list[str]) -> None:
    if plan.announce == "late" and children:
        await voice.working(f"{plan.title}: gave away earlier", children, "Work")
    if plan.here(plan.fail):
        await voice.end("failed", f"{plan.title}: could not")
        return
    await voice.end("completed", f"{plan.title}: done", children if plan.announce == "last" else ())


async def go_on(plan: Plan, answer: str, voice: Voice) -> None:
    """After the answer to a question: what was written is replaced."""
    await voice.working(f"{plan.title}: thanks")
    await voice.artifact("report", f"[{plan.title}] with {answer!r}\n", False, True)
    await voice.end("completed", f"{plan.title}: done")
