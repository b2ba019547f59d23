"""A store with very many small tasks, written as rows, beside some real sessions: what is measured is asking."""

import random
from collections.abc import Iterator
from pathlib import Path

from bench.traffic import traffic
from ramify.indexing import Indexer
from ramify.ingest import Ingest
from ramify.model.entity import Call, Conversation, Entity, Line, Task, ToolCall
from ramify.model.ids import short
from ramify.model.link import Link
from ramify.model.usage import Usage
from ramify.storage.base import Changes, Words
from ramify.storage.sqlite import open_sqlite

START = 1_780_000_000_000_000  # before the real sessions, which are then the newest
STEP = 1_000_000
BATCH = 5_000
AGENTS = ("Explore", "Plan", "general-purpose", "reviewer", "writer", "tester")
MODELS = ("claude-sonnet-4-5", "claude-opus-4-5", "claude-haiku-4-5")
TOOLS = ("Bash", "Read", "Grep", "Edit", "WebFetch", "Glob")
NOUNS = ("checkout", "pictures", "tests", "price tables", "importer", "slow pages", "notes", "parser")
RARE = 5  # of everything that is rare, there are so many


def write(path: Path, size: int, sessions: int = 20) -> str:
    """`size` tasks, each with a model call and a tool call, a tenth as many conversations; then `sessions` real ones."""
    url = f"sqlite:{path}"
    store = open_sqlite(url)
    for first in range(0, size, BATCH):
        numbers = range(first, min(first + BATCH, size))
        store.append((), Changes(rows=dict(row for number in numbers for row in rows(number, size))))
    texts = [Words(short("call", number), "response", 0, 0, "text", said(number, size)) for number in range(size)]
    store.search.add(texts, 0, 0)
    ingest = Ingest(store)
    for batch in traffic(sessions * 12, 12, sessions):
        ingest.step(batch)
    Indexer(store).catch_up()
    store.close()
    return url


def is_rare(number: int, size: int) -> bool:
    """The oldest few: whoever walks from the newest on meets them last."""
    return number < RARE


def said(number: int, size: int) -> str:
    return f"about the {NOUNS[number % len(NOUNS)]} number {number}" + (" with a marmalade" if is_rare(number, size) else "")


def rows(number: int, size: int) -> Iterator[tuple[tuple[str, str], Entity]]:
    rng = random.Random(number)
    rare = is_rare(number, size)
    conversation = short("conv", number // 10)
    task, call, tool = short("task", number), short("call", number), short("tool", number)
    parent = short("task", number - 1) if number % 10 else ""
    at = START + number * STEP
    usage = Usage(1, 310, 220, 4000, 150, 900_000_000 if rare else rng.randrange(20_000_000))
    status = "error" if rare else "ok"
    if number % 10 == 0:
        yield ("conversations", conversation), Conversation(conversation, "rare" if rare else "default", f"s{number}", at, at, 10, usage)
    link = Link("spawned", parent, "agent-id-header", 1.0, f"toolu_{number}") if parent else None
    agent = "HR-agent" if rare else rng.choice(AGENTS) if parent else ""
    title = f"Look into the {rng.choice(NOUNS)}" + (" of marmalade" if rare else "")
    yield ("tasks", task), Task(
        task, "rare" if rare else "default", conversation, task, "sub" if parent else "root", call, at, f"a{number:016x}", agent, title,
        f"{title}, and say in a few words what you found. " * 6, "agent" if parent else "human", parent, "", link, 1, usage, 1, call,
        at, status, "end_turn", at + rng.randrange(1_000_000, 60_000_000),
    )  # fmt: skip
    yield ("lines", task), Line(task, conversation, "subtask" if parent else "root", at, 0)
    yield ("calls", call), Call(
        call, project="default", session=f"s{number // 10}", started=at, ended=at + 900_000, status=status, task=task, line=task,
        model="rare-model" if rare else rng.choice(MODELS), conversation=conversation, usage=usage, asked=True, relation="root", stop_reason="end_turn",
    )  # fmt: skip
    yield ("tools", tool), ToolCall(
        tool, f"toolu_{number}", "default", call=call, name="Marmalade" if rare else rng.choice(TOOLS), opened=at, closed=at + 5000, status=status
    )
