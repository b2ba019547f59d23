"""Tokens, money, times and outcomes by day, project, type of agent, model or tool: from the sums of each day, never from
the calls themselves, so that the answer takes as long for a million of them as for a few."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from ramify.model.moment import iso
from ramify.model.tally import DAY, Tally, day_of, quantile
from ramify.model.usage import NOTHING, Usage
from ramify.query.errors import BadQuestion
from ramify.query.filter import Moment, read_filter
from ramify.query.paging import ALL
from ramify.query.shapes import usage_shape
from ramify.storage.base import Ask, Store

DIMENSIONS = ("day", "project", "agent", "model", "tool")
SINCE = "30d"
EVER = "all"
END = 1 << 62
# What each word for an outcome comes down to; any other is still open.
ENDED = {
    "ok": "ok", "completed": "ok", "error": "failed", "failed": "failed", "rejected": "failed", "timed_out": "failed", "missing": "failed",
    "aborted": "canceled", "canceled": "canceled",
}  # fmt: skip
Group = tuple[str, ...]
Shape = dict[str, Any]


class Figures:
    """How many of one kind there were, how they ended and how long they took."""

    def __init__(self) -> None:
        self.count = self.milliseconds = 0
        self.ended = {"ok": 0, "failed": 0, "canceled": 0, "open": 0}
        self.times: dict[int, int] = {}

    def add(self, row: Tally) -> None:
        self.count += row.count
        self.milliseconds += row.milliseconds
        for word, count in row.outcomes:
            self.ended[ENDED.get(word, "open")] += count
        times = self.times
        for step, count in row.times:
            times[step] = times.get(step, 0) + count

    def join(self, other: "Figures") -> None:
        self.count += other.count
        self.milliseconds += other.milliseconds
        for word, count in other.ended.items():
            self.ended[word] += count
        for step, count in other.times.items():
            self.times[step] = self.times.get(step, 0) + count

    def shape(self) -> Shape:
        """What was canceled is neither a success nor a failure."""
        decided = self.ended["ok"] + self.ended["failed"]
        timed = sum(self.times.values())
        return {
            "count": self.count,
            **self.ended,
            "success": self.ended["ok"] / decided if decided else None,
            "mean_ms": self.milliseconds / timed if timed else None,
            "p50_ms": quantile(self.times.items(), 0.5),
            "p95_ms": quantile(self.times.items(), 0.95),
        }


class Row:
    """One line of the answer."""

    def __init__(self) -> None:
        self.usage = NOTHING
        self.kinds: dict[str, Figures] = {}

    def add(self, row: Tally, spending: Sequence[str]) -> None:
        if row.kind in spending:
            self.usage = self.usage + row.usage
        if row.kind != "extra":
            kind = "tools" if row.kind == "uses" else row.kind
            figures = self.kinds.get(kind) or self.kinds.setdefault(kind, Figures())
            figures.add(row)

    def join(self, other: "Row") -> None:
        self.usage = self.usage + other.usage
        for kind, figures in other.kinds.items():
            self.kinds.setdefault(kind, Figures()).join(figures)

    def shape(self) -> Shape:
        kinds = {kind: self.kinds[kind].shape() if kind in self.kinds else None for kind in ("calls", "tools", "tasks")}
        return {"usage": usage_shape(self.usage), **kinds}


def read_dimensions(text: str) -> tuple[str, ...]:
    """Raises BadQuestion."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in DIMENSIONS:
            raise BadQuestion(f"nothing is summed up by {name!r}: use {', '.join(DIMENSIONS)}, several with commas between them")
    if not names:
        raise BadQuestion(f"say by what: {', '.join(DIMENSIONS)}, several with commas between them")
    if {"model", "tool"} <= set(names):
        raise BadQuestion("sums are kept by model or by tool, not by both at once: leave one of them out")
    return names


def read_window(since: str | None, until: str | None, now: int) -> tuple[int, int]:
    """Whole days, UTC: the first and the last moment."""
    first = 0 if (since or SINCE) == EVER else day_of(_moment("since", since or SINCE, now))
    last = day_of(_moment("until", until, now)) + DAY - 1 if until else END
    return first, last


def _moment(name: str, text: str, now: int) -> int:
    term = read_filter(f'{name}:"{text}"').terms[0]
    assert isinstance(term, Moment)
    return max(0, now - term.at) if term.ago else term.at


def statistics(store: Store, by: Sequence[str], window: tuple[int, int], project: str | None = None, limit: int = ALL) -> Shape:
    kinds = ("calls", "extra") if "model" in by else ("tools",) if "tool" in by else ("calls", "extra", "uses", "tasks")
    spending = ("tools",) if "tool" in by else ("calls", "extra")
    groups: dict[Group, Row] = {}
    for tally in _tallies(store, kinds, window, project):
        group = _group(tally, by)
        row = groups.get(group) or groups.setdefault(group, Row())
        row.add(tally, spending)
    total = Row()
    for row in groups.values():
        total.join(row)
    ordered = sorted(groups.items(), key=lambda one: _order(one[0], one[1].usage, by))
    return {
        "by": list(by),
        "since": iso(window[0]),
        "until": iso(window[1]) if window[1] < END else None,
        "rows": [{**dict(zip(by, group, strict=True)), **row.shape()} for group, row in ordered[:limit]],
        "more": len(ordered) > limit,
        "total": total.shape(),
    }


def _tallies(store: Store, kinds: Iterable[str], window: tuple[int, int], project: str | None) -> Iterable[Tally]:
    for kind in kinds:
        where = {"kind": kind} | ({"project": project} if project else {})
        for row in store.page("tallies", Ask("at", where, ALL, within={"at": window}, ascending=True)):
            if isinstance(row, Tally):
                yield row


def _group(tally: Tally, by: Sequence[str]) -> Group:
    names = {"project": tally.project, "agent": tally.agent, "model": tally.name, "tool": tally.name}
    return tuple(_day(tally.at) if name == "day" else names[name] for name in by)


@lru_cache(4096)
def _day(at: int) -> str:
    return (iso(at or 1) or "")[:10]


def _order(group: Group, usage: Usage, by: Sequence[str]) -> tuple[Any, ...]:
    """As time goes by; on one day what cost most comes first."""
    days = tuple(name for name, dimension in zip(group, by, strict=True) if dimension == "day")
    spent = usage.input + usage.output + usage.cache_read + usage.cache_write
    return days, -usage.cost_nano, -spent, group
