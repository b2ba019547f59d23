"""How many tokens a run used, as each source can know it."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from ramify.demo.wire import Json
from tests.peers.recording.api import Kept
from tests.peers.recording.tree import Tree
from tests.peers.recording.world import World

NAMES = {
    "input": ("input_tokens", "inputTokens"),
    "output": ("output_tokens", "outputTokens"),
    "cache_read": ("cache_read_input_tokens", "cacheReadInputTokens"),
    "cache_write": ("cache_creation_input_tokens", "cacheCreationInputTokens"),
}


def figures(kept: Kept) -> dict[str, int]:
    """What the API said of one call: nothing of a refused one, one token of an answer that was cut."""
    if kept.reply is None or kept.status != 200 or not kept.events:
        return dict.fromkeys(NAMES, 0)
    told = {name: kept.reply.usage.get(words[0], 0) for name, words in NAMES.items()}
    return told | ({"output": 1} if kept.aborted else {})


def totals(tree: Tree, sources: Iterable[str]) -> dict[str, list[dict[str, int]]]:
    """Accepted figures. The client does not count an answer that a person stopped; the API did count it."""
    kept = tree.world.api.kept
    wire = summed(figures(one) for one in kept)
    finished = summed(figures(one) for one in kept if not one.aborted)
    accepted = {
        "exchanges": [wire],
        "transcripts": [noted(tree), finished, wire],
        "stream-json": [reported(tree.world), finished, wire],
        "sdk": [finished, wire],
        "all": [wire],
    }
    return {name: unique(values) for name, values in accepted.items() if name == "all" or name in set(sources)}


def noted(tree: Tree) -> dict[str, int]:
    """Every answer once, with the figures of its line. Helpers have no lines."""
    found = {
        line["message"]["id"]: plain(line["message"]["usage"], 0)
        for _, line in tree.files.lines
        if line["type"] == "assistant" and line["message"]["id"].startswith("msg_")
    }
    return summed(found.values())


def reported(world: World) -> dict[str, int]:
    """What the results say: since the last one each, where they say so; else the last one of each process."""
    found: list[Json] = []
    for start, end in pairwise([*world.starts, len(world.lines)]):
        results = [line for line in world.lines[start:end] if line["type"] == "result"]
        since = [line["model_usage_since_last_result"] for line in results if "model_usage_since_last_result" in line]
        found += [one for usage in since or [line["modelUsage"] for line in results[-1:]] for one in usage.values()]
    return summed(plain(one, 1) for one in found)


def plain(usage: Json, spelling: int) -> dict[str, int]:
    return {name: usage.get(words[spelling], 0) for name, words in NAMES.items()}


def summed(usages: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter(dict.fromkeys(NAMES, 0))
    for usage in usages:
        total.update(usage)
    return dict(total)


def unique(values: Iterable[dict[str, int]]) -> list[dict[str, int]]:
    """Without the empty ones, which say that a source says nothing; unless nothing was used."""
    found = list(dict.fromkeys(tuple(value.items()) for value in values))
    return [dict(items) for items in found if any(count for _, count in items)] or [dict(items) for items in found]
