"""How the columns of rows stand in two lists on ClickHouse, and how they are read from there.

There a merge, and every insert, costs by the column, and entries of all tables stand in one: of sixty columns most would be empty in most
of them. A list of texts and one of numbers hold them all; each column has one place in its list, whatever the table. That its name means that
place is written into each question: as a column of the table that is made up, every name would cost every question.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from struct import pack, unpack
from typing import Any

from ramify.storage.columns import COLUMNS, OPTIONAL

Values = dict[str, Any]
TEXTS = (
    ("project",), ("kind", "session", "call"), ("status", "client"), ("agent", "observation"), ("model", "name", "task_type", "prompt_author"),
    ("conversation", "operation", "child"), ("task", "agent_id", "agent_task_id"), ("line", "native", "subject"), ("link_kind", "path", "type"),
    ("parent", "sort"), ("rule",), ("source",), ("via",), ("attempt_of",), ("message",), ("stop_reason",), ("utility",),
)  # fmt: skip
NUMBERED = (
    ("at", "cache_read", "block", "position", "recorded", "updated"), ("cache_write", "seq"), ("cost",), ("input",), ("opened", "started"), ("output",),
    ("active", "certainty"), ("calls", "ended"), ("closed", "counted"), ("extra_cache_read", "first_byte"), ("extra_cache_write", "http_status"),
    ("extra_cost", "message_count"), ("extra_input", "new_messages"), ("extra_output",), ("tool_calls",),
)  # fmt: skip
"""Which columns have which place. No two of one place are of one table; what filters go by shares its place with no ids. This is how stores are written: a new
column goes to a place that none of its tables uses, or behind the last."""
APART = ("title", "prompt")  # long, and seldom asked for: not to be read with the others
LOG = {"observations": ("project", "kind", "at"), "seen": ("seq",), "unreadable": ("at",)}
NONE = -(1 << 63)
"""What stands for a number that is not known."""


def places(slots: Sequence[Sequence[str]]) -> dict[str, int]:
    return {column: place for place, slot in enumerate(slots) for column in slot}


TEXT_AT, NUMBER_AT = places(TEXTS), places(NUMBERED)


def read_from(column: str) -> str:
    """As an expression."""
    if column in TEXT_AT:
        return f"texts[{TEXT_AT[column] + 1}]"
    if column not in NUMBER_AT:
        return f"`{column}`"
    number = f"numbers[{NUMBER_AT[column] + 1}]"
    value = f"reinterpretAsFloat64({number})" if column == "certainty" else number
    return f"if({number} = {NONE}, NULL, {value})" if column in OPTIONAL else value


def named(columns: Iterable[str]) -> str:
    """As they are selected."""
    return ", ".join(f"{read_from(column)} AS `{column}`" if column in PACKED else f"`{column}`" for column in columns)


def written(sql: str) -> str:
    """What speaks of columns by their bare names, and of none within quotes."""
    return re.sub(r"\b[a-z_]+\b", lambda found: read_from(found[0]) if found[0] in PACKED else found[0], sql)


PACKED = frozenset({*TEXT_AT, *NUMBER_AT})
LAYOUT = sha256(repr((TEXTS, NUMBERED, APART)).encode()).hexdigest()[:16]
"""A store with another one lacks columns that are asked for here, until all is derived again."""


@cache
def order(space: str, carried: tuple[str, ...] = ()) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of an entry as they stand in its two lists; nothing where none of them stands."""
    columns = carried or LOG.get(space) or COLUMNS.get(space, ())
    return in_places(columns, TEXT_AT), in_places(columns, NUMBER_AT)


def in_places(columns: Iterable[str], at: dict[str, int]) -> tuple[str, ...]:
    found = {at[column]: column for column in columns if column in at}
    return tuple(found.get(place, "") for place in range(max(found, default=-1) + 1))


def packed(space: str, values: Values) -> tuple[list[str], list[int]]:
    """Of a way, which is no table, all that it carries."""
    texts, numbers = order(space) if space in COLUMNS or space in LOG else order(space, tuple(values))
    known = [NONE if (value := values.get(column, 0)) is None else value for column in numbers]
    if (certainty := values.get("certainty")) is not None:
        known[NUMBER_AT["certainty"]] = unpack("<q", pack("<d", certainty))[0]
    return [values.get(column, "") for column in texts], known
