"""Filters over what was read already, tool calls and operations: the same tests that a store makes on rows of its own."""

from collections.abc import Iterable
from typing import Any

import msgspec

from ramify.model.entity import Operation
from ramify.model.moment import micros
from ramify.query.filter import read_filter
from ramify.query.lists import clock, finding
from ramify.query.meaning import ORDER, meaning
from ramify.query.operations import operation_shape
from ramify.storage.base import Ask, Sifted, Store, Test

Shape = dict[str, Any]
Values = dict[str, tuple[str | int, ...]]
"""By column: all of its values, of which one must fit; none where it is not known."""

BATCH = 500
OPERATIONS, TOOLS = "operations", "tools"


def passes(values: Values, tests: Iterable[Test]) -> bool:
    return all(any(_fits(value, test) for value in values.get(test.column, ())) != test.negated for test in tests)


def _fits(value: str | int, test: Test) -> bool:
    return any(_compared(value, test.compare, wanted) for wanted in test.values)


def _compared(value: Any, compare: str, wanted: Any) -> bool:
    match compare:
        case "is":
            return str(value).lower() == str(wanted).lower()
        case "like":
            return _like(str(value).lower(), str(wanted).lower())
        case "has":
            return str(wanted).lower() in str(value).lower()
        case "<":
            return bool(value < wanted)
        case "<=":
            return bool(value <= wanted)
        case ">":
            return bool(value > wanted)
        case _:
            return bool(value >= wanted)


def _like(value: str, wanted: str) -> bool:
    """A star stands for anything. Each part where it is found first: a pattern would try all places of all parts."""
    first, *parts = wanted.split("*")
    if not parts:
        return value == wanted
    *inner, last = parts
    if not value.startswith(first) or not value.endswith(last) or len(value) < len(first) + len(last):
        return False
    place, end = len(first), len(value) - len(last)
    for part in inner:
        place = value.find(part, place, end) + len(part)
        if place < len(part):
            return False
    return True


# -- tool calls ------------------------------------------------------------------------------------------------------------


def fitting_tools(store: Store, filter: str, tools: list[Shape]) -> list[Shape]:
    tests = meaning(read_filter(filter), TOOLS, clock(), finding(store)).tests
    return [tool for tool in tools if passes(tool_values(tool), tests)]


def tool_values(tool: Shape) -> Values:
    words = f"{tool['name'] or ''} {tool['agent_name'] or ''} {msgspec.json.encode(tool['args']).decode()}"
    return {
        "status": (tool["status"],),
        "name": _known(tool["name"]),
        "agent": _known(tool["agent_name"]),
        "task": _known(tool["task"]),
        "opened": (micros(tool["timestamp"]),) if tool["timestamp"] else (),
        "lasted": () if tool["duration_ms"] is None else (round(tool["duration_ms"] * 1000),),
        "spawned": (len(tool["spawned"]),),
        "words": (words,),
    }


def _known(text: str | None) -> tuple[str, ...]:
    return (text,) if text else ()


# -- operations ------------------------------------------------------------------------------------------------------------


class WantedOperations:
    """Which operations, last updated first; as `Wanted` is for the lists that a store narrows by itself."""

    def __init__(self, store: Store, where: dict[str, str], filter: str | None) -> None:
        self.store = store
        self.where = where
        self.found = meaning(read_filter(filter or ""), OPERATIONS, clock(), finding(store))
        self.is_filtered = bool(filter)

    def page(self, limit: int, place: tuple[int, str] | None, most: int) -> Sifted:
        kept: list[Any] = []
        looked = 0
        while True:
            size = min(BATCH, most - looked)
            rows = self.store.page(OPERATIONS, Ask(ORDER[OPERATIONS], self.where, size + 1, place))
            for at, row in enumerate(rows[:size], 1):
                assert isinstance(row, Operation)
                looked, place = looked + 1, (row.updated, row.id)
                if passes(operation_values(row), self.found.tests):
                    kept.append(row)
                if len(kept) >= limit:
                    return Sifted(kept, looked, place if at < len(rows) else None)
            if len(rows) <= size or looked >= most:
                return Sifted(kept, looked, place if len(rows) > size else None)


def operation_values(row: Operation) -> Values:
    shape = operation_shape(row)
    counts = shape["statusCounts"]
    return {
        "status": (shape["status"],),
        "agent": tuple(shape["agents"]),
        "name": tuple(shape["taskTypes"]),
        "session": (shape["session"],),
        "project": (row.project,),
        ORDER[OPERATIONS]: (row.updated,),
        "lasted": (round(shape["durationMs"] * 1000),),
        "subtasks": (shape["subtaskCount"],),
        "failed": (counts.get("failed", 0) + counts.get("rejected", 0),),
        "words": (" ".join([row.native, *shape["agents"], *shape["taskTypes"], *shape["flags"]]),),
    }
