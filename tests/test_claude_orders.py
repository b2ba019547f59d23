"""Recorded runs of the real client in random orders, from random sources, in pieces: always the same rows."""

import json
import os
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from ramify.ingest import Ingest, Prices
from ramify.linking.world import Rules
from ramify.model.observation import Observation, Record, Request, Response
from ramify.rebuild import rebuild
from ramify.storage.sqlite import open_sqlite
from tests import story

READ = ("exchanges", "transcripts", "stream-json", "hooks", "sdk")
FOLDERS = sorted(path for name in ("claude", "claude_more") for path in (story.CASES / name).glob("*/"))
EXAMPLES = int(os.environ.get("RAMIFY_EXAMPLES", "12"))
relaxed = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
chances = st.randoms(use_true_random=False)
sizes = st.integers(1, 50)
Way = tuple[Path, tuple[str, ...]]


@lru_cache
def sources_of(folder: Path) -> list[str]:
    """Hooks have no part in what is expected; what they tell must come out the same all the same."""
    named = json.loads((folder / "expected.json").read_text())["sources"]
    heard = ["hooks"] if (folder / "hooks.jsonl").exists() else []
    return [source for source in READ if source in (*named, *heard)]


@st.composite
def ways(draw: st.DrawFn) -> Way:
    """A run, and the sources that somebody has of it."""
    folder = draw(st.sampled_from(FOLDERS))
    return folder, tuple(draw(st.lists(st.sampled_from(sources_of(folder)), min_size=1, unique=True)))


def seen_in(way: Way) -> list[Observation]:
    folder, sources = way
    return [one for source in sorted(sources) for told in story.reports(folder, source) for one in told]


@lru_cache(512)
def natural(way: Way) -> dict[str, dict[str, Any]]:
    return story.rows(story.told([tuple(seen_in(way))])[0])


def differences(way: Way, seen: list[Observation], size: int) -> list[str]:
    store, _ = story.told([tuple(seen)], size)
    return story.row_differences(natural((way[0], tuple(sorted(way[1])))), story.rows(store))


@relaxed
@given(ways(), chances, sizes)
def test_any_order_any_batch_and_anything_twice_give_the_same_rows(way: Way, chance: Random, size: int) -> None:
    mixed = seen_in(way)
    mixed += chance.sample(mixed, len(mixed) // 2)
    chance.shuffle(mixed)
    assert differences(way, mixed, size) == []


@relaxed
@given(ways(), st.floats(0, 1), sizes)
def test_files_that_were_cut_and_are_read_to_their_end_later_are_as_if_whole(way: Way, part: float, size: int) -> None:
    told = [list(seen_in((way[0], (source,)))) for source in way[1]]
    begun = [one for seen in told for one in seen[: int(len(seen) * part)]]
    rest = [one for seen in told for one in seen[int(len(seen) * part) :]]
    assert differences(way, [*begun, *rest], size) == []


@relaxed
@given(ways(), chances, sizes)
def test_what_is_remembered_between_batches_decides_nothing(way: Way, chance: Random, size: int) -> None:
    mixed, store = seen_in(way), open_sqlite("memory:")
    chance.shuffle(mixed)
    for start in range(0, len(mixed), size):
        Ingest(store).step(mixed[start : start + size])
    assert story.row_differences(natural((way[0], tuple(sorted(way[1])))), story.rows(store)) == []


@relaxed
@given(ways(), chances, sizes)
def test_deriving_everything_again_moves_nothing(way: Way, chance: Random, size: int) -> None:
    mixed = seen_in(way)
    chance.shuffle(mixed)
    store, _ = story.told([tuple(mixed)], size)
    assert rebuild(store, Rules(), Prices(), False, lambda done, all: None)["moved"] == []


def anonymous(seen: Observation) -> Observation:
    """As it arrives behind a gateway that takes off what it does not know."""
    asked = json.loads(seen.body) if isinstance(seen, Request) else None
    if not isinstance(seen, Request) or not asked:
        return seen
    body = {name: value for name, value in asked.items() if name != "metadata"}
    headers = tuple((name, value) for name, value in seen.headers if not name.lower().startswith("x-claude-code-"))
    return structs.replace(seen, headers=headers, body=json.dumps(body).encode())


def cut(seen: Observation, chance: Random) -> Observation:
    """As a recorder has it that went away in the middle of an answer."""
    if not isinstance(seen, Response) or not seen.body:
        return seen
    return structs.replace(seen, body=seen.body[: chance.randrange(len(seen.body))], outcome=chance.choice(("aborted", "complete")))


@pytest.mark.parametrize("seed", range(EXAMPLES * 3))
def test_answers_that_were_cut_on_the_wire_come_out_the_same_in_any_order(seed: int) -> None:
    chance = Random(seed)
    folder = chance.choice([path for path in FOLDERS if len(sources_of(path)) > 1])
    sources = {"exchanges", *(source for source in sources_of(folder) if chance.random() < 0.6)}
    left = [cut(one, chance) if chance.random() < 0.4 else one for one in seen_in((folder, tuple(sorted(sources)))) if chance.random() < 0.9]
    same_in_any_order(left, chance)


@pytest.mark.parametrize("seed", range(EXAMPLES * 3))
def test_requests_that_lost_their_session_come_out_the_same_in_any_order(seed: int) -> None:
    chance = Random(seed)
    folder = chance.choice([path for path in FOLDERS if len(sources_of(path)) > 1])
    sources = {"exchanges", *(source for source in sources_of(folder) if chance.random() < 0.6)}
    kept, lost = chance.choice((0.5, 0.8, 1)), chance.choice((0.3, 1))
    left = [anonymous(one) if chance.random() < lost else one for one in seen_in((folder, tuple(sorted(sources)))) if chance.random() < kept]
    same_in_any_order(left, chance)


def test_a_cut_answer_that_a_copying_session_tells_too_keeps_its_tool_calls_in_any_order() -> None:
    """Where two files tell of one answer, the one whose session the request names is the original."""
    folder = next(path for path in FOLDERS if path.name == "fork-session")
    request, answer = next(one for one in story.reports(folder, "exchanges") if any(b"message_start" in seen.body for seen in one if isinstance(seen, Response)))
    assert isinstance(answer, Response)
    message = answer.body.split(b'"id":"', 1)[1].split(b'"', 1)[0]
    told = [one for one in seen_in((folder, ("transcripts",))) if isinstance(one, Record) and message in one.body and b'"tool_use","id"' in one.body]
    for seed in range(20):
        same_in_any_order([request, structs.replace(answer, body=answer.body[:1900], outcome="aborted"), *told], Random(seed))


def same_in_any_order(left: list[Observation], chance: Random) -> None:
    mixed = left + chance.sample(left, len(left) // 3)
    chance.shuffle(mixed)
    found, _ = story.told([tuple(mixed)], chance.randint(1, 50))
    assert story.row_differences(story.rows(story.told([tuple(left)])[0]), story.rows(found)) == []


@pytest.mark.parametrize("seed", range(EXAMPLES * 3))
def test_what_is_left_of_a_run_comes_out_the_same_in_any_order(seed: int) -> None:
    """A server that was started late, or went away, has some of a run; it is never told what it lacks."""
    chance = Random(seed)
    folder = chance.choice(FOLDERS)
    sources = [source for source in sources_of(folder) if chance.random() < 0.6] or sources_of(folder)[:1]
    kept = chance.choice((0.3, 0.5, 0.8, 0.95))
    left = [one for one in seen_in((folder, tuple(sorted(sources)))) if chance.random() < kept]
    same_in_any_order(left, chance)
