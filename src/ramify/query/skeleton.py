"""A tree as columns in pre-order: what a page needs to draw tens of thousands of rows."""

from typing import Any

from ramify.model.moment import micros

LETTERS = {
    "pending": "p", "submitted": "s", "working": "w", "input-required": "i", "auth-required": "a", "completed": "c",
    "failed": "f", "canceled": "x", "rejected": "r", "unknown": "u",
}
COLUMNS = (
    "id", "depth", "size", "title", "agent", "status", "start", "ms", "calls", "tools", "input", "output", "cost",
    "certainty", "flags",
)


def columns(roots: list[dict[str, Any]], unattached: list[dict[str, Any]], seq: int) -> dict[str, Any]:
    rows: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    agents: dict[str, int] = {}
    opened = [micros(task["opened"]) for task in (*roots, *unattached) if task["opened"]]
    start = min(opened, default=0)
    for root in roots:
        _add(rows, agents, root, 0, start)
    loose: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for task in unattached:
        _add(loose, agents, task, 0, start)
    return {"seq": seq, "n": len(rows["id"]), "agents": list(agents), "rows": rows, "unattached": loose}


def _add(rows: dict[str, list[Any]], agents: dict[str, int], task: dict[str, Any], depth: int, start: int) -> int:
    at = len(rows["id"])
    agent = task["agent_type"] or task["agent"] or ""
    values = (
        task["id"], depth, 1, task["title"][:48], agents.setdefault(agent, len(agents)), LETTERS[task["status"]],
        (micros(task["opened"]) - start) // 1000 if task["opened"] else None, task["duration_ms"],
        task["usage"]["calls"], task["tool_calls"], task["usage"]["input"], task["usage"]["output"],
        task["usage"]["cost_usd"], task["link"]["certainty"] if task["link"] else None, task["flags"],
    )
    for name, value in zip(COLUMNS, values, strict=True):
        rows[name].append(value)
    size = 1 + sum(_add(rows, agents, child, depth + 1, start) for child in task["children"])
    rows["size"][at] = size
    return size
