"""Captured runs of the real client from each source alone and from all together, in any order: one tree, one sum."""

import json
from itertools import permutations
from pathlib import Path

import pytest

from ramify.indexing import Indexer
from ramify.ingest import Prices
from ramify.linking.world import Rules
from ramify.rebuild import rebuild
from tests import story
from tests.claude_verdicts import differences

FOLDERS = [folder for name in ("claude", "claude_more") for folder in sorted((story.CASES / name).glob("*/"))]
READ = ("exchanges", "transcripts", "stream-json")


def sources_of(folder: Path) -> list[str]:
    named = json.loads((folder / "expected.json").read_text())["sources"]
    return [source for source in named if source in READ]


def orders(folder: Path) -> list[tuple[str, tuple[str, ...]]]:
    sources = sources_of(folder)
    return [(source, (source,)) for source in sources] + [("all", order) for order in permutations(sources)]


ORDERS = [(folder, name, order) for folder in FOLDERS for name, order in orders(folder)]


@pytest.mark.parametrize(("folder", "name", "order"), ORDERS, ids=lambda part: getattr(part, "name", None) or str(part))
def test_each_source_and_all_together(folder: Path, name: str, order: tuple[str, ...]) -> None:
    truth = json.loads((folder / "expected.json").read_text())
    seen = [one for source in order for one in story.reports(folder, source)]
    _, questions = story.told(seen)
    assert differences(questions, truth, name) == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_any_order_and_everything_twice_give_the_same_rows(folder: Path, seed: int) -> None:
    seen = [one for source in sources_of(folder) for one in story.reports(folder, source)]
    known, _ = story.told(seen)
    mixed, _ = story.told(story.shuffled([*seen, *seen], seed))
    assert story.row_differences(story.rows(known), story.rows(mixed)) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_deriving_everything_again_moves_nothing(folder: Path) -> None:
    seen = [one for source in sources_of(folder) for one in story.reports(folder, source)]
    store, _ = story.told(story.shuffled(seen, 1))
    assert rebuild(store, Rules(), Prices(), False, lambda done, all: None)["moved"] == []


def test_words_of_transcripts_are_found_and_those_that_the_wire_shows_are_found_once() -> None:
    folder = story.CASES / "claude" / "nested"
    alone, questions = story.told(story.reports(folder, "transcripts"))
    Indexer(alone).catch_up()
    hits = questions.search("Grandchild report")["items"]
    assert sorted((hit["kind"], hit["snippet"][:18]) for hit in hits if hit["kind"] == "text")[-1] == ("text", "Grandchild report.")
    both, together = story.told([*story.reports(folder, "transcripts"), *story.reports(folder, "exchanges")])
    Indexer(both).catch_up()
    assert len(together.search("Grandchild report")["items"]) == len(hits)
