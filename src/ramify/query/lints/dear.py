"""Sub-agents that cost more than what came back from them seems worth."""

from collections.abc import Iterator

from ramify.model.share import agent_of
from ramify.query.lints.check import Check, Found
from ramify.query.lints.run import Run
from ramify.query.lints.words import dollars

LEAST = 0.10  # dollars, with everything under it
SHORT = 50  # tokens of the last answer, which is the result


def find(run: Run) -> Iterator[Found]:
    for task in run.tasks:
        cost = run.spent[task.id].cost_usd
        if task.kind != "sub" or run.status[task.id] != "completed" or cost is None or cost < LEAST:
            continue
        last = next((call for call in reversed(run.calls.get(task.id, ())) if call.status == "ok" and not call.utility), None)
        if last is not None and 0 < last.usage.output <= SHORT:
            text = f"{agent_of(task)} cost {dollars(cost)} for a result of {last.usage.output} tokens"
            yield Found(task, text, task.opened, (task.id, last.id), {"cost_usd": cost, "result_tokens": last.usage.output})


CHECK = Check(
    "dear-subagent", "note", f"a sub-agent cost at least {dollars(LEAST)} and came back with no more than {SHORT} tokens",
    "ask the parent to look itself, give the sub-agent a smaller model, or ask it for more", find,
)  # fmt: skip
