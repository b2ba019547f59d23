"""Pages of the rows that pass tests, newest first, without reading a whole table for them.

Where one test alone leaves few rows, an index names them and the answer is complete. Otherwise rows are walked through
from the newest on, in growing windows, until the page is full or enough was looked at; `place` says where to go on.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ramify.storage.base import Ask, Test

Read = Callable[[str, Sequence[Any]], list[Any]]
Clause = tuple[str, list[Any]]
Count = Callable[[str, Clause], int]
Key = tuple[int, str]

FEW = 2000  # rows that may be gathered and sorted
FIRST_WINDOW = 1000
SCOPES = ("conversation", "task", "parent")  # columns whose index is in the list's order, or leaves little
SMALL = {("status", "running"), ("kind", "root")}
LAST = "\U0010ffff"


class Dialect(NamedTuple):
    """How an engine compares names without regard to case, and how it is kept from an index that is no good here."""

    aside: str
    join: str
    like: str
    folded: str

    def compared(self, left: str, sign: str) -> str:
        return f"{self.folded.format(left)} {sign} {self.folded.format('?')}"


# SQLite takes the index that an expression could use; `+` makes it none. Others count costs, and need no telling.
# Only A to Z have a case here: which other letters have one depends on the engine, and on the language of the database.
NOCASE = Dialect("+", " CROSS JOIN ", "{0} LIKE ?", "{0} COLLATE NOCASE")
FOLDED = Dialect("", " JOIN ", '{0} COLLATE "C" ILIKE ?', 'lower({0} COLLATE "C")')


class Beside(NamedTuple):
    """What belongs to a row: from where, what it is joined with, and by which columns of the two it is found."""

    source: str
    joined: str  # with its condition; read first when the row is known
    theirs: str
    own: str
    sparse: str = ""


CALLED = "calls c ON c.id = o.call"
BESIDE: dict[tuple[str, str], tuple[Beside, ...]] = {
    ("tasks", "calls"): (Beside("calls o", "", "o.task", "id"),),
    ("tasks", "tools"): (Beside("tools o", CALLED, "c.task", "id"), Beside("tools o", "", "o.task", "id", " AND o.task <> ''")),
    ("tasks", "subtasks"): (Beside("tasks o", "", "o.parent", "id", " AND o.parent <> ''"),),
    ("calls", "tools"): (Beside("tools o", "", "o.call", "id"),),
    ("calls", "task"): (Beside("tasks o", "", "o.id", "task"),),
    ("conversations", "tasks"): (Beside("tasks o", "", "o.conversation", "id"),),
    ("conversations", "calls"): (Beside("calls o", "", "o.conversation", "id"),),
    ("conversations", "tools"): (
        Beside("tools o", CALLED, "c.conversation", "id"),
        Beside("tools o", "tasks c ON c.id = o.task AND o.task <> ''", "c.conversation", "id"),
    ),
}  # fmt: skip
TABLE_OF = {"calls": "calls", "tools": "tools", "task": "tasks", "tasks": "tasks", "subtasks": "tasks"}
SUMS = {
    "tokens": "({0}input + {0}output + {0}cache_read + {0}cache_write)",
    "orphan": "(CASE WHEN {0}kind = 'sub' AND {0}rule = '' THEN 1 ELSE 0 END)",
    "words": "({0}title || ' ' || {0}agent || ' ' || {0}prompt)",
}
LASTED = {"tasks": "({0}closed - {0}opened)", "calls": "({0}ended - {0}started)", "conversations": "({0}active - {0}opened)"}
NAMED = {("tasks", "agent"), ("tasks", "project"), ("calls", "model"), ("tools", "name"), ("conversations", "project")}
USUAL = {"tasks": ("completed",), "calls": ("ok", "running")}  # what the small index of the other statuses leaves out


# -- tests as clauses -------------------------------------------------------------------------------------------------


def clause_of(table: str, test: Test, dialect: Dialect, aside: bool = True) -> Clause:
    """In a window the order's index is the right one: those of the tests are kept aside."""
    mark = dialect.aside if aside else ""
    if not test.of:
        return _compared(table, test, f"{mark}{table}.", dialect)
    inner, values = _compared(TABLE_OF[test.of], test, f"{dialect.aside}o.", dialect)
    ways = [_exists(table, beside, inner, dialect) for beside in BESIDE[table, test.of]]
    found = " OR ".join(ways)
    return (f"NOT ({found})" if test.negated else f"({found})"), values * len(ways)


def _exists(table: str, beside: Beside, inner: str, dialect: Dialect) -> str:
    source = beside.source
    if beside.joined:
        other, _, condition = beside.joined.partition(" ON ")
        source = f"{other}{dialect.join}{source} ON {condition}"
    return f"EXISTS (SELECT 1 FROM {source} WHERE {beside.theirs} = {table}.{beside.own}{beside.sparse} AND {inner})"


