"""Compares what Ramify says of A2A with a case's true answer, through the questions that people ask."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ramify.ingest import Ingest
from ramify.model.entity import TABLES
from ramify.model.observation import Observation
from ramify.query.service import Questions
from ramify.storage.sqlite import Sqlite, open_sqlite

CASES = Path(__file__).parent / "cases" / "a2a"
DERIVED = ("tasks", "messages", "artifacts", "artifact_parts", "lines", "conversations", "agents", "corrections", "notes", "tools", "calls")
Shape = dict[str, Any]


def cases() -> list[str]:
    return sorted(path.name for path in CASES.iterdir() if path.is_dir())


def frames(case: str) -> list[Shape]:
    return [json.loads(line) for line in (CASES / case / "frames.jsonl").read_text("utf-8").splitlines()]


def expected(case: str) -> Shape:
    truth: Shape = json.loads((CASES / case / "expected.json").read_text("utf-8"))
    return truth


def told(seen: Sequence[Observation], size: int = 50) -> Sqlite:
    store = open_sqlite("memory:")
    tell(store, seen, size)
    return store


def tell(store: Sqlite, seen: Sequence[Observation], size: int = 50) -> None:
    ingest = Ingest(store)
    for start in range(0, len(seen), size):
        ingest.step(seen[start : start + size])


def in_random_batches(seen: Sequence[Observation], chance: random.Random) -> Sqlite:
    store = open_sqlite("memory:")
    ingest = Ingest(store)
    rest = list(seen)
    while rest:
        size = chance.choice((1, 2, 3, 7, 20, 100))
        ingest.step(rest[:size])
        rest = rest[size:]
    return store


def rows(store: Sqlite) -> dict[str, Shape]:
    """Every derived row that somebody is shown."""
    found: dict[str, Shape] = {}
    for table in DERIVED:
        for (doc,) in store._read(f"SELECT doc FROM {table}"):
            row = msgspec.convert(msgspec.msgpack.decode(doc), TABLES[table])
            found[f"{table}/{row.id}"] = {name: getattr(row, name) for name in row.__struct_fields__}
    for observation, at, reason in store.unreadable(100_000):
        found[f"unreadable/{observation}"] = {"at": at, "reason": reason}
    return found


# -- one case ----------------------------------------------------------------------------------------------------------


def differences(store: Sqlite, truth: Shape, alone: bool = True) -> list[str]:
    questions = Questions(store)
    found: list[str] = []
    natives = {task["id"]: native(task) for task in questions.tasks(limit=0)["items"]}
    if alone and sorted(filter(None, natives.values())) != sorted(task["id"] for task in truth["tasks"]):
        found.append(f"tasks are {sorted(natives.values())}")
    for wanted in truth["tasks"]:
        found += task_differences(questions, wanted, natives)
    return found


def native(task: Shape) -> str:
    return next((str(ref["value"]) for ref in task["refs"] if ref["kind"] == "task"), "")


def task_differences(questions: Questions, wanted: Shape, natives: dict[str, str]) -> list[str]:
    task = questions.task(f"a2a:task:{wanted['agent']}/{wanted['id']}" if wanted["agent"] else wanted["id"])
    link = task["link"]
    why = questions.why(task["id"])
    context = next((ref["value"] for ref in task["refs"] if ref["kind"] == "context"), None)
    said = {
        "agent": task["agent"],
        "context": context,
        "parent": natives[link["parent"]] if link else None,
        "link": {name: link[name] for name in ("kind", "rule", "certainty")} if link else None,
        "depth": task["depth"],
        "root": natives[task["root"]],
        "branch": task["branch"],
        "status": task["status"],
        "native_status": task["native_status"],
        "stalled": "stalled" in task["flags"],
        "prompt": task["prompt"],
        "refers": sorted(natives[one["parent"]] for one in why["links"] if one["kind"] == "refers"),
    }
    found = [f"{wanted['id']}: {name} is {value!r}, not {wanted[name]!r}" for name, value in said.items() if value != wanted[name]]
    if wanted["title"] and task["title"] != wanted["title"]:
        found.append(f"{wanted['id']}: title is {task['title']!r}, not {wanted['title']!r}")
    author = "human" if wanted["parent"] is None else "agent"
    if task["prompt_author"] != author:
        found.append(f"{wanted['id']}: {task['prompt_author']!r} wrote the prompt, not {author!r}")
    return found + artifact_differences(task, wanted) + message_differences(questions, task, wanted)


def artifact_differences(task: Shape, wanted: Shape) -> list[str]:
    said = {one["artifactId"]: (one["name"], joined(one["parts"]), bool(one.get("partial"))) for one in task["artifacts"]}
    truth = {one["artifactId"]: (one["name"], joined(one["parts"]), bool(one.get("partial"))) for one in wanted["artifacts"]}
    return [f"{wanted['id']}: artifact {id} is {said.get(id)}, not {truth.get(id)}" for id in said.keys() | truth.keys() if said.get(id) != truth.get(id)]


def joined(parts: list[Shape]) -> list[Shape]:
    found: list[Shape] = []
    for part in parts:
        if found and set(part) == set(found[-1]) == {"text"}:
            found[-1] = {"text": found[-1]["text"] + part["text"]}
        else:
            found.append(part)
    return found


def message_differences(questions: Questions, task: Shape, wanted: Shape) -> list[str]:
    said = [
        {
            "role": one["role"],
            "text": next((block["text"] for block in one["blocks"] if block["type"] == "text"), None),
            "data": next((block["data"] for block in one["blocks"] if block["type"] == "data"), None),
        }
        for one in questions.messages(task["id"], limit=0)["items"]
    ]
    return [] if said == wanted["messages"] else [f"{wanted['id']}: messages are {said}, not {wanted['messages']}"]
