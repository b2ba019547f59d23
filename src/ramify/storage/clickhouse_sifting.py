"""Pages of rows that pass tests, on ClickHouse: windows are cut from the ways, and only rows in them, and what belongs to these, are looked at."""

import re
from collections.abc import Sequence
from typing import Any

from ramify.storage.base import Ask, Test
from ramify.storage.clickhouse_packing import named, read_from
from ramify.storage.clickhouse_schema import literal
from ramify.storage.clickhouse_server import ClickHouseServer
from ramify.storage.clickhouse_ways import HASH, along, carried_by, way_for
from ramify.storage.columns import COLUMNS
from ramify.storage.sifting import FEW, Clause, Dialect, Key, Sifting, plain_clause

FOLDED = Dialect("", " JOIN ", "lower({0}) LIKE lower(?)", "lower({0})")
Row = tuple[Any, ...]
LISTED = ("tasks", "calls", "tools", "conversations")
ROW = "key = 0 AND moment = 0"


class ClickHouseSifting(Sifting):
    def __init__(self, server: ClickHouseServer, table: str, ask: Ask, tests: Sequence[Test]) -> None:
        self._server = server
        self._way = way_for(table, ask)
        self._window = ""  # a query for the ids of all rows in it, and perhaps some more
        timed = [test for test in tests if not test.of and not test.negated and test.column == ask.order]
        self._timed = [filled(*plain_clause(test, "moment", FOLDED)) for test in timed]
        super().__init__(self._ask, table, ask, tests, FOLDED)

    def _count(self, holder: str, clause: Clause) -> int:
        """Versions of rows that were written over are counted as well: it is only about few or many."""
        which = re.sub(r"\bo\.([a-z_]+)", lambda found: read_from(found[1]), clause[0])
        some = f"SELECT 1 FROM {self._server.table} WHERE space = {literal(holder)} AND gone = 0 AND {filled(which, clause[1])} LIMIT {FEW + 1}"
        return int(self._server.read(f"SELECT count() FROM ({some})", wide=True)[0][0])

    def _end(self, size: int) -> Key | None:
        if self._way is None:
            return super()._end(size)
        value = self.ask.where[self._way.column] if self._way.column else ""
        entries = [along(self.table, self._way, [value]), *carried_by(self._way, self.ask), *self._timed]
        entries += [] if self.place is None else [f"(moment, id) < {literal(self.place)}"]
        ids = f"FROM {self._server.table} WHERE {' AND '.join(entries)}"
        rows = self._server.read(f"SELECT moment, id {ids} ORDER BY moment DESC, id DESC LIMIT 1 OFFSET {size * self._way.left - 1}")
        end = (rows[0][0], rows[0][1]) if rows else None
        self._window = f"SELECT id {ids}" + (f" AND (moment, id) >= {literal(end)}" if end else "")
        return end

    def _width(self, window: Clause, last: Sequence[Any] | None) -> int:
        """The way tells without looking at the rows."""
        if not self._window:
            return super()._width(window, last)
        further = f" AND (moment, id) >= {literal(last)}" if last else ""
        return int(self._server.read(f"SELECT uniqExact(id) FROM ({self._window}{further})")[0][0])

    def _ask(self, query: str, parameters: Sequence[Any]) -> list[Row]:
        """The tables that it speaks of are made up from their spaces; a backslash escapes without being told to.
        A table inside has another name than the one outside: else its rows would be compared with themselves."""
        query = re.sub(r"\b(tasks|calls|tools|conversations) (o|c)\b", r"inner_\1 \2", query)
        written = filled(query.replace(" ESCAPE '\\'", ""), parameters)
        tables = [f"{self.table} AS ({self._rows(self.table, self._window, query)})"]
        tables += [f"inner_{one} AS ({self._rows(one, self._beside(one), query)})" for one in LISTED if f"inner_{one}" in written]
        return self._server.read(f"WITH {', '.join(tables)} {written}", wide=True)

    def _rows(self, table: str, ids: str, query: str) -> str:
        """With those columns that it speaks of."""
        within = f" AND id IN ({ids})" if ids else ""
        used = [column for column in ("id", *COLUMNS[table], "doc") if re.search(rf"\b{column}\b", query)]
        return f"SELECT {named(used)} FROM {self._server.table} FINAL WHERE space = {literal(table)} AND {ROW}{within}"

    def _beside(self, table: str) -> str:
        """The ids of what may belong to the rows of the window."""
        if not self._window:
            return ""
        match self.table, table:
            case "tasks", "tasks":
                return self._led("tasks", "parent", self._window)
            case "calls", "tasks":
                return f"SELECT {read_from('task')} FROM {self._server.table} WHERE space = 'calls' AND {ROW} AND id IN ({self._window})"
            case "tasks", "calls":
                return self._led("calls", "task", self._window)
            case "conversations", ("tasks" | "calls"):
                return self._led(table, "conversation", self._window)
            case "calls", "tools":
                return self._led("tools", "call", self._window)
            case ("tasks" | "conversations"), "tools":
                own = self._window if self.table == "tasks" else self._beside("tasks")
                return f"{self._led('tools', 'call', self._beside('calls'))} UNION ALL {self._led('tools', 'task', own)}"
            case _:
                return ""

    def _led(self, table: str, column: str, ids: str) -> str:
        keys = f"SELECT {HASH.format('id')} FROM ({ids})"
        return f"SELECT id FROM {self._server.table} WHERE space = {literal(f'{table}/{column}')} AND key IN ({keys})"


def filled(query: str, parameters: Sequence[Any]) -> str:
    parts = query.split("?")
    return "".join(part + literal(value) for part, value in zip(parts, parameters, strict=False)) + parts[-1]
