"""Compares what Ramify says of a run of the client with the run's true answer; every difference is a sentence."""

from typing import Any

from ramify.query.service import Questions

Entry = dict[str, Any]
TOKENS = ("input", "output", "cache_read", "cache_write")


def differences(questions: Questions, truth: Entry, source: str) -> list[str]:
    """`source` as the case names it; `all` where everything went into one store."""
    ids, found = _match_tasks(questions, truth, source)
    return [
        *found,
        *_calls(questions, truth, source, ids),
        *_tools(questions, truth, source, ids),
        *_messages(questions, truth, source, ids),
        *_usage(questions, truth, source),
    ]


def seen_here(entries: list[Entry], source: str) -> list[Entry]:
    return [entry for entry in entries if source == "all" or source in entry.get("sources", [source])]


def _match_tasks(questions: Questions, truth: Entry, source: str) -> tuple[dict[str, str], list[str]]:
    """Ramify's id for each key: agents by their id, root tasks in the order of their prompts."""
    tasks = questions.tasks(limit=0)["items"]
    by_agent = {task["agent"]: task for task in tasks if task["agent"]}
    roots = sorted((task for task in tasks if not task["link"] and not task["agent"] and "orphan" not in task["flags"]), key=lambda task: task["opened"])
    wanted = seen_here(truth["tasks"], source)
    found: list[str] = []
    ids: dict[str, str] = {}
    wanted_roots = [entry for entry in wanted if entry["kind"] == "root"]
    for entry, task in zip(wanted_roots, roots, strict=False):
        ids[entry["key"]] = task["id"]
    required = [entry for entry in wanted if not entry.get("optional")]
    if not len([one for one in required if one["kind"] == "root"]) <= len(roots) <= len(wanted_roots):
        found.append(f"{len(roots)} root tasks, not {len(wanted_roots)}: {[task['title'] for task in roots]}")
    for entry in wanted:
        if entry["kind"] == "root":
            continue
        task = by_agent.get(entry["key"]) or _unnamed(tasks, entry)
        if task is None:
            if not entry.get("optional"):
                found.append(f"no task for the agent {entry['key']}")
            continue
        ids[entry["key"]] = task["id"]
    extra = [task for task in tasks if task["id"] not in ids.values() and task not in roots]
    found += [f"a task too many: {task['agent']} {task['title']!r}" for task in extra]
    for entry in wanted:
        if entry["key"] in ids:
            found += _task(questions.task(ids[entry["key"]]), entry, ids, source)
    return ids, found


def _unnamed(tasks: list[Entry], entry: Entry) -> Entry | None:
    """Old clients name no agent everywhere: then the spawning call tells which it is."""
    for task in tasks:
        if not task["agent"] and task["link"] and task["link"]["via"] == entry["spawned_by"]:
            return task
    return None


def _task(task: Entry, entry: Entry, ids: dict[str, str], source: str) -> list[str]:
    name = entry["key"]
    found = []
    shown = [text for text in entry["prompt"] if text]
    if shown and task["prompt"] and not any(text.strip() in task["prompt"] or task["prompt"].strip() in text for text in shown):
        found.append(f"{name}: prompt is {task['prompt'][:60]!r}, not {shown[0][:60]!r}")
    if entry["kind"] == "root":
        return found
    link = task["link"] or {}
    certainty = entry.get("certainty", {}).get(source, "any")
    if entry["parent"] and link.get("parent") != ids.get(entry["parent"]):
        found.append(f"{name}: parent is {link.get('parent')}, not {entry['parent']}")
    if entry["spawned_by"] and certainty == "exact" and link.get("via") != entry["spawned_by"]:
        found.append(f"{name}: spawned by {link.get('via')}, not {entry['spawned_by']}")
    if certainty != "any" and link and (link["certainty"] == 1.0) != (certainty == "exact"):
        found.append(f"{name}: certainty {link['certainty']} should be {certainty}")
    found += [
        f"{name}: {key} is {task[key]}, not {entry[key]}"
        for key in ("depth", "branch")
        if entry.get(key) is not None and task[key] != entry[key]
    ]
    status = entry.get("status") or {}
    words = status.get(source) or status.get("*")
    if words and task["status"] not in words:
        found.append(f"{name}: status is {task['status']}, not {words}")
    if entry.get("agent_type") and task["agent_type"] and task["agent_type"] != entry["agent_type"]:
        found.append(f"{name}: agent type is {task['agent_type']}, not {entry['agent_type']}")
    return found


