"""Answers as the questions give them, made by hand."""

from collections.abc import Iterable
from datetime import UTC, datetime
from io import StringIO
from typing import Any

from rich.console import Console, RenderableType

NOW = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)
Answer = dict[str, Any]


def usage(calls: int = 0, tokens: int = 0, cost: float | None = None) -> Answer:
    read = tokens * 3 // 4
    return {
        "calls": calls,
        "input": tokens - read,
        "output": 0,
        "cache_read": read,
        "cache_write": 0,
        "cost_usd": cost,
    }


def task(id: str, title: str, **changes: Any) -> Answer:
    own = usage(3, 46_000, 0.08)
    return {
        "id": id,
        "title": title,
        "prompt": title,
        "prompt_author": "human",
        "agent": None,
        "agent_type": None,
        "status": "completed",
        "native_status": None,
        "flags": [],
        "conversation": "conv_a",
        "branch": "main",
        "operation": None,
        "root": "task_a",
        "depth": 0,
        "link": None,
        "opened": "2026-11-15T12:00:00.000000Z",
        "closed": "2026-11-15T12:02:14.000000Z",
        "duration_ms": 134_000,
        "usage": own,
        "tree_usage": own,
        "subtasks": 0,
        "tool_calls": 4,
        "refs": [],
        "native": {},
        "children": [],
        **changes,
    }


def link(rule: str, certainty: float, **changes: Any) -> Answer:
    return {
        "kind": "spawned",
        "rule": rule,
        "certainty": certainty,
        "parent": "task_a",
        "via": "toolu_2",
        "via_id": "tool_2",
        "evidence": ["obs_1", "obs_2"],
        **changes,
    }


def tree() -> Answer:
    check = task(
        "task_d",
        "Check the currency table against ISO 4217",
        agent="Explore",
        duration_ms=9100,
        usage=usage(2, 2400, 0.004),
        tree_usage=usage(2, 2400, 0.004),
        tool_calls=2,
    )
    loop = task(
        "task_e",
        "Run the tests in a loop until they pass",
        agent="test-runner",
        status="failed",
        flags=["looping"],
        duration_ms=301_000,
        usage=usage(9, 94_000),
        tree_usage=usage(9, 94_000),
    )
    children = [
        task(
            "task_b",
            "Find every use of Invoice and list the files",
            agent="Explore",
            duration_ms=38_200,
            link=link("agent-id-header", 1.0),
            usage=usage(4, 9800, 0.08),
            tool_calls=9,
        ),
        task(
            "task_c",
            "Write property tests for rounding",
            agent="general-purpose",
            status="working",
            closed=None,
            duration_ms=None,
            opened="2026-11-15T12:28:20Z",
            link=link("prompt-match", 0.9),
            subtasks=2,
            tree_usage=usage(7, 60_000, 0.21),
            children=[check, loop],
        ),
        task(
            "task_f",
            "",
            status="unknown",
            duration_ms=None,
            opened=None,
            closed=None,
            usage=usage(),
            tree_usage=usage(),
            tool_calls=0,
        ),
        task(
            "task_g",
            "Ask the person which currencies matter",
            agent="Plan",
            status="input-required",
            flags=["stalled"],
            duration_ms=None,
            closed=None,
            opened="2026-11-15T12:05:00Z",
            link=link("manual", 1.0),
        ),
    ]
    return task(
        "task_a",
        "Refactor the billing module so that invoices carry their currency, and add tests",
        agent="claude",
        duration_ms=734_000,
        subtasks=4,
        tool_calls=31,
        usage=usage(12, 348_000, 0.42),
        tree_usage=usage(31, 1_010_000, 1.31),
        children=children,
    )


def conversation() -> Answer:
    return {
        "conversation": {
            "id": "conv_7x",
            "title": "Billing",
            "project": "shop",
            "branches": ["main", "branch_1"],
        },
        "roots": [tree(), task("task_h", "Now the other way round", branch="branch_1", agent="claude")],
        "unattached": [task("task_i", "Summarise the log", agent="Explore", flags=["orphan"])],
    }


def text(words: str) -> Answer:
    return {"type": "text", "text": words}


def message(author: str, *blocks: Any, **changes: Any) -> Answer:
    role = "assistant" if author == "agent" else "user"
    return {
        "id": "m",
        "task": "task_a",
        "role": role,
        "author": author,
        "author_id": None,
        "author_kind": None,
        "reason": "",
        "blocks": list(blocks),
        "timestamp": "2026-11-15T12:00:01Z",
        **changes,
    }


def tool_use(id: str, name: str, **arguments: Any) -> Answer:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def tool_result(id: str, content: Any, **changes: Any) -> Answer:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **changes}


def plain(lines: Iterable[RenderableType], width: int) -> str:
    """What a reader without colours sees."""
    file = StringIO()
    console = Console(file=file, width=width, color_system=None, markup=False, highlight=False, emoji=False)
    for line in lines:
        console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
    return file.getvalue()
