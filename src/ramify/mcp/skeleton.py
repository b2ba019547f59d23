"""A tree as far as it fits: level by level from the top, each task once, with how many under it are not shown."""

from typing import Any

from ramify.mcp.budget import fits
from ramify.query.outline import LETTERS

Answer = dict[str, Any]
WORDS = {letter: word for word, letter in LETTERS.items()}

LEAST = 40  # bytes of a task, whatever it is


def skeleton(outlined: Answer, budget: int, start: int = 0) -> Answer:
    """`start`: how many of the top task's children are passed over, where they are too many for one answer."""
    rows, agents = outlined["rows"], outlined["agents"]
    chosen = passed_over(levels(rows["depth"]), rows, start)
    head = {"tasks_in_all": outlined["n"], "unattached": len(outlined["unattached"]["id"])}
    low, high = 0, min(len(chosen), budget // LEAST)
    while low < high:  # the most that fit
        middle = (low + high + 1) // 2
        if fits(answer_of(head, rows, agents, chosen[:middle], start), budget):
            low = middle
        else:
            high = middle - 1
    return answer_of(head, rows, agents, chosen[:low], start)


def levels(depths: list[int]) -> list[int]:
    """Rows from the top level down, each level in its order."""
    return sorted(range(len(depths)), key=lambda row: depths[row])


def passed_over(order: list[int], rows: Answer, start: int) -> list[int]:
    children = [row for row in order if rows["depth"][row] == 1]
    away = {row + step for row in children[:start] for step in range(rows["size"][row])}
    return [row for row in order if row not in away]


def answer_of(head: Answer, rows: Answer, agents: list[str], chosen: list[int], start: int) -> Answer:
    shown = sorted(chosen)
    hidden = hidden_under(rows, shown)
    tasks = [node(rows, agents, row, hidden.get(row, 0)) for row in shown]
    away = head["tasks_in_all"] - len(tasks) - head["unattached"]
    answer = {**head, "tasks": tasks}
    if away > 0:
        children = sum(rows["depth"][row] == 1 for row in shown)
        answer["left_out"] = (
            f"{away:,} tasks ({start} children of the top were passed over). `tree` with the id of a task whose `hidden` is not 0 shows "
            f"what is under it; `start: {start + children}` goes on with further children of the top"
        )
    return answer


def hidden_under(rows: Answer, shown: list[int]) -> dict[int, int]:
    """For each shown row: tasks under it that are not shown and hang under no other shown one."""
    hidden: dict[int, int] = {}
    above: list[int] = []
    for row in shown:
        while above and row >= above[-1] + rows["size"][above[-1]]:
            above.pop()
        if above:
            hidden[above[-1]] -= rows["size"][row]
        hidden[row] = rows["size"][row] - 1
        above.append(row)
    return hidden


def node(rows: Answer, agents: list[str], row: int, hidden: int) -> Answer:
    found = {
        "id": rows["id"][row],
        "depth": rows["depth"][row],
        "title": rows["title"][row],
        "agent": agents[rows["agent"][row]] or None,
        "status": WORDS[rows["status"][row]],
        "ms": rows["ms"][row],
        "model_calls": rows["calls"][row],
        "tool_calls": rows["tools"][row],
        "cost_usd": rows["cost"][row],
        "flags": rows["flags"][row],
        "certainty": rows["certainty"][row],
        "hidden": hidden,
    }
    return {name: value for name, value in found.items() if value not in (None, [], 0, "") or name == "depth"}
