"""The language of filters, read: `status:failed agent:HR* cost>0.5 since:2h "garden leave" -tool:Bash`.

A filter is a row of terms that must all hold; `-` denies one, commas separate alternatives. There are no brackets, so
that reading takes one pass. What the words mean for a list is `meaning.py`'s.
"""

import re
from difflib import get_close_matches
from typing import Literal

from msgspec import Struct

from ramify.model.moment import micros
from ramify.model.steering import HALF
from ramify.query.errors import BadQuestion

LONGEST = 2000
MOST_TERMS = 40
MOST_VALUES = 20
NAMES = {
    "status": "how it stands: completed, failed, working …; of a call or a tool ok, error, running …",
    "agent": "the agent's type or name",
    "model": "the model that was asked",
    "tool": "a tool that was used",
    "author": "who wrote the prompt: human, agent, harness …",
    "project": "whose data it is",
    "conversation": "the conversation, by any id",
    "task": "the task, by any id",
    "session": "the session as its client names it",
    "client": "the client that was seen",
    "kind": "of a model call: main, subagent, utility",
    "stop": "why an answer ended: end_turn, tool_use …",
    "rule": "the rule that linked it",
    "is": "root, sub, open, done, orphan, inferred, retry, stalled, looping, late",
    "has": "subtasks, tools, errors, cost",
}
FIGURES = {
    "cost": "dollars, its own",
    "tokens": "all of its own tokens",
    "input": "tokens that went in, without the cache",
    "output": "tokens that came out",
    "calls": "model calls",
    "tools": "tool calls",
    "duration": "how long it took",
}
TIMES = {"since": "not before", "until": "not after"}
WORDS = {
    "status": (
        "pending", "submitted", "working", "input-required", "auth-required", "completed", "failed", "canceled",
        "rejected", "unknown", "ok", "error", "aborted", "running", "timed_out", "missing", "partial",
    ),
    "author": ("human", "agent", "tool", "harness", "system", "unknown"),
    "kind": ("main", "subagent", "utility"),
    "is": ("root", "sub", "open", "done", "orphan", "inferred", "retry", "stalled", "looping", "late"),
    "has": ("subtasks", "tools", "errors", "cost"),
}  # fmt: skip
KNOWN = (*NAMES, *FIGURES, *TIMES)

TERM = re.compile(r'(?P<deny>-?)(?:(?P<name>[A-Za-z_]+)(?P<sign>:|[<>]=?|=))?(?P<value>(?:"[^"]*"|[^\s"])*)')
VALUE = re.compile(r'"([^"]*)"|([^,"]+)')
NUMBER = re.compile(r"(\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})([a-z]*)", re.IGNORECASE)
SIZES = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
SPANS = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000, "w": 604_800_000_000}
DAY = SPANS["d"]
Sign = Literal["<", "<=", ">", ">="]


class Place(Struct, frozen=True):
    """Where a term stands in what was written."""

    start: int
    end: int


class Named(Struct, frozen=True):
    """`name:value,value`: one of the values fits."""

    name: str
    values: tuple[str, ...]
    negated: bool
    place: Place


class Figure(Struct, frozen=True):
    """`name>number`, in whole units: tokens, microseconds, billionths of a dollar."""

    name: str
    sign: Sign
    value: int
    negated: bool
    place: Place


class Moment(Struct, frozen=True):
    """`since:` and `until:`; either a time in microseconds, or so long ago."""

    name: str
    at: int
    ago: bool
    negated: bool
    place: Place


class Said(Struct, frozen=True):
    """Words, in this order."""

    text: str
    negated: bool
    place: Place


Term = Named | Figure | Moment | Said


class Filter(Struct, frozen=True):
    terms: tuple[Term, ...] = ()
    text: str = ""


class BadFilter(BadQuestion):
    """Points at the word that is wrong: `start` and `end` are places in the filter."""

    def __init__(self, text: str, place: Place, problem: str, hint: str) -> None:
        self.start, self.end = place.start, place.end
        self.word = text[place.start : place.end][:60]
        self.hint = hint
        self.problem = problem
        where = f", at character {place.start + 1} of the filter" if len(text) > place.end or place.start else ""
        super().__init__(f"{self.word!r}{where}: {problem} — {hint}")


def read_filter(text: str) -> Filter:
    """Raises BadFilter."""
    if len(text) > LONGEST:
        raise BadFilter(text, Place(LONGEST, len(text)), "the filter is too long", f"use at most {LONGEST} characters")
    if half := HALF.search(text):
        raise BadFilter(text, Place(half.start(), half.end()), "it is no character", "write the filter in Unicode (UTF-8)")
    terms: list[Term] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        found = TERM.match(text, at)
        assert found is not None  # the value may be empty
        place = Place(at, max(found.end(), at + 1))
        terms.append(_term(text, found, place))
        if len(terms) > MOST_TERMS:
            raise BadFilter(text, place, "the filter has too many terms", f"use at most {MOST_TERMS}")
        at = place.end
    return Filter(tuple(terms), text)


