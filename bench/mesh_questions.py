"""How fast a store of an agent mesh answers with ten thousand, a hundred thousand and a million messages in it: the five questions
about a task, lists, search and SQL."""

import os
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from bench.ingest import machine
from bench.mesh_store import filled, told
from ramify.model.mistake import UserMistake
from ramify.query.direct import sql
from ramify.query.service import Questions
from ramify.query.task_query import TaskQueryService
from ramify.storage.base import Bounds
from ramify.storage.sqlite import open_sqlite

TIMES = 25
FEWEST = 3
SECONDS = 2.0  # of one question, unless that is not enough for the fewest
SIZES = (10_000, 100_000, 1_000_000)


class Asked(NamedTuple):
    """What is asked about: a run of a few messages and a large one, by their ids; and since when `since:2h` counts."""

    service: TaskQueryService
    ask: Questions
    small: str
    large: str
    small_call: str
    large_call: str
    since: str
    context: str
    session: str  # the same, as the mesh names it
    task: str  # the large run, by our id


Ask = Callable[[Asked], Any]


def about_one_task() -> dict[str, Ask]:
    asked: dict[str, Ask] = {}
    for name in ("small", "large"):
        asked |= {
            f"tool calls, {name}": lambda of, name=name: of.service.get_tool_calls_by_task(getattr(of, name)),
            f"tool calls, {name}, whole tree": lambda of, name=name: of.service.get_tool_calls_by_task(getattr(of, name), include_subtasks=True),
            f"one tool call, {name}": lambda of, name=name: of.service.get_tool_call_with_io(getattr(of, f"{name}_call")),
            f"reasoning, {name}": lambda of, name=name: of.service.get_reasoning_for_task(getattr(of, name)),
            f"reasoning, {name}, whole tree": lambda of, name=name: of.service.get_reasoning_for_task(getattr(of, name), include_subtasks=True),
            f"sub-tasks, {name}": lambda of, name=name: of.service.get_subtasks(getattr(of, name)),
            f"sub-tasks, {name}, whole tree": lambda of, name=name: of.service.get_subtasks(getattr(of, name), recursive=True),
            f"flow, {name}": lambda of, name=name: of.service.get_complete_task_flow(getattr(of, name)),
        }
    return asked


def listing(table: str, filter: str) -> Ask:
    return lambda of: getattr(of.ask, table)(filter=filter.format(since=of.since) or None)


def searching(text: str) -> Ask:
    return lambda of: of.ask.search(text.format(since=of.since))


FILTERS = {
    "tasks": (
        "", "is:root", "status:failed", "agent:HR*", "tool:send_mail", "tool:send_mail status:failed", "cost>0.5", "since:{since}",
        "tool:count_stock agent:HR* since:{since}", "tool:send_mail status:failed agent:HR* cost>0.5 since:{since}", "marmalade", "has:errors agent:HR*",
    ),
    "calls": ("", "model:anthropic/claude-opus*", "status:error", "agent:HR* since:{since}", "tokens>30k", "marmalade", "report"),
    "conversations": ("", "tool:send_mail", "agent:HR* since:{since}", "cost>5"),
}  # fmt: skip
SEARCHED = ("marmalade", "report", "parcels", '"forty parcels"', "report agent:HR*", "report status:failed since:{since}", "marmalade agent:HR*", "counted parcels tool:send_mail")
ABOUT_ONE: dict[str, Ask] = about_one_task()
LISTS: dict[str, Ask] = {
    **{f"{table} {filter}".strip(): listing(table, filter) for table, filters in FILTERS.items() for filter in filters},
    "tools of a context": lambda of: of.ask.tools(of.context),
    "tools of a context, tool:send_mail status:error": lambda of: of.ask.tools(of.context, filter="tool:send_mail status:error"),
    **{f"search {text}": searching(text) for text in SEARCHED},
}
# The five questions of the mesh's own users, then some over everything.
STATEMENTS = {
    "tool calls of a task, by phase": "SELECT m.timestamp, json_each.value FROM sam_messages m, json_each(m.tool_calls) WHERE interaction_id = '{large}' ORDER BY m.timestamp",
    "tool calls with input and output": "SELECT tool_name, input_args, output_result FROM sam_tool_calls WHERE interaction_id = '{large}'",
    "reasoning": "SELECT message_id, json_each.value FROM sam_messages, json_each(message_content) WHERE interaction_id = '{large}' AND json_extract(json_each.value, '$.data.type') = 'llm_invocation'",
    "sub-tasks": "SELECT task_id, agent_name, count(*), min(timestamp) FROM sam_messages WHERE interaction_id = '{large}' AND parent_task_id IS NOT NULL GROUP BY 1, 2",
    "flow": "SELECT timestamp, task_id, agent_name, tool_calls, message_content FROM sam_messages WHERE interaction_id = '{large}' ORDER BY timestamp",
    "an interaction": "SELECT * FROM sam_interactions WHERE interaction_id = '{large}'",
    "a conversation": "SELECT * FROM sam_conversations WHERE context_id = '{context}'",
    "messages of a context, newest": "SELECT message_id, timestamp FROM sam_messages WHERE context_id = '{context}' ORDER BY timestamp DESC LIMIT 50",
    "ramify_tool_calls of a task": "SELECT name, input, result FROM ramify_tool_calls WHERE task = '{task}'",
    "the newest failed calls of a tool": "SELECT input, result FROM ramify_tool_calls WHERE name = 'send_mail' AND status = 'error' ORDER BY opened_us DESC LIMIT 20",
    "every tool by status": "SELECT tool_name, status, count(*) FROM sam_tool_calls GROUP BY 1, 2",
    "every message by kind": "SELECT message_kind, count(*) FROM sam_messages GROUP BY 1",
    "every model's tokens": "SELECT model, sum(input_tokens) FROM ramify_usage GROUP BY 1",
}


