"""Compares what Ramify says with a case's true answer; returns every difference as a sentence."""

from typing import Any

from ramify.query.service import Questions
from tests.story import calls_by_exchange, fits

Call = dict[str, Any]


def differences(questions: Questions, truth: dict[str, Any]) -> list[str]:
    calls = calls_by_exchange(questions)
    ids = {call["id"]: exchange for exchange, call in calls.items()}
    found: list[str] = []
    for exchange, wanted in truth.get("calls", {}).items():
        found += _call(calls, ids, exchange, wanted)
    found += _labels(calls, truth.get("calls", {}), "conversation") + _labels(calls, truth.get("calls", {}), "task")
    found += _branches(calls, truth)
    found += _subtasks(questions, calls, truth)
    found += _why(questions, calls, truth)
    for exchange, wanted in truth.get("kinds", {}).items():
        for key in ("utility", "status"):
            if not fits(calls[exchange][key], wanted[key]):
                found.append(f"{exchange}: {key} is {calls[exchange][key]}, not {wanted[key]}")
    for exchange, wanted in truth.get("pairs", {}).items():
        same = ids.get(calls[exchange]["parent"]) == wanted["second"]
        if same != (wanted["relation"] == "same"):
            found.append(f"{exchange}: {wanted['pair']} should be {wanted['relation']}")
    return found


def _call(calls: dict[str, Call], ids: dict[str, str], exchange: str, wanted: Call) -> list[str]:
    call = calls.get(exchange)
    if call is None:
        return [f"{exchange}: not there"]
    found = [
        f"{exchange}: {key} is {call[key]}, not {wanted[key]}"
        for key in ("status", "kind", "utility")
        if key in wanted and not fits(call[key], wanted[key])
    ]
    for key in ("parent", "attempt_of"):
        value = ids.get(call[key]) if call[key] else None
        if key in wanted and not fits(value, wanted[key]):
            found.append(f"{exchange}: {key} is {value}, not {wanted[key]}")
    return found


def _labels(calls: dict[str, Call], truth: dict[str, Call], key: str) -> list[str]:
    """Equal labels are one thing, different labels are different things."""
    labels: dict[str, set[str]] = {}
    for exchange, wanted in truth.items():
        if wanted.get(key):
            labels.setdefault(wanted[key], set()).add(calls[exchange][key])
    found = [f"{key} {label} is split: {ids}" for label, ids in labels.items() if len(ids) != 1]
    every = [id for ids in labels.values() for id in ids]
    if len(every) != len(set(every)):
        found.append(f"{key}s are mixed: {labels}")
    return found


def _branches(calls: dict[str, Call], truth: dict[str, Any]) -> list[str]:
    swap = _swapped(calls, truth)
    found = []
    groups: dict[tuple[str, str], set[str]] = {}
    for exchange, wanted in truth.get("calls", {}).items():
        branch = wanted.get("branch")
        if not branch:
            continue
        value = calls[exchange]["branch"]
        exact = branch == "main" or branch.startswith("subtask_")
        if exact and swap.get(value, value) != branch:
            found.append(f"{exchange}: branch is {value}, not {branch}")
        if not exact:
            if (value or "").rsplit("_")[0] != branch.rsplit("_")[0]:
                found.append(f"{exchange}: branch is {value}, not a {branch}")
            groups.setdefault((wanted["conversation"], branch), set()).add(value)
    return found + [f"branch {key} is split: {values}" for key, values in groups.items() if len(values) != 1]


def _swapped(calls: dict[str, Call], truth: dict[str, Any]) -> dict[str, str]:
    """Where nothing on the wire tells two offers apart, their numbers may be exchanged as a whole."""
    swap: dict[str, str] = {}
    if truth.get("swappable"):
        for name, wanted in truth["subtasks"].items():
            value = calls[wanted["first"]]["branch"]
            swap[value] = name.split("/")[1]
    return swap if len(set(swap.values())) == len(swap) else {}


def _subtasks(questions: Questions, calls: dict[str, Call], truth: dict[str, Any]) -> list[str]:
    found = []
    swappable = truth.get("swappable", [])
    vias = []
    for wanted in truth.get("subtasks", {}).values():
        first, caller = calls[wanted["first"]], calls[wanted["spawned_by"]]
        task = questions.task(first["task"])
        link = task["link"]
        if link is None:
            found.append(f"{wanted['first']}: not linked")
            continue
        vias.append(link["via"])
        good = link["via"] in swappable if wanted["via"] in swappable else link["via"] == wanted["via"]
        if not good:
            found.append(f"{wanted['first']}: via {link['via']}, not {wanted['via']}")
        if link["parent"] != caller["task"]:
            found.append(f"{wanted['first']}: parent task is not the caller's")
        children = [child["id"] for child in questions.tree(caller["task"])["children"]]
        if task["id"] not in children:
            found.append(f"{wanted['first']}: not in the tree of its caller")
    if len(set(vias)) != len(vias):
        found.append("one offer has two children")
    count = sum(1 for task in questions.tasks(limit=0)["items"] if task["link"])
    if "calls" in truth and count != len(truth.get("subtasks", {})) and not truth.get("_mixed"):
        found.append(f"{count} sub-tasks, not {len(truth.get('subtasks', {}))}")
    return found


def _why(questions: Questions, calls: dict[str, Call], truth: dict[str, Any]) -> list[str]:
    found = []
    for exchange, wanted in truth.get("why", {}).items():
        answer = questions.why(calls[exchange]["task"])
        certainty = answer["links"][0]["certainty"] if answer["links"] else None
        if certainty is None or ("stated" in wanted) != (certainty == 1.0):
            found.append(f"{exchange}: certainty {certainty}, should be {wanted}")
        if "candidates" in wanted and not answer["candidates"]:
            found.append(f"{exchange}: names no losing candidate")
    return found
