"""Figures about everything that a store holds."""

from typing import Any

from ramify.model.moment import iso
from ramify.model.usage import Usage
from ramify.query.shapes import usage_shape
from ramify.storage.base import Store

COUNTED = {"tool_calls": "tools"} | {name: name for name in ("conversations", "tasks", "roots", "calls", "running", "failed", "aborted")}


def totals(store: Store) -> dict[str, Any]:
    held, unreadable = store.totals(), store.unreadable(20)
    return {
        "seq": store.seq(),
        **{name: held[kept] for name, kept in COUNTED.items()},
        "usage": usage_shape(usage_of(held)) if held["conversations"] else None,
        "unreadable": store.count_unreadable(),
        "unreadable_newest": [{"observation": o, "at": iso(at), "reason": why} for o, at, why in unreadable],
        "indexed": store.search.indexed(),
        "store": {"url": store.url, **store.size()},
    }


def usage_of(held: dict[str, int]) -> Usage:
    return Usage(
        held["counted"], held["input"], held["output"], held["cache_read"], held["cache_write"], held["cost"], held["unpriced"]
    )
