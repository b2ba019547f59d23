"""Trees: one line a task, guides at the left, figures at the right, what is unusual in between."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.cells import cell_len
from rich.text import Text

from ramify.cli.figures import TASK_FIGURES, Columns
from ramify.cli.marks import glyph, task_marks, who
from ramify.cli.safe_text import cut, one_line
from ramify.cli.words import Record, count, money, plural

SMALLEST_TITLE = 24
GUIDE = "bright_black"


class Node:
    """A task and the guides before it."""

    def __init__(self, task: Record, guides: str) -> None:
        self.task = task
        self.guides = guides


def walk(root: Record, lead: str = "") -> Iterator[Node]:
    """Depth first without recursion: a chain of agents may be longer than Python's stack."""
    waiting: list[tuple[Record, str, str]] = [(root, lead, lead)]
    while waiting:
        task, guides, below = waiting.pop()
        yield Node(task, guides)
        children = task.get("children") or []
        for place, child in enumerate(reversed(children)):
            last = place == 0
            waiting.append((child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))


def draw_tree(answer: Record, width: int, now: datetime, ids: bool = False) -> list[Text]:
    """A task's tree, or a conversation's or an operation's with its roots and what could not be attached."""
    if "roots" not in answer:
        return draw_nodes(list(walk(answer)), width, now, ids)
    nodes, headings = grouped(answer)
    lines = draw_nodes(nodes, width, now, ids)
    drawn = heading(answer, width) + lines[:1]
    for place, line in enumerate(lines[1:]):
        drawn += [*headings.get(place, []), line]
    for each in drawn:
        each.truncate(width, overflow="ellipsis")
    return drawn if nodes else [*heading(answer, width), Text("  no tasks yet", "dim")]


def grouped(answer: Record) -> tuple[list[Node], dict[int, list[Text]]]:
    """All nodes in one list, so that figures align, and the headings that stand before some of them."""
    nodes: list[Node] = []
    headings: dict[int, list[Text]] = {}
    branch: object = "main"
    for root in answer["roots"]:
        if root.get("branch") != branch:
            branch = root.get("branch")
            headings[len(nodes)] = [Text(f"⎇ {one_line(branch)}", "bold magenta")]
        nodes += walk(root)
    loose = answer.get("unattached") or []
    if loose:
        text = Text("unattached", "bold yellow")
        headings[len(nodes)] = [text.append(f"  {plural(len(loose), 'task')} whose parent is not known", "dim")]
    for task in loose:
        nodes += walk(task)
    return nodes, headings


def heading(answer: Record, width: int) -> list[Text]:
    kind = "operation" if answer.get("operation") else "conversation"
    subject = answer.get(kind) or {}
    line = Text(f"{kind} ", "dim", no_wrap=True)
    line.append(one_line(subject.get("operationId") or subject.get("id", "")), "bold")
    for part in (subject.get("title"), subject.get("project")):
        if part:
            line.append("  ").append(one_line(part))
    branches = [branch.get("name") if isinstance(branch, dict) else branch for branch in listed(subject, "branches")]
    if len(branches) > 1:
        line.append("  ⎇ " + ", ".join(map(one_line, branches)), "magenta")
    line.truncate(width, overflow="ellipsis")
    return [line]


def listed(record: Record, name: str) -> list[object]:
    value = record.get(name)
    return value if isinstance(value, list) else []


def draw_nodes(nodes: Sequence[Node], width: int, now: datetime, ids: bool) -> list[Text]:
    """The first line names the columns."""
    tasks = [node.task for node in nodes]
    spare = 2 + max((len(one_line(task.get("id", ""))) for task in tasks), default=0) if ids else 0
    columns = Columns(TASK_FIGURES, tasks, now, max(0, min(width // 2, width - spare - SMALLEST_TITLE)))
    room = max(1, width - columns.width - spare)
    lines = [pad(Text(no_wrap=True), room).append_text(columns.titles())]
    for place, node in enumerate(nodes):
        line = pad(label(node, room), room).append_text(columns.row(place))
        line.append("  " + one_line(node.task.get("id", "")) if ids else "", "dim").rstrip()
        lines.append(line)
    return lines


def pad(line: Text, width: int) -> Text:
    line.truncate(width, overflow="ellipsis", pad=True)
    return line


def label(node: Node, room: int) -> Text:
    """Guides, status, agent, title, marks. The title gives way first: marks are what people look for."""
    line = Text(no_wrap=True).append(shortened(node.guides, room // 2), GUIDE)
    line.append_text(glyph(node.task.get("status"))).append(" ")
    name, title = who(node.task), title_of(node.task)
    if name:
        wanted = cell_len(title) + sum(2 + mark.cell_len for mark in task_marks(node.task, room)) + 2
        line.append(cut(name, max(8, room // 4, room - line.cell_len - wanted)), "bold cyan").append("  ")
    marks = task_marks(node.task, (room - line.cell_len) * 6 // 10)
    taken = sum(2 + mark.cell_len for mark in marks)
    line.append(cut(title, room - line.cell_len - taken))
    for mark in marks:
        line.append("  ").append_text(mark)
    return line


def title_of(task: Record) -> str:
    if task.get("status") == "unknown" and not task.get("agent") and not task.get("title"):
        return "named, never seen"
    return one_line(task.get("title") or task.get("prompt") or task.get("id") or "")


def shortened(guides: str, room: int) -> str:
    """Very deep: the nearest guides stay, and the number says how many levels are not drawn."""
    if len(guides) <= room:
        return guides
    kept = max(1, (room - 6) // 3) * 3
    return f"⋯{(len(guides) - kept) // 3} ".ljust(3) + guides[-kept:]


def summary(answer: Record) -> str:
    """One line under a tree: how much there is and what it cost in all."""
    roots = [answer] if "roots" not in answer else [*answer["roots"], *(answer.get("unattached") or [])]
    tasks = sum(1 for root in roots for _ in walk(root))
    usages = [root.get("tree_usage") or root.get("usage") or {} for root in roots]
    calls = sum(usage.get("calls") or 0 for usage in usages)
    used = sum(usage.get(part) or 0 for usage in usages for part in ("input", "output", "cache_read", "cache_write"))
    known = [usage.get("cost_usd") for usage in usages if usage.get("calls")]
    spent = [plural(calls, "model call"), f"{count(used)} tokens"] if calls or used else ["no model calls seen"]
    parts = [plural(tasks, "task"), *spent]
    if known and None not in known:
        parts.append(money(sum(cost for cost in known if cost is not None)))
    elif known:
        parts.append("cost not known: a model has no price")
    return " · ".join(parts)
