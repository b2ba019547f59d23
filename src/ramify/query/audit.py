"""The audit, newest first: by who and by act through keys of their own, by time through their order."""

import re
from typing import Any

from msgspec import Struct

from ramify.linking.keys import FOREVER
from ramify.model.audit import Noted, read_noted
from ramify.model.moment import iso
from ramify.model.observation import Record
from ramify.query.errors import Ambiguous, BadQuestion, NotFound
from ramify.query.resolve import resolve
from ramify.scopes import AUDIT, act_key, who_key
from ramify.storage.base import Store

Answer = dict[str, Any]
CURSOR = re.compile(r"(-?\d{1,18})\.(\d{1,6})", re.ASCII)
TABLES = ("tasks", "conversations", "calls", "tools", "operations")
MOST_LOOKED = 2_000  # entries for one page, where what is asked for is rare


class Wanted(Struct, frozen=True):
    """`projects` None: of all, and what belongs to none."""

    who: str = ""
    act: str = ""
    since: int = -FOREVER
    until: int = FOREVER
    projects: frozenset[str] | None = None

    @property
    def key(self) -> int:
        return who_key(self.who) if self.who else act_key(self.act) if self.act else AUDIT

    def takes(self, seen: Record, noted: Noted) -> bool:
        mine = self.projects is None or seen.project in self.projects
        return mine and self.who in ("", noted.who) and self.act in ("", noted.act)


def audit(store: Store, wanted: Wanted, limit: int = 50, cursor: str | None = None) -> Answer:
    """A cursor says up to when, and how many of that very moment were told already."""
    until, skipped = _read_cursor(cursor) if cursor else (wanted.until, 0)
    asked = min(limit or MOST_LOOKED, MOST_LOOKED)
    items: list[Answer] = []
    looked = 0
    while True:
        entries = store.span(wanted.key, wanted.since, until, asked + skipped + 1, True)[::-1][skipped:]
        for place, (at, id) in enumerate(entries[:asked], 1):
            until, skipped = at, skipped + 1 if at == until else 1
            looked += 1
            items += _taken(store, id, wanted)
            if len(items) >= limit > 0 or looked >= MOST_LOOKED:
                return {"items": items, "next": f"{until}.{skipped}" if place < len(entries) else None, "looked": looked}
        if len(entries) <= asked:
            return {"items": items, "next": None, "looked": looked}


def _taken(store: Store, id: str, wanted: Wanted) -> list[Answer]:
    seen = store.observation(id)
    noted = read_noted(seen) if isinstance(seen, Record) else None
    if not isinstance(seen, Record) or noted is None or not wanted.takes(seen, noted):
        return []
    return [shape(seen, noted)]


def shape(seen: Record, noted: Noted) -> Answer:
    return {
        "id": seen.id, "at": iso(seen.at), "who": noted.who, "act": noted.act, "what": noted.what or None,
        "way": noted.way, "address": noted.address or None, "project": seen.project or None, "more": noted.more,
    }  # fmt: skip


def project_of(store: Store, what: str) -> str:
    """Whose the thing is that something was done to; empty where it is no thing, or gone."""
    try:
        return str(getattr(resolve(store, what, TABLES)[1], "project", "")) if what else ""
    except (NotFound, Ambiguous):
        return ""


def _read_cursor(text: str) -> tuple[int, int]:
    found = CURSOR.fullmatch(text)
    if found is None:
        raise BadQuestion(f"the cursor {text[:40]!r} is none of ours")
    return int(found[1]), int(found[2])