def statement(query: str) -> Ask:
    return lambda of: sql(of.ask.store, query.format(large=of.large, context=of.session, task=of.task), Bounds(seconds=30))


DIRECT: dict[str, Ask] = {f"sql: {name}": statement(query) for name, query in STATEMENTS.items()}
ASKED = {**ABOUT_ONE, **LISTS, **DIRECT}


def subjects(ask: Questions) -> Asked:
    """The newest small run that has ended, and the newest large one."""
    service = TaskQueryService(ask)
    small = next(task for task in ask.tasks(roots=True, filter="status:completed", limit=400)["items"] if task["subtasks"] == 1)
    large = ask.tasks(filter="is:root status:completed model:anthropic/claude-opus* cost>0.5", limit=1)["items"][0]
    newest = datetime.fromisoformat(ask.tasks(limit=1)["items"][0]["opened"]).astimezone(UTC)
    calls = [service.get_tool_calls_by_task(task["id"])[-1].ref for task in (small, large)]
    return Asked(service, ask, own(small), own(large), *calls, (newest - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ"), *context_of(ask, large), large["id"])


def context_of(ask: Questions, task: dict[str, Any]) -> tuple[str, str]:
    return task["conversation"], ask.conversation(task["conversation"])["refs"][0]["value"]


def own(task: dict[str, Any]) -> str:
    return str(next(ref["value"] for ref in task["refs"] if ref["kind"] == "task"))


def measured(question: Callable[[], Any]) -> tuple[str, Any]:
    """Milliseconds: median, what 95 of 100 stay under, and the median of the CPU, which tells more where others work as well."""
    times: list[float] = []
    worked: list[float] = []
    began = time.perf_counter()
    answer: Any = None
    while len(times) < TIMES and (len(times) < FEWEST or time.perf_counter() - began < SECONDS):
        start, own = time.perf_counter(), time.thread_time()
        answer = question()
        times.append((time.perf_counter() - start) * 1000)
        worked.append((time.thread_time() - own) * 1000)
    figures = (statistics.median(times), sorted(times)[int(len(times) * 0.95)], statistics.median(worked))
    return "  ".join(f"{figure:.1f}" for figure in figures), answer


def counted(answer: Any) -> str:
    if isinstance(answer, list):
        return f"{len(answer)}"
    if not isinstance(answer, dict):
        return f"{len(answer.timeline)}" if hasattr(answer, "timeline") else "1"
    items = answer.get("items", answer.get("rows", []))
    return f"{len(items)}" + ("+" if answer.get("next") or answer.get("more") else "")


def measure(size: int) -> dict[str, str]:
    path, pieces = filled(size)
    found = {"import, the first piece": told(pieces[0]), "import, the last piece": told(pieces[-1])}
    ask = Questions(open_sqlite(f"sqlite:{path}"))
    try:
        of = subjects(ask)
        for name, question in ASKED.items():
            try:
                figures, answer = measured(lambda question=question: question(of))  # type: ignore[misc]
                found[name] = f"{figures}  ({counted(answer)})"
            except UserMistake as cut:
                found[name] = str(cut)
    finally:
        ask.store.close()
    return found


def main(sizes: tuple[int, ...] = SIZES) -> None:
    columns = {size: measure(size) for size in sizes}
    told_first = "milliseconds: median, 95 of 100, median of the CPU (and how many items; +: there are more)"
    table = Table(title=f"{told_first}; {machine()}, load {os.getloadavg()[0]:.0f}", title_justify="left")
    table.add_column("question")
    for size in sizes:
        table.add_column(f"{size:,} messages", justify="right")
    for name in next(iter(columns.values())):
        table.add_row(name, *(column[name] for column in columns.values()))
    Console(width=160).print(table)


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES)
