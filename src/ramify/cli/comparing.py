"""Two runs side by side."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from rich.text import Text

from ramify.cli import words
from ramify.cli.draw_list import Column, draw_list
from ramify.cli.marks import glyph
from ramify.cli.parser import Parser, add_reading
from ramify.cli.safe_text import one_line
from ramify.cli.session import Part, Session
from ramify.cli.words import Record

SIGNS = {"same": ("=", "dim"), "under": ("·", "dim"), "changed": ("≠", "yellow"), "left": ("<", "red"), "right": (">", "green")}
ROWS: tuple[tuple[str, Callable[[Record], str]], ...] = (
    ("status", lambda run: one_line(run["status"])),
    ("models", lambda run: one_line(", ".join(run["models"]))),
    ("time", lambda run: words.duration(run["duration_ms"])),
    ("tasks", lambda run: words.count(run["tasks"])),
    ("model calls", lambda run: words.count(run["tree_usage"]["calls"])),
    ("tool calls", lambda run: words.count(run["tools"])),
    ("tokens in", lambda run: words.count(words.tokens_in(run["tree_usage"]))),
    ("tokens out", lambda run: words.count(words.tokens_out(run["tree_usage"]))),
    ("cost", lambda run: words.cost(run["tree_usage"])),
)


def options(parser: Parser) -> None:
    parser.add_argument("a", metavar="A", help="a run: a task by any of its ids, or a conversation")
    parser.add_argument("b", metavar="B", help="another")
    add_reading(parser)


def compare(session: Session) -> int:
    with session.opened() as store:
        answer = store.questions.compare(session.arguments.a, session.arguments.b)
    if session.output.json:
        session.output.document(answer)
    else:
        session.output.lines(draw_comparison(answer, session.output.width, session.output.now))
    return 0


def draw_comparison(answer: Record, width: int, now: datetime) -> list[Text]:
    lines = [*draw_figures(answer, width, now), Text(), *draw_parting(answer)]
    if not answer["same"]:
        lines += [Text(), *(line for node in answer["tasks"] for line in draw_node(node))]
    if answer["more"]:
        lines.append(Text("there are more tasks than are shown", "dim"))
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def draw_figures(answer: Record, width: int, now: datetime) -> list[Text]:
    sides = [answer["a"], answer["b"]]
    rows = [{"": name, "a": read(sides[0]), "b": read(sides[1])} for name, read in ROWS]
    titles = [one_line(f"{mark} {side['title'] or side['id']}")[: max(12, width // 3)] for mark, side in zip("AB", sides, strict=True)]
    columns = [
        Column("", lambda row, _: row[""], style="dim"),
        Column(titles[0], lambda row, _: row["a"], right=True),
        Column(titles[1], lambda row, _: row["b"], right=True),
    ]
    return draw_list(columns, rows, width, now)


def draw_parting(answer: Record) -> list[Text]:
    asked = "" if answer["asked_the_same"] else ", although they were asked different things"
    if answer["same"]:
        return [Text(f"Both did the same, step by step{asked}.", "bold")]
    lines = [Text(one_line(answer["parting"]["text"]), "bold")]
    for mark, side in zip("AB", (answer["parting"]["a"], answer["parting"]["b"]), strict=True):
        lines.append(Text(f"  {mark}  ", "dim").append_text(draw_act(side["act"]) if side and side["act"] else Text("nothing", "dim")))
    since = answer["since"]
    spent = [f"{words.count(words.tokens(side))} tokens {words.cost(side)}".strip() for side in (since["a"], since["b"])]
    lines.append(Text(f"From there on A spent {spent[0]}, B {spent[1]}{difference(since['more_usd'])}."))
    return lines


def difference(dollars: float | None) -> str:
    if not dollars:
        return ""
    return f": B {words.money(abs(dollars))} {'more' if dollars > 0 else 'less'}"


def draw_act(act: Record) -> Text:
    line = Text(no_wrap=True).append_text(glyph(act["status"])).append(" ").append(one_line(act["name"]), "bold")
    return line.append(f" {one_line(act['text'])}" if act["text"] else "")


def draw_node(node: Record) -> list[Text]:
    sign, style = SIGNS[node["kind"]]
    task = node["a"] or node["b"]
    line = Text("  " * node["depth"]).append(f"{sign} ", style)
    line.append(one_line(task["agent"]), "bold cyan").append(f" {one_line(task['title'])}")
    costs = [words.cost(side["tree_usage"]) if side else "–" for side in (node["a"], node["b"])]
    line.append(f"  {costs[0]} | {costs[1]}" if any(costs) else "", "green")
    if node["kind"] == "same" and node["size"] > 1:
        line.append(f"  and {node['size'] - 1} under it", "dim")
    return [line, *(draw_step(step, node["depth"]) for step in node["steps"])]


def draw_step(step: dict[str, Any], depth: int) -> Text:
    start = Text("  " * (depth + 1))
    if step["kind"] == "folded":
        return start.append(f"  {step['count']} the same", "dim")
    sign, style = SIGNS[step["kind"]]
    start.append(f"{sign} ", style)
    if step["kind"] == "changed":
        return start.append_text(draw_act(step["a"])).append("  →  ", "dim").append_text(draw_act(step["b"]))
    return start.append_text(draw_act(step["a"] or step["b"]))


FAMILY = {"compare": Part(options, compare)}
