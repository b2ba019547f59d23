"""What is asked of a store that `bench.scale` has filled: about single sessions all over it, and about all of it."""

import random
from collections.abc import Callable
from typing import Any

from ramify.query.service import Questions

Question = Callable[[int], Any]


def asked(ask: Questions, sessions: int, times: int) -> dict[str, Question]:
    """Each is asked `times` times, each time about another session."""
    source = random.Random(times)
    numbers = [source.randrange(sessions) for _ in range(times)]
    chosen = [found_by(ask, number) for number in numbers]
    tools = [ask.tools(task, limit=8)["items"][source.randrange(8)]["call_id"] for task in chosen]
    calls = [ask.calls_of(task, limit=0)["items"][-1]["id"] for task in chosen]
    return {
        "tree of a session": lambda at: ask.tree(chosen[at]),
        "tool call with input and result": lambda at: ask.tool(tools[at]),
        "its tool calls, with inputs and results": lambda at: ask.tools(chosen[at]),
        "its messages, 50 of them": lambda at: ask.messages(chosen[at]),
        "one whole request": lambda at: ask.body(calls[at], "request"),
        "newest 50 conversations": lambda at: ask.conversations(),
        "newest 50 tasks": lambda at: ask.tasks(),
        "newest 50 calls": lambda at: ask.calls(),
        "tasks agent:Explore": lambda at: ask.tasks(filter="agent:Explore"),
        "calls status:error (never)": lambda at: ask.calls(filter="status:error"),
        "search, a word of one session": lambda at: ask.search(f"needle{numbers[at]}"),
        "search, a word of all": lambda at: ask.search("look"),
        "stats": lambda at: ask.stats(),
    }


def found_by(ask: Questions, number: int) -> str:
    """The root of a session, by the one word that it alone says."""
    return str(ask.search(f"needle{number}", limit=1)["items"][0]["task"])
