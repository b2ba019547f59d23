"""What a task did, step by step, as two runs of the same thing can be compared: tools and what they were asked for.

Ids, long numbers and throw-away paths differ by nature and do not count. Inputs are only read where what the rows alone
tell is not the same, and not of very many.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ramify.model.entity import Call, Task, ToolCall
from ramify.query.assembly import tool_shapes
from ramify.query.content import Content
from ramify.storage.base import Store

NUMBERS = re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27,}\b|\b\d{4,}\b|/tmp/\S+", re.IGNORECASE)
TELLING = ("command", "file_path", "pattern", "path", "query", "url", "description", "prompt", "skill")
LONGEST = 200


class Act(Struct):
    """One tool call. `sign` is the same for the same input; `like` for one that differs by nature alone."""

    id: str
    name: str
    sign: str
    like: str = ""
    text: str = ""
    status: str = ""
    call: str = ""
    call_id: str = ""
    at: int = 0
    children: tuple[str, ...] = ()


def plain(text: str) -> str:
    return NUMBERS.sub("#", " ".join(text.split()))


def acts_of(store: Store, tasks: Sequence[Task]) -> dict[str, list[Act]]:
    """By task, in the order in which they were asked for; from rows alone."""
    ids = [task.id for task in tasks]
    calls = {call.id: call for call in store.among("calls", "task", ids) if isinstance(call, Call) and not (call.relation == "seen" and call.twin)}
    asked = [row for row in store.among("tools", "call", list(calls)) if isinstance(row, ToolCall) and not row.task]
    own = [row for row in store.among("tools", "task", ids) if isinstance(row, ToolCall) and row.task]
    found: dict[str, list[Act]] = {}
    order: dict[str, tuple[int, str, int]] = {}
    for row in (*asked, *own):
        call = calls.get(row.call)
        task = row.task or (call.task if call else "")
        order[row.id] = (row.opened if row.task else call.started if call else row.opened, row.call, row.block)
        found.setdefault(task, []).append(_act(row, call))
    for acts in found.values():
        acts.sort(key=lambda act: (*order[act.id], act.id))
    return found


def _act(row: ToolCall, call: Call | None) -> Act:
    signs = dict(zip(call.uses, call.signs, strict=False)) if call else {}
    sign = signs[row.native].hex() if row.native in signs else f"{row.name} {plain(row.args.decode('utf-8', 'replace'))}"
    status = row.told.status if row.told and not row.closed else row.status
    children = row.children or ((row.child,) if row.child else ())
    return Act(row.id, row.name, sign, sign, row.title, status, row.call, row.native, call.started if call else row.opened, children)


def read_inputs(store: Store, acts: Iterable[Act]) -> None:
    """What each was asked for, without what differs by nature."""
    by_id = {act.id: act for act in acts}
    rows = [row for row in store.among("tools", "id", list(by_id)) if isinstance(row, ToolCall)]
    for row, shape in zip(rows, tool_shapes(store, rows, Content(store)), strict=True):
        act = by_id[row.id]
        act.name = shape["name"] or act.name
        act.like = f"{act.name} {plain(_written(shape['args']))}"
        act.text = peek(shape["args"])


def _written(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def peek(args: Any) -> str:
    """The one argument that tells a call apart."""
    if not isinstance(args, Mapping):
        return "" if args is None else " ".join(str(args).split())[:LONGEST]
    told = next((args[name] for name in TELLING if isinstance(args.get(name), str) and args[name]), None)
    return " ".join((told if told is not None else ", ".join(f"{name}={value}" for name, value in args.items())).split())[:LONGEST]
