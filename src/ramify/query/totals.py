"""Figures about everything that a store holds."""

from typing import Any

from ramify.model.entity import Conversation
from ramify.model.moment import iso
from ramify.query.paging import ALL
from ramify.query.shapes import usage_shape
from ramify.storage.base import Ask, Store


def totals(store: Store) -> dict[str, Any]:
    total = None
    for row in store.page("conversations", Ask("active", limit=ALL)):
        if isinstance(row, Conversation):
            total = row.usage if total is None else total + row.usage
    unreadable = store.unreadable(20)
    size = store.size()
    return {
        "seq": store.seq(),
        "conversations": store.count("conversations"),
        "tasks": store.count("tasks", without={"kind": "none"}),
        "roots": store.count("tasks", {"kind": "root"}),
        "calls": store.count("calls", without={"kind": "twin"}),
        "running": store.count("calls", {"status": "running"}),
        "failed": store.count("calls", {"status": "error"}),
        "aborted": store.count("calls", {"status": "aborted"}, {"kind": "twin"}),
        "tool_calls": store.count("tools"),
        "usage": usage_shape(total) if total else None,
        "unreadable": store.count_unreadable(),
        "unreadable_newest": [{"observation": o, "at": iso(at), "reason": why} for o, at, why in unreadable],
        "indexed": store.search.indexed(),
        "store": {"url": store.url, **size},
    }