def _compared(table: str, test: Test, prefix: str, dialect: Dialect) -> Clause:
    left = _left(table, test.column, prefix)
    if test.column == "id" and test.compare == "is":
        found = f"{left} IN ({', '.join('?' * len(test.values))})" if test.values else "false"
        return (f"NOT ({found})" if test.negated else found), list(test.values)
    joined, values = plain_clause(test, left, dialect)
    # Of what belongs to a row, the whole is denied: no such thing, instead of something else.
    denied = test.negated and not test.of
    return (f"NOT coalesce({joined}, false)" if denied else joined), values


def plain_clause(test: Test, left: str, dialect: Dialect) -> Clause:
    """Of whatever stands on the left: one of the values fits."""
    clauses = [_one(left, test.compare, value, dialect) for value in test.values]
    return f"({' OR '.join(sql for sql, _ in clauses) or 'false'})", [value for _, given in clauses for value in given]


def _left(table: str, column: str, prefix: str) -> str:
    bare = prefix.removeprefix("+")
    if column == "lasted":
        return LASTED[table].format(bare)
    return SUMS[column].format(bare) if column in SUMS else f"{prefix}{column}"


def _one(left: str, compare: str, value: str | int, dialect: Dialect) -> Clause:
    match compare:
        case "is" if isinstance(value, str):
            return dialect.compared(left, "="), [value]
        case "is":
            return f"{left} = ?", [value]
        case "like" | "has":
            pattern = _pattern(str(value)) if compare == "like" else f"%{_escaped(str(value))}%"
            return f"{dialect.like.format(left)} ESCAPE '\\'", [pattern]
        case _:
            return f"{left} {compare} ?", [value]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _pattern(glob: str) -> str:
    return _escaped(glob).replace("*", "%")


# -- few rows ---------------------------------------------------------------------------------------------------------


def few(count_of: Count, table: str, tests: Sequence[Test], dialect: Dialect) -> tuple[Clause, int] | None:
    """The clause of the test that leaves the fewest rows, where that is few; and how many."""
    best: tuple[Clause, int] | None = None
    for test in tests:
        holder = TABLE_OF[test.of] if test.of else table
        clause = _indexed(holder, test, dialect)
        if clause is None:
            continue
        count = count_of(holder, clause)
        if count <= FEW and (best is None or count < best[1]):
            best = (_gathered(table, test, clause, dialect), count)
    return best


def _gathered(table: str, test: Test, clause: Clause, dialect: Dialect) -> Clause:
    if not test.of:
        return f"{table}.id IN (SELECT o.id FROM {table} o WHERE {clause[0]})", clause[1]
    ways = [
        f"{table}.{beside.own} IN (SELECT {beside.theirs} FROM {beside.source}{dialect.join + beside.joined if beside.joined else ''} "
        f"WHERE {clause[0]}{beside.sparse})"
        for beside in BESIDE[table, test.of]
    ]
    return f"({' OR '.join(ways)})", clause[1] * len(ways)


def _indexed(table: str, test: Test, dialect: Dialect) -> Clause | None:
    if test.negated and test.column == "status" and not test.of and set(USUAL.get(table, "?")) <= set(test.values):
        return " AND ".join(f"o.status <> '{word}'" for word in USUAL[table]), []
    if test.negated:
        return None
    if test.column == "id" and test.compare == "is":
        return (f"o.id IN ({', '.join('?' * len(test.values))})" if test.values else "false"), list(test.values)
    if test.column == "status" and test.compare == "is":
        return _unusual(table, test.values)
    if (table, test.column) not in NAMED or test.compare not in ("is", "like"):
        return None
    clauses = [_beginning(f"o.{test.column}", test.compare, str(value), dialect) for value in test.values]
    found = [clause for clause in clauses if clause is not None]
    if len(found) < len(clauses):
        return None
    return "(" + " OR ".join(sql for sql, _ in found) + ")", [value for _, values in found for value in values]


def _unusual(table: str, values: Sequence[str | int]) -> Clause | None:
    """Words are written out: a small index is used only where it can be seen that it holds all that is wanted."""
    if table == "calls" and tuple(values) == ("running",):
        return "o.status = 'running'", []
    usual = USUAL.get(table, ())
    if not usual or set(usual) & set(values):
        return None
    apart = " AND ".join(f"o.status <> '{word}'" for word in usual)
    return f"{apart} AND o.status IN ({', '.join('?' * len(values))})", list(values)


def _beginning(column: str, compare: str, value: str, dialect: Dialect) -> Clause | None:
    start = value.partition("*")[0] if compare == "like" else value
    if start == value:
        return dialect.compared(column, "="), [value]
    if not start:
        return None
    return f"({dialect.compared(column, '>=')} AND {dialect.compared(column, '<')})", [start, start + LAST]


# -- a page -----------------------------------------------------------------------------------------------------------


