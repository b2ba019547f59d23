"""What a filter means for a list: tests that the store makes, flags that are judged, words that are searched for."""

from collections.abc import Callable

from msgspec import Struct

from ramify.query.filter import BadFilter, Figure, Filter, Moment, Named, Said, suggestion
from ramify.storage.base import Test

FindId = Callable[[str, str], str]
"""From a table and any id to Ramify's own."""

LISTS = {"tasks": "tasks", "calls": "model calls", "conversations": "conversations", "tools": "tool calls", "operations": "operations"}
ORDER = {"tasks": "opened", "calls": "started", "conversations": "active", "tools": "opened", "operations": "updated"}
# For each list and name: the column, and of what belongs to the row, where it is not the row's own.
COLUMNS: dict[str, dict[str, tuple[str, str]]] = {
    "tasks": {
        "status": ("status", ""), "agent": ("agent", ""), "model": ("model", "calls"), "tool": ("name", "tools"),
        "author": ("prompt_author", ""), "project": ("project", ""), "conversation": ("conversation", ""),
        "stop": ("stop_reason", "calls"), "rule": ("rule", ""), "cost": ("cost", ""), "tokens": ("tokens", ""),
        "input": ("input", ""), "output": ("output", ""), "calls": ("calls", ""), "tools": ("tool_calls", ""),
        "duration": ("lasted", ""), "words": ("words", ""),
    },
    "calls": {
        "status": ("status", ""), "agent": ("agent", "task"), "model": ("model", ""), "tool": ("name", "tools"),
        "author": ("prompt_author", "task"), "project": ("project", ""), "conversation": ("conversation", ""),
        "task": ("task", ""), "kind": ("kind", ""), "stop": ("stop_reason", ""), "rule": ("rule", ""),
        "cost": ("cost", ""), "tokens": ("tokens", ""), "input": ("input", ""), "output": ("output", ""),
        "duration": ("lasted", ""),
    },
    "conversations": {
        "status": ("status", "tasks"), "agent": ("agent", "tasks"), "model": ("model", "calls"), "tool": ("name", "tools"),
        "author": ("prompt_author", "tasks"), "project": ("project", ""), "session": ("session", ""), "client": ("client", ""),
        "kind": ("kind", "calls"), "stop": ("stop_reason", "calls"), "rule": ("rule", "tasks"), "cost": ("cost", ""),
        "tokens": ("tokens", ""), "input": ("input", ""), "output": ("output", ""), "calls": ("calls", ""),
        "duration": ("lasted", ""), "words": ("words", "tasks"),
    },
    "tools": {
        "status": ("status", ""), "agent": ("agent", ""), "tool": ("name", ""), "task": ("task", ""), "duration": ("lasted", ""),
        "words": ("words", ""),
    },
    "operations": {
        "status": ("status", ""), "agent": ("agent", ""), "tool": ("name", ""), "project": ("project", ""),
        "session": ("session", ""), "duration": ("lasted", ""), "words": ("words", ""),
    },
}  # fmt: skip
OPEN = ("pending", "submitted", "working", "input-required", "auth-required")
DONE = ("completed", "failed", "canceled", "rejected")
# Tasks and model calls have different words for much the same: either is understood.
AS_TASK = {"ok": "completed", "error": "failed", "aborted": "canceled", "running": "working"}
AS_CALL = {task: call for call, task in AS_TASK.items()}
AS_TOOL = {"completed": "ok", "failed": "error", "aborted": "canceled", "working": "running"}
OWN_WORDS = {"calls": AS_CALL, "tools": AS_TOOL}
FLAGS = ("stalled", "looping", "late")
FLAGGED = ("tasks", "operations")


def about(column: str, *values: str | int, of: str = "") -> Test:
    return Test(column, "is", values, of=of)


