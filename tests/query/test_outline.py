"""The quick way to a tree's columns tells the same as the tree itself."""

from typing import Any

import pytest

from ramify.acts import correction
from ramify.ingest import Ingest
from ramify.query.forest import cut
from ramify.query.outline import sizes
from ramify.query.service import Questions
from tests.story import anthropic_cases, exchanges, told

LETTERS = {"c": "completed", "w": "working", "f": "failed", "x": "canceled", "u": "unknown", "s": "submitted"}


def flat(trees: list[dict[str, Any]], depth: int = 0) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for tree in trees:
        under = flat(tree["children"], depth + 1)
        usage, link = tree["usage"], tree["link"]
        rows.append((
            tree["id"], depth, len(under) + 1, cut(tree["title"], 48), tree["status"], usage["calls"], tree["tool_calls"],
            usage["input"], usage["output"], usage["cost_usd"], link["certainty"] if link else None, tree["flags"],
            None if tree["duration_ms"] is None else int(tree["duration_ms"]),
        ))  # fmt: skip
        rows += under
    return rows


def drawn(columns: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    names = ("id", "depth", "size", "title", "status", "calls", "tools", "input", "output", "cost", "certainty", "flags", "ms")
    rows = zip(*(columns[name] for name in names), strict=True)
    return [tuple(LETTERS[value] if at == 4 else value for at, value in enumerate(row)) for row in rows]


def same(questions: Questions, id: str) -> None:
    tree, quick = questions.tree(id), questions.skeleton(id)
    assert drawn(quick["rows"]) == flat(tree.get("roots", [tree]))
    assert drawn(quick["unattached"]) == flat(tree.get("unattached", []))
    assert quick["n"] == len(quick["rows"]["id"]) + len(quick["unattached"]["id"])


@pytest.mark.parametrize("case", anthropic_cases())
def test_columns_tell_what_the_tree_tells(case: str) -> None:
    _, questions = told(exchanges("anthropic", case))
    for conversation in questions.conversations(limit=0)["items"]:
        same(questions, conversation["id"])
    for task in questions.tasks(limit=0)["items"]:
        same(questions, task["id"])


def test_a_task_that_a_person_moved_to_another_conversation_is_drawn_there() -> None:
    store, questions = told([*exchanges("anthropic", "subtask-three-parallel"), *exchanges("anthropic", "linear")])
    roots = questions.tasks(roots=True, limit=0)["items"]
    child, parent = roots[0], next(task for task in roots if task["conversation"] != roots[0]["conversation"])
    Ingest(store).step([correction(store, "link", child["id"], parent["id"])])
    assert child["id"] in questions.skeleton(parent["id"])["rows"]["id"]
    same(questions, parent["id"])


def test_a_row_counts_itself_and_everything_under_it() -> None:
    assert sizes([0, 1, 2, 2, 1, 0]) == [5, 3, 1, 1, 1, 1]
    assert sizes([]) == []
