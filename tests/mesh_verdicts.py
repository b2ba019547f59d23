"""Compares what Ramify says of a run of an agent mesh with the run's true course; every difference is a sentence."""

from typing import Any

from ramify.query.service import Questions

Entry = dict[str, Any]


def same_moment(found: str | None, wanted: str | None) -> bool:
    return (found or "").removesuffix("Z") == (wanted or "").removesuffix("+00:00")


def differences(questions: Questions, truth: Entry) -> list[str]:
    tasks = {native_id(task): task for task in questions.tasks(limit=0)["items"]}
    wanted = {entry["task_id"]: entry for entry in truth["tasks"]}
    found = [f"a task too many: {id}" for id in tasks.keys() - wanted.keys()]
    found += [f"no task {id}" for id in wanted.keys() - tasks.keys()]
    for id in wanted.keys() & tasks.keys():
        found += task(tasks[id], wanted[id], tasks)
    found += tools(questions, truth, tasks)
    found += reasoning(questions, truth, tasks)
    found += totals(questions, truth, tasks)
    return found


def native_id(task: Entry) -> str:
    return next(ref["value"] for ref in task["refs"] if ref["kind"] == "task")


def compare(what: str, found: Entry, wanted: Entry) -> list[str]:
    return [f"{what}: {name} is {found[name]!r}, not {wanted[name]!r}" for name in found if found[name] != wanted[name]]


def task(found: Entry, truth: Entry, tasks: dict[str, Entry]) -> list[str]:
    native = found["native"]
    parent = tasks[truth["parent_task_id"]]["id"] if truth["parent_task_id"] else None
    link = found["link"] or {}
    spawned = truth["spawned_by"] or {}
    told = {
        "agent": found["agent"], "status": found["status"], "depth": found["depth"], "branch": found["branch"],
        "prompt": found["prompt"], "author": found["prompt_author"], "parent": link.get("parent"),
        "via": link.get("via"), "calls": found["usage"]["calls"], "input": found["usage"]["input"],
        "output": found["usage"]["output"], "delegator": native.get("delegating_agent_name"),
        "call": native.get("function_call_id"), "call_depth": native.get("call_depth"), "messages": native["messages"],
    }  # fmt: skip
    right = {
        "agent": truth["agent_name"], "status": truth["status"], "depth": truth["depth"], "branch": truth["branch"],
        "prompt": truth["prompt"], "author": truth["prompt_author"], "parent": parent,
        "via": spawned.get("call_id"), "calls": truth["llm_calls"], "input": truth["input_tokens"],
        "output": truth["output_tokens"], "delegator": truth["delegating_agent_name"],
        "call": truth["function_call_id"], "call_depth": truth["call_depth"], "messages": truth["own_messages"],
    }  # fmt: skip
    problems = compare(truth["task_id"], told, right)
    if not same_moment(found["closed"], truth["ended_at"]):
        problems.append(f"{truth['task_id']}: closed {found['closed']}, not {truth['ended_at']}")
    return problems


def tools(questions: Questions, truth: Entry, tasks: dict[str, Entry]) -> list[str]:
    problems: list[str] = []
    for id, task in tasks.items():
        found = questions.tools(task["id"], limit=0)["items"]
        wanted = [entry for entry in truth["tool_calls"] if entry["task_id"] == id]
        if len(found) != len(wanted):
            problems.append(f"{id}: {len(found)} tool calls, not {len(wanted)}")
        by_id = {(tool["call_id"], tool["occurrence"]): tool for tool in found}
        for entry in wanted:
            tool = by_id.get((entry["call_id"], entry["occurrence"]))
            problems += one_tool(tool, entry, tasks) if tool else [f"{id}: no tool call {entry['call_id']}"]
    return problems


def one_tool(found: Entry, truth: Entry, tasks: dict[str, Entry]) -> list[str]:
    child = truth["child_task_id"]
    told = {name: found[name] for name in ("name", "args", "phases", "type", "status", "duration_ms", "result_source", "agent_name", "synthetic", "spawned")}
    right = {**{name: truth[name] for name in told if name != "spawned"}, "spawned": [tasks[child]["id"]] if child else []}
    problems = compare(truth["call_id"], told, right)
    if (found["result"] is not None) != truth["has_result"]:
        problems.append(f"{truth['call_id']}: a result is {'there' if found['result'] else 'missing'}")
    for name, wanted in (("timestamp", "decided_at"), ("started", "started_at"), ("closed", "result_at")):
        if not same_moment(found[name], truth[wanted]):
            problems.append(f"{truth['call_id']}: {name} {found[name]}, not {truth[wanted]}")
    return problems


def reasoning(questions: Questions, truth: Entry, tasks: dict[str, Entry]) -> list[str]:
    problems: list[str] = []
    for entry in truth["reasoning"]:
        blocks = questions.reasoning(tasks[entry["task_id"]]["id"], limit=0)["items"]
        for kind in ("thinking", "explanation", "progress"):
            texts = [block["text"] for block in blocks if block["kind"] == kind]
            if texts != entry[kind]:
                problems.append(f"{entry['task_id']}: {kind} {texts}, not {entry[kind]}")
        contexts = [block for block in blocks if block["kind"] == "context"]
        if len(contexts) != entry["contexts"]:
            problems.append(f"{entry['task_id']}: {len(contexts)} contexts, not {entry['contexts']}")
        if any(not block["conversation_history"] for block in contexts):
            problems.append(f"{entry['task_id']}: a context without its history")
    return problems


def totals(questions: Questions, truth: Entry, tasks: dict[str, Entry]) -> list[str]:
    root = tasks.get(truth["root_task_id"])
    if root is None:
        return ["no root"]
    shown = questions.task(root["id"])
    usage = shown["tree_usage"]
    every = questions.tools(root["id"], tree=True, limit=0)["items"]
    told = {
        "tasks": len(tasks), "subtasks": len(questions.subtasks(root["id"], tree=True, limit=0)["items"]),
        "tool_calls": len(every), "model_calls": usage["calls"], "input_tokens": usage["input"],
        "output_tokens": usage["output"],
    }  # fmt: skip
    problems = compare("totals", told, {name: truth["totals"][name] for name in told})
    conversations = questions.conversations()["items"]
    refs = [[ref["value"] for ref in one["refs"]] for one in conversations]
    if refs != [[truth["context_id"]]]:
        problems.append(f"conversations {refs}, not {truth['context_id']}")
    if shown["native"].get("final_text") != truth["final_text"]:
        problems.append(f"last words {shown['native'].get('final_text')!r}")
    return problems


def flow(found: Entry, truth: Entry) -> list[str]:
    """One line of time over a whole run: everything once, nothing out of order."""
    kinds = [event["kind"] for event in found["events"]]
    names = ("request", "end", "subtask", "tool_call", "model_call", "cancel_request", "thinking")
    totals = truth["totals"]
    right = {
        "request": totals["tasks"], "end": totals["tasks"], "subtask": totals["subtasks"], "tool_call": totals["tool_calls"],
        "model_call": totals["model_calls"], "cancel_request": len(truth["cancel_requests"]),
        "thinking": sum(len(entry["thinking"]) for entry in truth["reasoning"]), "final_text": truth["final_text"],
    }  # fmt: skip
    problems = compare("flow", {**{name: kinds.count(name) for name in names}, "final_text": found["final_text"]}, right)
    stamps = [event["timestamp"] for event in found["events"]]
    return problems if stamps == sorted(stamps) else [*problems, "flow: not by time"]
