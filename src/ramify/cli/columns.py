"""Which columns each kind of record has, once."""

from datetime import datetime
from typing import Any

from rich.text import Text

from ramify.cli import words
from ramify.cli.draw_list import Column
from ramify.cli.draw_tree import title_of
from ramify.cli.marks import FLAG_STYLES, glyph, link_mark, status_style, who
from ramify.cli.safe_text import one_line
from ramify.cli.words import Record


def field(name: str) -> Any:
    """A record's own word; nothing where it has none."""

    def read(record: Record, now: datetime) -> str:
        value = record.get(name)
        return "" if value is None else one_line(value)

    return read


def number(name: str) -> Any:
    def read(record: Record, now: datetime) -> str:
        value = record.get(name)
        value = len(value) if isinstance(value, list) else value
        return words.count(value) if isinstance(value, int) and value else ""

    return read


def flags(record: Record, now: datetime) -> Text:
    parts = [Text(one_line(flag), FLAG_STYLES.get(flag, "yellow")) for flag in record.get("flags") or ()]
    return Text(" ").join(parts)


def link(record: Record, now: datetime) -> Text:
    return link_mark(record.get("link")) or Text()


def shape(record: Record, now: datetime) -> Text:
    return glyph(record.get("status"))


def status(record: Record, now: datetime) -> Text:
    return Text(one_line(record.get("status") or ""), status_style(record.get("status")))


def peek(arguments: Any) -> str:
    """The one argument that tells a tool call apart; people recognise a command, a path, a question."""
    if not isinstance(arguments, dict):
        return "" if arguments is None else one_line(arguments)
    telling = ("command", "file_path", "pattern", "path", "query", "url", "description", "prompt", "skill")
    for name in telling:
        if isinstance(arguments.get(name), str) and arguments[name]:
            return one_line(arguments[name])
    return one_line(", ".join(f"{name}={value}" for name, value in arguments.items()))


def last_seen(record: Record, now: datetime) -> str:
    for name in ("active", "closed", "opened"):
        if record.get(name):
            return words.age(record[name], now)
    return ""


def usage(record: Record) -> Record | None:
    return record.get("tree_usage") or record.get("usage")


TASKS = (
    Column("", shape),
    Column("status", status, 6),
    Column("agent", lambda task, _: Text(who(task), "bold cyan"), 4),
    Column("title", lambda task, _: title_of(task), grows=True),
    Column("flags", flags, 2),
    Column("found by", link, 5),
    Column("age", lambda task, now: words.age(task.get("opened"), now), 1, right=True),
    Column("time", words.elapsed, 3, right=True),
    Column("subtasks", number("subtasks"), 7, right=True, style="dim"),
    Column("tools", number("tool_calls"), 8, right=True, style="dim"),
    Column("tokens", lambda task, _: words.count(words.tokens(usage(task))), 6, right=True),
    Column("cost", lambda task, _: words.cost(usage(task)), 3, right=True, style="green"),
    Column("id", field("id"), style="dim"),
)
CONVERSATIONS = (
    Column("project", field("project"), 6),
    Column("title", field("title"), grows=True),
    Column("branches", number("branches"), 7, right=True, style="dim"),
    Column("tasks", number("tasks"), 4, right=True),
    Column("calls", number("calls"), 5, right=True, style="dim"),
    Column("tokens", lambda record, _: words.count(words.tokens(usage(record))), 3, right=True),
    Column("cost", lambda record, _: words.cost(usage(record)), 2, right=True, style="green"),
    Column("last seen", last_seen, 1, right=True),
    Column("id", field("id"), style="dim"),
)
CALLS = (
    Column("", shape),
    Column("status", status, 5),
    Column("model", field("model"), grows=True),
    Column("kind", lambda call, _: one_line(call.get("utility") or call.get("kind") or ""), 3),
    Column("branch", field("branch"), 7),
    Column(
        "attempt",
        lambda call, _: str(call["attempt"]) if (call.get("attempt") or 1) > 1 else "",
        2,
        right=True,
    ),
    Column("new", number("new_messages"), 8, right=True, style="dim"),
    Column("stop", field("stop_reason"), 6),
    Column("first", lambda call, _: words.duration(call.get("first_token_ms")), 5, right=True, style="dim"),
    Column("time", words.elapsed, 2, right=True),
    Column("in", lambda call, _: words.count(words.tokens_in(call.get("usage"))), 4, right=True),
    Column("out", lambda call, _: words.count(words.tokens_out(call.get("usage"))), 4, right=True),
    Column("cost", lambda call, _: words.cost(call.get("usage")), 3, right=True, style="green"),
    Column("age", lambda call, now: words.age(call.get("opened"), now), 1, right=True),
    Column("id", field("id"), style="dim"),
)
TOOLS = (
    Column("", shape),
    Column("tool", field("name"), style="bold"),
    Column("input", lambda tool, _: peek(tool.get("args")), grows=True),
    Column("status", lambda tool, _: "" if tool.get("status") == "ok" else status(tool, _), 3),
    Column("agent", lambda tool, _: Text(one_line(tool.get("agent_name") or ""), "cyan"), 4),
    Column("spawned", number("spawned"), 2, right=True),
    Column("time", words.elapsed, 1, right=True),
    Column("call", field("call_id"), style="dim"),
)
OPERATIONS = (
    Column("", shape),
    Column("status", status, 5),
    Column("operation", field("operationId"), grows=True, style="bold"),
    Column("agents", lambda record, _: one_line(", ".join(record.get("agents") or ())), 4, style="cyan"),
    Column("types", lambda record, _: one_line(", ".join(record.get("taskTypes") or ())), 6),
    Column("tasks", number("taskCount"), 3, right=True),
    Column("under", number("subtaskCount"), 8, right=True, style="dim"),
    Column("events", number("eventCount"), 7, right=True, style="dim"),
    Column("flags", flags, 2),
    Column("time", lambda record, _: words.duration(record.get("durationMs")), 5, right=True),
    Column("age", lambda record, now: words.age(record.get("updatedAt"), now), 1, right=True),
)
EVENTS = (
    Column("seq", lambda event, _: str(event.get("seq") or ""), 6, right=True, style="dim"),
    Column("event", field("eventType"), style="bold"),
    Column("status", status, 2),
    Column("operation", field("operationId"), grows=True),
    Column("agent", lambda event, _: Text(one_line(event.get("agentId") or event.get("targetEntity") or ""), "cyan"), 1),
    Column("type", field("taskType"), 3),
    Column("task", field("agentTaskId"), 4),
    Column("source", field("source"), 7, style="dim"),
    Column("flags", flags, 2),
    Column("age", lambda event, now: words.age(event.get("recordedAt"), now), 1, right=True),
)
SEARCH = (
    Column("kind", lambda hit, _: one_line(hit.get("kind") or hit.get("type") or ""), 1, style="magenta"),
    Column("id", lambda hit, _: one_line(hit.get("id") or hit.get("task") or hit.get("call") or ""), style="dim"),
    Column(
        "text",
        lambda hit, _: one_line(hit.get("snippet") or hit.get("text") or hit.get("title") or ""),
        grows=True,
    ),
    Column("age", lambda hit, now: words.age(hit.get("timestamp") or hit.get("opened"), now), 2, right=True),
)
CHECKS = (
    Column("", shape),
    Column("check", field("check"), style="bold"),
    Column("", lambda check, _: "" if check.get("status") == "ok" else one_line(check.get("status")), 1),
    Column("finding", field("message"), grows=True),
)