def _calls(questions: Questions, truth: Entry, source: str, ids: dict[str, str]) -> list[str]:
    calls = questions.calls(limit=0)["items"]
    by_ref = {(ref["kind"], ref["value"]): call for call in calls for ref in call["refs"]}
    found, met = [], set()
    for entry in seen_here(truth["calls"], source):
        call = by_ref.get(("exchange", entry.get("exchange"))) or by_ref.get(("message", entry.get("message")))
        call = call or by_ref.get(("request", entry.get("request")))
        if call is None:
            found.append(f"call {entry['exchange']} is not there")
            continue
        met.add(call["id"])
        if entry["task"] is not None and call["task"] != ids.get(entry["task"]):
            found.append(f"call {entry['exchange']}: task is {call['task']}, not {entry['task']}")
        if call["kind"] != entry["kind"] or call["utility"] != entry["utility"]:
            found.append(f"call {entry['exchange']}: {call['kind']}/{call['utility']}, not {entry['kind']}/{entry['utility']}")
        if source in ("exchanges", "all"):
            for name, value in entry["usage"].items():
                if call["usage"][name] != value:
                    found.append(f"call {entry['exchange']}: {name} is {call['usage'][name]}, not {value}")
    found += [f"a call too many: {call['id']} {call['sources']}" for call in calls if call["id"] not in met]
    return found


def _tools(questions: Questions, truth: Entry, source: str, ids: dict[str, str]) -> list[str]:
    found = []
    visible = {entry["key"] for entry in seen_here(truth["messages"], source) if entry["type"] == "tool_use"}
    for entry in seen_here(truth["tool_calls"], source):
        if visible and entry["id"] not in visible:
            continue
        try:
            tool = questions.tool(entry["id"])
        except Exception as problem:
            found.append(f"tool {entry['id']}: {problem}")
            continue
        if tool["name"] != entry["name"] or tool["task"] != ids.get(entry["task"]):
            found.append(f"tool {entry['id']}: {tool['name']} of {tool['task']}, not {entry['name']} of {entry['task']}")
    return found


def _messages(questions: Questions, truth: Entry, source: str, ids: dict[str, str]) -> list[str]:
    said: list[tuple[str, Entry, Entry]] = []
    for key, id in ids.items():
        for message in questions.messages(id, limit=0)["items"]:
            said += [(key, message, block) for block in message["blocks"]]
    found = []
    for entry in seen_here(truth["messages"], source):
        hits = [
            message
            for key, message, block in said
            if (not entry["task"] or key in entry["task"]) and block.get("type") == entry["type"] and _fits(block, entry)
        ]
        if not 1 <= len(hits) <= 1 + entry.get("extra", 0):
            found.append(f"message {entry['type']} {entry['key'][:60]!r} of {entry['task']}: seen {len(hits)} times")
            continue
        accept = entry.get("accept", {}).get(source) or {}
        authors = [*entry["author"], *(accept.get("author", []) if isinstance(accept, dict) else [])]
        if hits[0]["author"] not in authors:
            found.append(f"message {entry['key'][:60]!r}: by {hits[0]['author']} ({hits[0]['reason']}), not {authors}")
        kinds = entry["kind"]
        if kinds and hits[0]["author"] == "harness" and hits[0]["author_kind"] not in kinds:
            found.append(f"message {entry['key'][:60]!r}: kind {hits[0]['author_kind']}, not {kinds}")
    return found


def _fits(block: Entry, entry: Entry) -> bool:
    text = block.get("id") or block.get("tool_use_id") or block.get("text") or block.get("thinking") or ""
    return text.strip() == entry["key"].strip() if entry["match"] == "equals" else entry["key"] in text


def _usage(questions: Questions, truth: Entry, source: str) -> list[str]:
    usage = questions.stats()["usage"] or {}
    total = {name: usage.get(name, 0) for name in TOKENS}
    wanted = truth["usage"].get(source)
    return [] if not wanted or total in wanted else [f"usage is {total}, not {wanted}"]