def _term(text: str, found: re.Match[str], place: Place) -> Term:
    negated, value = bool(found["deny"]), found["value"]
    if text[place.end : place.end + 1] == '"' or found.end() == place.start:
        raise BadFilter(text, Place(place.start, len(text)), "a quote is not closed", 'write "…" around the words')
    if found["name"] is None:
        return _said(text, value, negated, place)
    name = found["name"].lower()
    if name not in KNOWN:
        raise BadFilter(text, place, f"there is no filter {name!r}", suggestion(name, KNOWN, found["sign"], place.end > place.start))
    if not value:
        raise BadFilter(text, place, f"{name}{found['sign']} says no value", f"write {example(name)}")
    if name in FIGURES:
        return _figure(text, name, found["sign"], value, negated, place)
    if found["sign"] not in (":", "="):
        raise BadFilter(text, place, f"{name} has no greater and less", f"write {example(name)}")
    if name in TIMES:
        return _moment(text, name, value, negated, place)
    return _named(text, name, value, negated, place)


def _said(text: str, value: str, negated: bool, place: Place) -> Said:
    words = value.replace('"', " ").split()
    if not words:
        raise BadFilter(text, place, "there is no word in it", "write a word, or leave it out")
    return Said(" ".join(words), negated, place)


def _named(text: str, name: str, value: str, negated: bool, place: Place) -> Named:
    values = tuple(quoted or bare for quoted, bare in VALUE.findall(value) if quoted or bare)
    if not values or len(values) > MOST_VALUES:
        hint = f"write {example(name)}" if not values else f"use at most {MOST_VALUES}"
        raise BadFilter(text, place, "it has no value" if not values else "it has too many values", hint)
    if name not in WORDS:
        return Named(name, values, negated, place)
    for one in values:
        if one.lower() not in WORDS[name]:
            raise BadFilter(text, place, f"{name} is never {one!r}", suggestion(one.lower(), WORDS[name]))
    return Named(name, tuple(one.lower() for one in values), negated, place)


def _figure(text: str, name: str, sign: str, value: str, negated: bool, place: Place) -> Figure:
    if sign not in ("<", "<=", ">", ">="):
        raise BadFilter(text, place, f"{name} is compared with a number", f"write {example(name)}")
    found = NUMBER.fullmatch(value.replace("$", "", 1) if name == "cost" else value)
    units = SPANS if name == "duration" else SIZES
    if found is None or found[2].lower() not in units:
        known = "ms, s, m, h, d" if name == "duration" else "k, M, G"
        raise BadFilter(text, place, f"{value!r} is no number", f"write {example(name)}; {known} may follow it")
    unit = units[found[2].lower()] * (1_000_000_000 if name == "cost" else 1)
    whole = min(int(float(found[1]) * unit), 1 << 62)
    assert sign in ("<", "<=", ">", ">=")
    return Figure(name, sign, whole, negated, place)  # type: ignore[arg-type]


def _moment(text: str, name: str, value: str, negated: bool, place: Place) -> Moment:
    value = value.strip('"')
    found = NUMBER.fullmatch(value)
    if found is not None and found[2].lower() in SPANS:
        ago = int(float(found[1]) * SPANS[found[2].lower()])
        return Moment(name, min(ago, 1 << 60), True, negated, place)
    try:
        whole_day = DAY - 1 if name == "until" and len(value) == len("2026-11-16") else 0
        return Moment(name, micros(value) + whole_day, False, negated, place)
    except (ValueError, OverflowError):
        hint = f"write {name}:2h, {name}:7d, {name}:2026-11-16 or a time such as {name}:2026-11-16T09:30:00Z"
        raise BadFilter(text, place, f"{value!r} is no time", hint) from None


def example(name: str) -> str:
    if name in FIGURES:
        return {"cost": "cost>0.5", "duration": "duration>5m"}.get(name, f"{name}>10k" if name != "calls" else "calls>3")
    if name in TIMES:
        return f"{name}:2h"
    return f"{name}:{WORDS[name][0]}" if name in WORDS else f"{name}:NAME"


def suggestion(word: str, known: tuple[str, ...], sign: str = "", quotable: bool = False) -> str:
    found = get_close_matches(word[:60], known, 1, 0.6)
    if found:
        return f"did you mean {found[0]}{sign}?"
    quoted = "; to look for it as text, put it in quotes" if quotable else ""
    return f"known are {', '.join(known)}{quoted}"
