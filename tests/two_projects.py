"""Two projects with the same stories: the same sessions, tool calls, prompts, tasks, traces and times, in one store or each in its own."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path

from msgspec.structs import replace

from ramify.app import Ramify
from ramify.ingest import Ingest
from ramify.model.observation import Observation
from ramify.storage.base import Store
from ramify.storage.sqlite import open_sqlite

CASES = Path(__file__).parent / "cases"
STORIES = (
    "anthropic/subtask-three-parallel", "anthropic/compact-2.0", "anthropic/fork-three-ways", "anthropic/retry-after-529",
    "claude/nested", "claude/otel", "a2a/v1-depth2-fanout2", "sam/parallel", "sam/workflow", "events/async_fanout", "events/collision",
)  # fmt: skip
ALPHA, BRAVO = "alpha", "bravo"
CANARY = "zqbravo"
WORD = re.compile(rb"\b(the|The|hello|Hello|report|count|Count)\b")


@cache
def log_of(project: str, stories: tuple[str, ...] = STORIES) -> tuple[Observation, ...]:
    """As whoever imports them into that project has them."""
    ramify = Ramify.open("memory:", project=project)
    try:
        for story in stories:
            ramify.import_paths([CASES / story], "auto", lambda done, total: None)
        return tuple(seen for _, seen in ramify.store.observations())
    finally:
        ramify.close()


@cache
def marked_log(project: str, word: str, stories: tuple[str, ...] = STORIES) -> tuple[Observation, ...]:
    """With a word of its own in what was said."""
    mark = word.encode()
    return tuple(
        replace(seen, body=WORD.sub(rb"\1" + mark, seen.body)) if hasattr(seen, "body") else seen for seen in log_of(project, stories)
    )


def interleaved(*logs: Sequence[Observation]) -> list[Observation]:
    return [seen for together in zip_longest(*logs) for seen in together if seen is not None]


def told(*logs: Sequence[Observation], store: Store | None = None, size: int = 7) -> Store:
    store = store or open_sqlite("memory:")
    seen = interleaved(*logs)
    ingest = Ingest(store)
    for start in range(0, len(seen), size):
        ingest.step(seen[start : start + size])
    return store