STATES: dict[str, dict[str, Test]] = {
    "tasks": {
        "root": about("kind", "root"), "sub": about("kind", "sub"), "open": about("status", *OPEN), "done": about("status", *DONE),
        "orphan": about("orphan", 1), "inferred": Test("certainty", "<", (1,)),
        "subtasks": Test("id", "like", ("*",), of="subtasks"), "tools": Test("tool_calls", ">", (0,)),
        "errors": about("status", "error", of="tools"), "cost": Test("cost", ">", (0,)),
    },
    "calls": {
        "root": about("kind", "root", of="task"), "sub": about("kind", "sub", of="task"), "open": about("status", "running"),
        "done": about("status", "ok", "error", "aborted"), "retry": Test("attempt_of", "like", ("call_*",)),
        "inferred": Test("certainty", "<", (1,)), "tools": Test("name", "like", ("*",), of="tools"),
        "errors": about("status", "error", of="tools"), "cost": Test("cost", ">", (0,)),
    },
    "conversations": {
        "open": about("status", *OPEN, of="tasks"), "orphan": about("orphan", 1, of="tasks"),
        "inferred": Test("certainty", "<", (1,), of="tasks"), "subtasks": about("kind", "sub", of="tasks"),
        "tools": Test("tool_calls", ">", (0,), of="tasks"), "errors": about("status", "error", of="tools"),
        "cost": Test("cost", ">", (0,)),
    },
    "tools": {
        "open": about("status", "running"), "done": Test("status", "is", ("running",), negated=True),
        "subtasks": Test("spawned", ">", (0,)), "errors": about("status", "error", "timed_out"),
    },
    "operations": {
        "open": about("status", *OPEN), "done": about("status", *DONE, "partial"), "subtasks": Test("subtasks", ">", (0,)),
        "errors": Test("failed", ">", (0,)),
    },
}  # fmt: skip


class Meaning(Struct):
    """`flags` are judged when a row is shown, each with whether it must be there; `said` is looked for in full text."""

    tests: list[Test]
    flags: list[tuple[str, bool]]
    said: list[Said]

    def fits(self, flags: list[str]) -> bool:
        return all((flag in flags) == wanted for flag, wanted in self.flags)


def meaning(filter: Filter, table: str, now: int, find: FindId, full_text: bool = False) -> Meaning:
    """Raises BadFilter for a term that means nothing for this list. With `full_text`, words are for the text index."""
    found = Meaning([], [], [])
    for term in filter.terms:
        match term:
            case Said() if full_text or table == "calls":
                found.said.append(term)
            case Said():
                column, of = COLUMNS[table]["words"]
                found.tests.append(Test(column, "has", (term.text,), term.negated, of))
            case Moment():
                found.tests.append(_moment(term, table, now))
            case Figure():
                column, of = _column(filter, term, table)
                found.tests.append(Test(column, term.sign, (term.value,), term.negated, of))
            case Named(name="is" | "has"):
                _state(filter, term, table, found)
            case Named():
                found.tests.append(_named(filter, term, table, find))
    return found


def _column(filter: Filter, term: Named | Figure, table: str) -> tuple[str, str]:
    known = COLUMNS[table]
    if term.name not in known:
        hint = suggestion("", tuple(name for name in known if name != "words"))
        raise BadFilter(filter.text, term.place, f"{term.name} means nothing for {LISTS[table]}", hint)
    return known[term.name]


def _named(filter: Filter, term: Named, table: str, find: FindId) -> Test:
    column, of = _column(filter, term, table)
    values = term.values
    if term.name in ("conversation", "task"):
        values = tuple(find(f"{term.name}s", value) for value in values)
    if term.name == "status":
        words = OWN_WORDS.get(table, AS_TASK)
        values = tuple(dict.fromkeys(words.get(value, value) for value in values))
    return Test(column, "like" if any("*" in value for value in values) else "is", values, term.negated, of)


def _moment(term: Moment, table: str, now: int) -> Test:
    at = now - term.at if term.ago else term.at
    late = (term.name == "since") != term.negated
    sign = (">" if term.negated else ">=") if late else ("<" if term.negated else "<=")
    return Test(ORDER[table], sign, (at,))  # type: ignore[arg-type]


def _state(filter: Filter, term: Named, table: str, found: Meaning) -> None:
    if len(term.values) > 1:
        raise BadFilter(filter.text, term.place, f"{term.name}: takes one word", f"write {' '.join(f'{term.name}:{one}' for one in term.values)}")
    word = term.values[0]
    if word in FLAGS and table in FLAGGED:
        found.flags.append((word, not term.negated))
        if word == "stalled" and not term.negated:
            found.tests.append(about("status", *OPEN))  # what has ended does not stand still
        return
    test = STATES[table].get(word)
    if test is None:
        known = tuple(f"{term.name}:{one}" for one in STATES[table])
        raise BadFilter(filter.text, term.place, f"{term.name}:{word} means nothing for {LISTS[table]}", suggestion("", known))
    found.tests.append(Test(test.column, test.compare, test.values, term.negated != test.negated, test.of))
