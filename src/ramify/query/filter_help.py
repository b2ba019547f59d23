"""Help for whoever writes a filter: what was understood, where it is wrong, and what may stand at the cursor."""

import re
from collections.abc import Iterable
from typing import Any

from ramify.query.filter import FIGURES, NAMES, TIMES, WORDS, BadFilter, Figure, Moment, Named, Said, Term, read_filter
from ramify.query.known_values import known_values
from ramify.query.lists import clock, finding
from ramify.query.meaning import COLUMNS, FLAGGED, FLAGS, STATES, meaning
from ramify.storage.base import Store

Answer = dict[str, Any]
LISTS = (*COLUMNS, "search")
MOST = 40
NAMED = re.compile(r"(?P<name>[A-Za-z_]+)(?P<sign>:|[<>]=?|=)")
SIGNS = {"<": "under", "<=": "at most", ">": "over", ">=": "at least"}


def filter_help(store: Store, table: str, text: str, at: int) -> Answer:
    """`at` is the place of the cursor. A search is told as the calls it looks through."""
    answer: Answer = {"terms": [], "error": None, "suggestions": suggestions(store, table, text, at)}
    try:
        found = read_filter(text)
        answer["terms"] = [{"start": term.place.start, "end": term.place.end, "says": says(term, text)} for term in found.terms]
        meaning(found, rows_of(table), clock(), finding(store), full_text=table == "search")
    except BadFilter as wrong:
        answer["error"] = {"start": wrong.start, "end": wrong.end, "message": wrong.problem, "hint": wrong.hint}
    except LookupError as unknown:  # an id that nothing has, or that several things have
        answer["error"] = {"start": 0, "end": len(text), "message": str(unknown), "hint": "use another id"}
    return answer


def rows_of(table: str) -> str:
    return "calls" if table == "search" else table


def says(term: Term, text: str) -> str:
    no = "not " if term.negated else ""
    match term:
        case Named(name="is", values=(word, *_)):
            return f"is {no}{word}"
        case Named(name="has", values=(word, *_)):
            return f"has {'no ' if term.negated else ''}{word}"
        case Named(name, values):
            return f"{name} is {no}{' or '.join(values)}"
        case Figure(name, sign):
            return f"{no}{name} {SIGNS[sign]} {written(term, text)}"
        case Moment(name, _, ago):
            return f"{no}{name} {written(term, text)}{' ago' if ago else ''}"
        case Said(words):
            return f"{'without' if term.negated else 'with'} “{words}”"


def written(term: Figure | Moment, text: str) -> str:
    """The value as somebody wrote it."""
    return re.split(r"[:<>=]+", text[term.place.start : term.place.end], maxsplit=1)[1].strip('"')


# -- what may stand there --------------------------------------------------------------------------------------------------


def suggestions(store: Store, table: str, text: str, at: int) -> list[Answer]:
    """Each with the part of the filter that it would replace."""
    start, end = word_around(text, min(at, len(text)))
    start += text[start:end].startswith("-")
    named = NAMED.match(text, start, min(at, len(text)))
    if named is None:
        return [suggestion(start, end, name + sign, told) for name, sign, told in names_of(table) if begins(name, text[start:at])]
    value = max(named.end(), text.rfind(",", named.end(), at) + 1)
    known = values_of(store, table, named["name"].lower())
    space = "" if text[end : end + 1].isspace() else " "
    return [suggestion(value, end, quoted(one) + space, told) for one, told in known if begins(one, text[value:at].strip('"')) and '"' not in one][:MOST]


def suggestion(start: int, end: int, text: str, told: str) -> Answer:
    return {"start": start, "end": end, "text": text, "meaning": told}


def word_around(text: str, at: int) -> tuple[int, int]:
    """Spaces inside quotes part no words."""
    for found in re.finditer(r'(?:"[^"]*(?:"|$)|[^\s"])+', text):
        if found.start() <= at <= found.end():
            return found.span()
    return at, at


def names_of(table: str) -> Iterable[tuple[str, str, str]]:
    known = {*COLUMNS[rows_of(table)], *TIMES, "is", "has"}
    yield from ((name, ":", told) for name, told in {**NAMES, **TIMES}.items() if name in known)
    yield from ((name, ">", told) for name, told in FIGURES.items() if name in known)


def words_of(table: str, name: str) -> list[str]:
    """Those of `is:` and `has:` that mean something for this list."""
    rows = rows_of(table)
    return [word for word in WORDS[name] if word in STATES[rows] or (word in FLAGS and rows in FLAGGED)]


def values_of(store: Store, table: str, name: str) -> list[tuple[str, str]]:
    if name in ("is", "has"):
        return [(word, "") for word in words_of(table, name)]
    if name in TIMES:
        return [("1h", "an hour ago"), ("24h", "a day ago"), ("7d", "a week ago")]
    return [(value, "") for value in known_values(store, rows_of(table), name)] if name in COLUMNS[rows_of(table)] else []


def begins(word: str, typed: str) -> bool:
    return word.lower().startswith(typed.lower())


def quoted(value: str) -> str:
    return f'"{value}"' if re.search(r"[\s,]", value) else value