class Sifting:
    """One page: `rows` are (doc, order, id), at most `ask.limit`; `place` is where to go on, None at the end."""

    def __init__(self, read: Read, table: str, ask: Ask, tests: Sequence[Test], dialect: Dialect = NOCASE) -> None:
        self.read = read
        self.table = table
        self.ask = ask
        self._aside = dialect.aside
        self.rows: list[Any] = []
        self.looked = 0
        self.place: Key | None = ask.behind
        inside = [test for test in tests if not test.of and not test.negated and test.column == ask.order]
        rest = sorted((test for test in tests if test not in inside), key=lambda test: bool(test.of))  # what is near at hand first
        plain, where = written_out(ask.where)
        scopes = [column for column in where if column in SCOPES] or ["project"]  # which has an index in the list's order, too
        scope = [(f"{column} = ?", [value]) for column, value in where.items() if column in scopes]
        self._scope = _and(*((sql, []) for sql in plain), *scope, *(clause_of(table, test, dialect, aside=False) for test in inside))
        equal = [(f"{self._aside}{column} = ?", [value]) for column, value in where.items() if column not in scopes]
        unequal = [(f"{self._aside}{column} <> ?", [value]) for column, value in ask.without.items()]
        self._tests = _and(*equal, *unequal, *(clause_of(table, test, dialect) for test in rest))
        self._few = few(self._count, table, rest, dialect)

    def run(self, most: int) -> None:
        if self._few is not None:
            self._gather(*self._few)
        else:
            self._walk(most)

    def _count(self, holder: str, clause: Clause) -> int:
        """No further than is of interest."""
        return int(self.read(f"SELECT count(*) FROM (SELECT 1 FROM {holder} o WHERE {clause[0]} LIMIT {FEW + 1}) AS counted", clause[1])[0][0])

    def _gather(self, clause: Clause, count: int) -> None:
        where = _and(self._scope, self._tests, clause, self._behind())
        order = f"ORDER BY {self._aside}{self.table}.{self.ask.order} DESC, {self._aside}{self.table}.id DESC"
        self._take(self._found(where, order, self.ask.limit + 1))
        self.looked = len(self.rows) if "project" in self.ask.where else count  # how many there are elsewhere is not for whoever asks for one

    def _walk(self, most: int) -> None:
        size = FIRST_WINDOW
        while True:
            end = self._end(min(size, most - self.looked))
            window = _and(self._scope, self._behind(), _from(self.ask.order, end))
            room = self.ask.limit + 1 - len(self.rows)
            found = self._found(_and(window, self._tests), self._order(), room)
            self.looked += self._width(window, found[-1][1:3] if len(found) == room else None)
            self._take([*self.rows, *found])
            if len(found) == room:
                return
            self.place = end
            if end is None or self.looked >= most:
                return
            size *= 4

    def _width(self, window: Clause, last: Sequence[Any] | None) -> int:
        """How many rows are in it, as far as it was needed."""
        where, values = _and(window, _from(self.ask.order, last))
        return int(self.read(f"SELECT count(*) FROM {self.table} WHERE {where}", values)[0][0])

    def _end(self, size: int) -> Key | None:
        """The last row of the window; None where the rest of the table is no larger."""
        where = _and(self._scope, self._behind())
        sql = f"SELECT {self.ask.order}, id FROM {self.table} WHERE {where[0]} {self._order()} LIMIT 1 OFFSET ?"
        rows = self.read(sql, [*where[1], size - 1])
        return (rows[0][0], rows[0][1]) if rows else None

    def _order(self) -> str:
        return f"ORDER BY {self.ask.order} DESC, id DESC"

    def _behind(self) -> Clause:
        return ("true", []) if self.place is None else (f"({self.ask.order}, id) < (?, ?)", list(self.place))

    def _found(self, where: Clause, order: str, limit: int) -> list[Any]:
        sql = f"SELECT doc, {self.ask.order}, {self.table}.id FROM {self.table} WHERE {where[0]} {order} LIMIT ?"
        return self.read(sql, [*where[1], limit])

    def _take(self, rows: list[Any]) -> None:
        full = len(rows) > self.ask.limit
        self.rows = rows[: self.ask.limit]
        self.place = (self.rows[-1][1], self.rows[-1][2]) if full else None


def _from(order: str, end: Sequence[Any] | None) -> Clause:
    return ("true", []) if end is None else (f"({order}, id) >= (?, ?)", list(end))


def _and(*clauses: tuple[str, list[Any]]) -> Clause:
    return " AND ".join(sql for sql, _ in clauses) or "true", [value for _, values in clauses for value in values]


def written_out(where: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Words for which there is a small index: SQLite uses it only where it can see the word. And what is left."""
    plain = [f"{column} = '{value}'" for column, value in where.items() if (column, value) in SMALL]
    return plain, {column: value for column, value in where.items() if (column, value) not in SMALL}
