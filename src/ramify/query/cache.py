"""Where the prompt of a call first differs from its predecessor's, and what was paid for that.

The cache knows prompts by their beginning: tools, then system, then messages. Marks for the cache move and mean
nothing themselves, so they are left out of the comparison.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from ramify.model.entity import Call
from ramify.model.observation import Request
from ramify.model.prices import PRICES, Tokens, price
from ramify.protocols.anthropic.normal import without_marks
from ramify.protocols.anthropic.wire import Envelope
from ramify.protocols.model_api import envelope_of
from ramify.query.resolve import resolve
from ramify.storage.base import Ask, Store

BEFORE, AFTER = 40, 120
LIFETIME = 300_000_000  # microseconds that an entry lives when it is not used
DIGITS = re.compile(r"[0-9a-f-]+")


class Segment(NamedTuple):
    name: str
    text: str


Pricer = Callable[[str, int, Tokens], int | None]
"""From a model, a moment and tokens to billionths of a dollar; None where the price is not known."""


def list_price(model: str, at: int, tokens: Tokens) -> int | None:
    return price(model, at, tokens, PRICES)


def cache_story(store: Store, id: str, most: int, pricer: Pricer = list_price) -> list[dict[str, Any]]:
    """One entry for each of the newest calls of a task, oldest first; attempts and helper calls are left aside."""
    task = resolve(store, id, ("tasks",))[1].id
    rows = store.page("calls", Ask("started", {"task": task}, most, without={"kind": "twin"}))
    calls = [row for row in reversed(rows) if isinstance(row, Call) and not row.utility and not row.attempt_of]
    return told_of(store, calls, pricer)


def told_of(store: Store, calls: list[Call], pricer: Pricer) -> list[dict[str, Any]]:
    prompts: dict[str, list[Segment]] = {}
    parents = store.among("calls", "id", [call.parent for call in calls if call.parent])
    by_id = {call.id: call for call in parents if isinstance(call, Call)}
    told = []
    for call in calls:
        earlier = by_id.get(call.parent)
        if earlier and earlier.id not in prompts:
            prompts[earlier.id] = segments(store, earlier)
        prompts[call.id] = segments(store, call)
        told.append(entry(call, earlier, prompts.get(earlier.id, []) if earlier else [], prompts[call.id]))
        told[-1]["lost_usd"] = price_of(call, told[-1]["lost"], pricer)
    return told


def segments(store: Store, call: Call) -> list[Segment]:
    seen = store.observation(call.request)
    envelope = envelope_of(seen) if isinstance(seen, Request) else ""
    if not isinstance(envelope, Envelope):
        return []
    parts = [*listed("tool", envelope.tools), *listed("system", envelope.system)]
    return [*parts, *(Segment(f"message {at + 1}", plain(raw)) for at, raw in enumerate(envelope.messages))]


def listed(name: str, raw: bytes) -> list[Segment]:
    value = decoded(raw)
    items = value if isinstance(value, list) else [] if value is None else [value]
    return [Segment(f"{name} {at + 1}", encoded(item)) for at, item in enumerate(items)]


def plain(raw: bytes) -> str:
    return encoded(decoded(raw))


def decoded(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return bytes(raw).decode("utf-8", "replace")


def encoded(value: Any) -> str:
    return msgspec.json.encode(without_marks(value)).decode()


def entry(call: Call, earlier: Call | None, before: list[Segment], after: list[Segment]) -> dict[str, Any]:
    same = common(before, after)
    held = earlier.usage.cache_read + earlier.usage.cache_write if earlier else 0
    lost = max(held - call.usage.cache_read, 0) if call.status == "ok" else 0
    return {
        "call": call.id,
        "before": earlier.id if earlier else None,
        "segments": len(after),
        "same": same,
        "difference": difference(before, after, same) if earlier and same < len(before) else None,
        "held": held,
        "lost": lost,
        "cause": cause(call, earlier, before, after) if lost and earlier else None,
    }


def common(before: list[Segment], after: list[Segment]) -> int:
    pairs = zip(before, after, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(before), len(after)))


def difference(before: list[Segment], after: list[Segment], at: int) -> dict[str, Any]:
    old, new = before[at], after[at] if at < len(after) else Segment("end", "")
    pairs = zip(old.text, new.text, strict=False)
    place = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(old.text), len(new.text)))
    start = max(place - BEFORE, 0)
    return {
        "segment": old.name, "instead": new.name, "at": place,
        "old": old.text[start : place + AFTER], "new": new.text[start : place + AFTER], "shown_from": start,
    }  # fmt: skip


def without_numbers(text: str) -> str:
    return DIGITS.sub(lambda found: "0" if any(map(str.isdigit, found[0])) else found[0], text)


def cause(call: Call, earlier: Call, before: list[Segment], after: list[Segment]) -> str:
    """The likeliest reason, in words of the cache's own rules; "unknown" where none of them explains it."""
    if call.model != earlier.model:
        return "model changed"
    same = common(before, after)
    if same < len(before):
        old, new = before[same], after[same] if same < len(after) else Segment("end", "")
        kind = old.name.partition(" ")[0]
        if without_numbers(old.text) == without_numbers(new.text):
            return f"date or id in {kind}"
        if kind == "tool" and sorted(segment.text for segment in tools(before)) == sorted(segment.text for segment in tools(after)):
            return "tool order"
        return "reminder block" if "<system-reminder>" in old.text + new.text else f"{kind} changed"
    return "lifetime passed" if call.started - (earlier.ended or earlier.started) > LIFETIME else "unknown"


def tools(prompt: list[Segment]) -> list[Segment]:
    return [segment for segment in prompt if segment.name.startswith("tool ")]


def price_of(call: Call, lost: int, pricer: Pricer) -> float | None:
    """What reading these tokens anew cost more than reading them from the cache: of the whole prompt, since its size
    may decide the price."""
    usage = call.usage
    rest = usage.input + usage.cache_read + usage.cache_write - lost
    anew = Tokens(rest, write_5m=lost) if usage.cache_write else Tokens(rest + lost)
    paid = pricer(call.model, call.started, anew)
    cached = pricer(call.model, call.started, Tokens(rest, cache_read=lost))
    return None if paid is None or cached is None else (paid - cached) / 1e9
