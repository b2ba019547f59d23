"""How fast questions are answered with ten thousand, a hundred thousand and, with the word `million`, a million tasks, as many
model calls and as many tool calls in the store: about one task, lists, filters that fit often, seldom and never, search."""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.filler import write
from ramify.query.flow import flow
from ramify.query.service import Questions
from ramify.storage.sqlite import open_sqlite

TIMES = 5
Ask = Callable[[Questions, str], Any]
# Those that are called seldom fit the five oldest of all rows; what no index names is walked to, as far as one page may.
ASKED: dict[str, Ask] = {
    "task": lambda ask, id: ask.task(id),
    "tree": lambda ask, id: ask.tree(id),
    "subtasks": lambda ask, id: ask.subtasks(id),
    "tools": lambda ask, id: ask.tools(id),
    "messages": lambda ask, id: ask.messages(id),
    "reasoning": lambda ask, id: ask.reasoning(id),
    "flow": lambda ask, id: flow(ask, id),
    "why": lambda ask, id: ask.why(id),
    "tasks": lambda ask, id: ask.tasks(),
    "tasks, roots": lambda ask, id: ask.tasks(roots=True),
    "calls": lambda ask, id: ask.calls(),
    "conversations": lambda ask, id: ask.conversations(),
    "tasks status:completed": lambda ask, id: ask.tasks(filter="status:completed"),
    "tasks status:failed (seldom)": lambda ask, id: ask.tasks(filter="status:failed"),
    "tasks agent:Explore": lambda ask, id: ask.tasks(filter="agent:Explore"),
    "tasks agent:HR* (seldom)": lambda ask, id: ask.tasks(filter="agent:HR*"),
    "tasks agent:nobody (never)": lambda ask, id: ask.tasks(filter="agent:nobody"),
    "tasks tool:Grep": lambda ask, id: ask.tasks(filter="tool:Grep"),
    "tasks tool:marmalade (seldom)": lambda ask, id: ask.tasks(filter="tool:marmalade"),
    "tasks model:rare* (seldom)": lambda ask, id: ask.tasks(filter="model:rare*"),
    "tasks project:rare (seldom)": lambda ask, id: ask.tasks(filter="project:rare"),
    "tasks is:root tool:Grep agent:Plan (never)": lambda ask, id: ask.tasks(filter="is:root tool:Grep agent:Plan"),
    "tasks cost>0.5 (seldom, walked)": lambda ask, id: ask.tasks(filter="cost>0.5"),
    "tasks marmalade (seldom, walked)": lambda ask, id: ask.tasks(filter="marmalade"),
    "tasks has:subtasks -status:completed (walked)": lambda ask, id: ask.tasks(filter="has:subtasks -status:completed"),
    "calls status:error (seldom)": lambda ask, id: ask.calls(filter="status:error"),
    "calls agent:HR* (seldom)": lambda ask, id: ask.calls(filter="agent:HR*"),
    "calls marmalade (seldom)": lambda ask, id: ask.calls(filter="marmalade"),
    "conversations tool:marmalade (seldom)": lambda ask, id: ask.conversations(filter="tool:marmalade"),
    "conversations cost>5 (never, walked)": lambda ask, id: ask.conversations(filter="cost>5"),
    "search parser": lambda ask, id: ask.search("parser"),
    "search marmalade (seldom)": lambda ask, id: ask.search("marmalade"),
    "search parser agent:HR* (seldom, walked)": lambda ask, id: ask.search("parser agent:HR*"),
}


def measured(question: Callable[[], Any]) -> tuple[float, float, Any]:
    """Milliseconds of the first time and of the median."""
    times = []
    answer: Any = None
    for _ in range(TIMES):
        start = time.perf_counter()
        answer = question()
        times.append((time.perf_counter() - start) * 1000)
    return times[0], statistics.median(times), answer


def measure(size: int) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        url = write(Path(folder) / "bench.db", size)
        store = open_sqlite(url)
        questions = Questions(store)
        task = questions.tasks(roots=True, limit=1)["items"][0]["id"]
        found: dict[str, str] = {}
        for name, ask in ASKED.items():
            first, median, answer = measured(lambda ask=ask: ask(questions, task))  # type: ignore[misc]
            items = answer.get("items") if isinstance(answer, dict) else None
            rest = f" {len(items)}" + ("+" if answer.get("next") else "") if items is not None else ""
            found[name] = f"{first:.0f} / {median:.1f}{rest}"
        store.close()
    return found


def main(sizes: tuple[int, ...] = (10_000, 100_000)) -> None:
    console = Console(width=140)
    table = Table(title="first time / median in ms, and how many items the first page has (+: there are more)", title_justify="left")
    table.add_column("question")
    columns = []
    for size in sizes:
        table.add_column(f"{size:,} tasks", justify="right")
        columns.append(measure(size))
    for name in ASKED:
        table.add_row(name, *(column[name] for column in columns))
    console.print(table)


if __name__ == "__main__":
    main((10_000, 100_000, 1_000_000) if "million" in sys.argv else (10_000, 100_000))
