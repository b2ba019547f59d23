"""What an agent asks about itself: what it has spent, whether it goes round in circles, what its children did."""

from collections import Counter
from typing import Any

import msgspec

from ramify.mcp.caller import Caller
from ramify.model.entity import Task
from ramify.query.flags import LOOPING
from ramify.query.service import Questions

Answer = dict[str, Any]
LAST_TOOLS = 200  # of a task, looked through for what repeats
LAST_WORDS = 2_000


def you(asks: Caller, shape: Answer) -> Answer:
    return {"task": asks.task.id, "title": shape["title"], "agent": shape["agent_type"] or shape["agent"], "status": shape["status"], "known_by": asks.known_by}


def spent_so_far(questions: Questions, asks: Caller) -> Answer:
    shape = questions.task(asks.task.id)
    root = questions.task(shape["root"]) if shape["root"] != asks.task.id else shape
    answer = {
        "you": you(asks, shape),
        "own": shape["usage"],
        "with_everything_under_it": shape["tree_usage"],
        "whole_run": root["tree_usage"],
        "by_model": questions.usage(shape["root"])["models"],
        "opened": shape["opened"],
        "note": "Calls count once they are answered: the one that asks this is among them, what follows is not.",
    }
    if root["tree_usage"]["cost_usd"] is None:
        answer["cost_note"] = "The cost is not known: at least one call has no price."
    return answer


def am_i_looping(questions: Questions, asks: Caller, tool: str) -> Answer:
    """By the rule that marks tasks, and the calls themselves: the question is not counted."""
    shape = questions.task(asks.task.id)
    calls = [one for one in _last_tools(questions, asks.task) if not str(one["name"] or "").endswith(f"__{tool}")]
    run, last = _run_at_end(calls)
    often = [(json, times) for json, times in Counter(map(_what, calls)).most_common(5) if times > 1]
    looping = "looping" in shape["flags"] or run >= LOOPING
    return {
        "you": you(asks, shape),
        "looping": looping,
        "same_call_in_a_row_now": run,
        "longest_row_so_far": max(asks.task.loops, run),
        "threshold": LOOPING,
        "last": {"name": last["name"], "args": last["args"], "status": last["status"]} if last else None,
        "repeated": [{"call": msgspec.json.decode(json), "times": times} for json, times in often],
        "looked_at": len(calls),
        "note": "The same tool with the same input, again and again: try another way, or say that you are stuck." if looping else
                "No tool was called with the same input often enough in a row.",
    }


def _last_tools(questions: Questions, task: Task) -> list[Answer]:
    items: list[Answer] = []
    cursor: str | None = None
    while True:
        answer = questions.tools(task.id, limit=1000, cursor=cursor)
        items = (items + answer["items"])[-LAST_TOOLS:]
        cursor = answer["next"]
        if cursor is None:
            return items


def _what(tool: Answer) -> bytes:
    return msgspec.json.encode({"name": tool["name"], "args": tool["args"]}, order="sorted")


def _run_at_end(calls: list[Answer]) -> tuple[int, Answer | None]:
    if not calls:
        return 0, None
    last = _what(calls[-1])
    run = next((at for at, one in enumerate(reversed(calls)) if _what(one) != last), len(calls))
    return run, calls[-1]


def children(questions: Questions, asks: Caller, child: str | None, limit: int, cursor: str | None) -> Answer:
    shape = questions.task(asks.task.id)
    if child is not None:
        return {"you": you(asks, shape), "children": [what_it_did(questions, questions.task(child))]}
    found = questions.subtasks(asks.task.id, limit=limit, cursor=cursor)
    return {
        "you": you(asks, shape),
        "children": [what_it_did(questions, one) for one in found["items"]],
        "next": found["next"],
        "note": None if found["items"] else "This task has given no sub-task that was seen.",
    }


def what_it_did(questions: Questions, task: Answer) -> Answer:
    tools = questions.tools(task["id"], limit=1000)["items"]
    kept = ("id", "title", "agent", "agent_type", "status", "flags", "opened", "closed", "duration_ms", "subtasks")
    return {
        **{name: task[name] for name in kept},
        "link": {"rule": task["link"]["rule"], "certainty": task["link"]["certainty"]} if task["link"] else None,
        "tree_usage": task["tree_usage"],
        "tools_used": dict(Counter(one["name"] or "?" for one in tools).most_common(20)),
        "tool_errors": sum(one["status"] == "error" for one in tools),
        "last_words": last_words(questions, task["id"]),
    }


def last_words(questions: Questions, id: str) -> str | None:
    """The last text that the agent itself wrote."""
    said = [message for message in questions.messages(id, limit=0)["items"] if message["role"] in ("assistant", "agent")]
    for message in reversed(said):
        texts = [block.get("text") for block in message["blocks"] or () if isinstance(block, dict) and isinstance(block.get("text"), str)]
        if text := "\n".join(filter(None, texts)).strip():
            return text if len(text) <= LAST_WORDS else f"{text[:LAST_WORDS]}… [{len(text) - LAST_WORDS} more characters]"
    return None
