"""A store with one very large tree, written as rows: what is measured is asking and drawing, not storing."""

import random
from pathlib import Path

from ramify.model.entity import Conversation, Entity, Line, Task
from ramify.model.ids import short
from ramify.model.link import Link
from ramify.model.usage import Usage
from ramify.storage.base import Changes
from ramify.storage.sqlite import open_sqlite

CONVERSATION = short("conv", "bench")
START = 1_790_000_000_000_000
AGENTS = ("Explore", "Plan", "general-purpose", "reviewer")
VERBS = ("Read", "Find", "Check", "Measure", "Rewrite", "Compare", "List", "Test")
NOUNS = ("the checkout", "all pictures", "old tests", "price tables", "the importer", "slow pages", "notes", "the parser")


def root() -> str:
    return short("task", 0)


def write_tree(path: Path, size: int, seed: int = 1) -> str:
    """The store's address. A few hundred sub-tasks of the root, the rest anywhere below them."""
    rng = random.Random(seed)
    ids = [short("task", number) for number in range(size)]
    rows: dict[tuple[str, str], Entity | None] = {}
    rows["conversations", CONVERSATION] = Conversation(CONVERSATION, "default", "bench", START, START, size * 2, Usage(calls=size * 2))
    for number, id in enumerate(ids):
        parent = "" if number == 0 else ids[0] if number < 12 else ids[rng.randrange(max(1, number - 5000), number)]
        rows["tasks", id] = task(rng, number, id, parent)
        rows["lines", id] = Line(id, CONVERSATION, "subtask" if parent else "root", START + number * 15_000, 0)
    url = f"sqlite:{path}"
    store = open_sqlite(url)
    store.append((), Changes(rows=rows))
    store.close()
    return url


def task(rng: random.Random, number: int, id: str, parent: str) -> Task:
    opened = START + number * 15_000
    title = f"{rng.choice(VERBS)} {rng.choice(NOUNS)}"
    link = Link("spawned", parent, "agent-id-header", 1.0, f"toolu_{number}") if parent else None
    return Task(
        id, "default", CONVERSATION, id, "sub" if parent else "root", f"call_{number}", opened, f"a{number:016x}",
        rng.choice(AGENTS) if parent else "", title, f"{title}, and say in a few words what you found. " * 6,
        "agent" if parent else "human", parent, "", link, 2, Usage(2, 310, 220, 4000, 150, 12_300_000), 3, f"call_{number}",
        opened, "ok", "end_turn", opened + rng.randrange(1_000_000, 60_000_000),
    )  # fmt: skip
