"""Tasks that paid for tokens which the prompt cache had held a call before."""

from collections.abc import Iterator

from ramify.model.entity import Call
from ramify.query.cache import price_of
from ramify.query.lints.check import Check, Found
from ramify.query.lints.run import Run
from ramify.query.lints.words import dollars

LEAST = 0.05  # dollars, below which nobody would change anything
SHOWN = 10


def find(run: Run) -> Iterator[Found]:
    every = {call.id: call for calls in run.calls.values() for call in calls}
    for task in run.tasks:
        missed = [(lost, paid, call) for call in run.calls.get(task.id, ()) if (lost := missing(call, every)) and (paid := price_of(call, lost, run.price))]
        total = sum(paid for _, paid, _ in missed)
        if total >= LEAST:
            worst = sorted(missed, key=lambda one: -one[1])
            tokens = sum(lost for lost, _, _ in missed)
            text = f"{dollars(total)} for {tokens:,} tokens that the cache had held; the dearest of {len(missed)} misses cost {dollars(worst[0][1])}"
            evidence = tuple(call.id for _, _, call in worst[:SHOWN])
            yield Found(task, text, min(call.started for _, _, call in missed), evidence, {"lost_usd": total, "lost_tokens": tokens, "calls": len(missed)})


def missing(call: Call, every: dict[str, Call]) -> int:
    """Tokens that the call before had in the cache, and this one did not read from there."""
    earlier = every.get(call.parent)
    if earlier is None or call.status != "ok" or call.utility or call.attempt_of:
        return 0
    return max(earlier.usage.cache_read + earlier.usage.cache_write - call.usage.cache_read, 0)


CHECK = Check(
    "cache-miss", "warning", f"a task paid at least {dollars(LEAST)} for tokens that the prompt cache had held a call before",
    "the cache view of the task shows the first difference: a date, an order of tools, or too long a wait", find,
)  # fmt: skip
