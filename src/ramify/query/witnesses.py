"""Who witnessed a link: for each piece of evidence its source, and what it says by itself."""

from collections.abc import Iterable
from typing import Any

from ramify.model.entity import Entity, Task
from ramify.model.link import Link
from ramify.model.observation import Request, Response
from ramify.model.rules import RULES
from ramify.storage.base import Store

Shape = dict[str, Any]


def of(store: Store, row: Entity, links: Iterable[Link]) -> list[Shape]:
    told = row.stated.told if isinstance(row, Task) and row.stated else ()
    rules: dict[str, str] = {}
    for one in told:
        if one.tool:
            rules.setdefault(one.observation, one.rule)
    found: list[Shape] = []
    for id in dict.fromkeys(seen for link in links for seen in link.evidence):
        seen = store.observation(id)
        if seen is not None:
            source = "wire" if isinstance(seen, Request | Response) else seen.source
            found.append({"observation": id, "source": source, "rule": rules.get(id), "explanation": RULES.get(rules.get(id, ""))})
    return found
