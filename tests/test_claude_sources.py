"""Captured runs of the real client from each source alone and from all together, in any order: one tree, one sum."""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from ramify.app import Ramify
from ramify.indexing import Indexer
from ramify.ingest import Prices
from ramify.linking.world import Rules
from ramify.model.observation import Observation, Record, Response
from ramify.rebuild import rebuild
from tests import story
from tests.claude_verdicts import differences
from tests.test_claude_orders import anonymous

FOLDERS = sorted((story.CASES / "claude").glob("*/"))
MORE = sorted((story.CASES / "claude_more").glob("*/"))
READ = ("exchanges", "transcripts", "stream-json", "otlp")


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


@pytest.mark.parametrize("outcome", ["aborted", "complete"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_answers_that_were_cut_on_the_wire_are_told_by_the_transcripts(folder: Path, outcome: str) -> None:
    """A recorder that went away in the middle of them has less than the client had."""
    truth = json.loads((folder / "expected.json").read_text())
    wire = [tuple(_cut(one, outcome) for one in seen) for seen in story.reports(folder, "exchanges")]
    _, questions = story.told([*wire, *story.reports(folder, "transcripts")])
    assert differences(questions, truth, "all") == []


def _cut(seen: Observation, outcome: Any) -> Observation:
    if not isinstance(seen, Response) or b"message_start" not in seen.body:
        return seen
    return structs.replace(seen, body=seen.body[: max(600, len(seen.body) // 3)], outcome=outcome)


@pytest.mark.parametrize("wire_first", [True, False])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_requests_that_name_no_session_are_of_the_session_that_reports_them(folder: Path, wire_first: bool) -> None:
    """A gateway between the client and us may take off all that it does not know."""
    truth = json.loads((folder / "expected.json").read_text())
    wire = [tuple(anonymous(one) for one in seen) for seen in story.reports(folder, "exchanges")]
    told = story.reports(folder, "transcripts")
    _, questions = story.told([*wire, *told] if wire_first else [*told, *wire])
    assert differences(questions, truth, "all") == []


# What one source of an old client does not tell, or tells in a way that is read wrongly: known, and not hidden.
GAPS: dict[tuple[str, str], str] = {
    ("2.0.26-agent-529", "transcripts"): "a failed agent's result looks like an answer",
    ("2.0.26-interrupted-agent", "all"): "the agent's interrupted result is told by the stream alone",
    ("2.0.42-agent-529", "stream-json"): "the stream says nothing of an agent that never answered",
}


def more() -> list[Any]:
    found = []
    for folder in MORE:
        sources = sources_of(folder)
        ways = [(source, (source,)) for source in sources] + [("all", tuple(sources)), ("all", tuple(reversed(sources)))]
        for name, order in ways:
            gap = GAPS.get((folder.name, name))
            marks = [pytest.mark.xfail(reason=gap, strict=True)] if gap else []
            found.append(pytest.param(folder, name, order, marks=marks, id=f"{folder.name}-{'+'.join(order)}"))
    return found


@pytest.mark.parametrize(("folder", "name", "order"), more())
def test_every_generation_of_the_client_and_every_way_it_can_go(folder: Path, name: str, order: tuple[str, ...]) -> None:
    truth = json.loads((folder / "expected.json").read_text())
    seen = [one for source in order for one in story.reports(folder, source)]
    _, questions = story.told(seen, 50)
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


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize("case", ["2.0.26-twins", "2.0.26-parallel", "2.0.26-compact", "2.0.26-fork-session"])
def test_a_side_line_and_what_was_printed_inside_its_call_are_one_task(case: str, seed: int | None) -> None:
    """The oldest clients name no agent: a file has all of a side line, the stream says by which call some of it came."""
    folder = story.CASES / "claude_more" / case
    truth = json.loads((folder / "expected.json").read_text())
    seen = [*story.reports(folder, "transcripts"), *story.reports(folder, "stream-json")]
    natural, _ = story.told(seen)
    store, questions = story.told(seen if seed is None else story.shuffled([*seen, *seen], seed), 1 + (seed or 0))
    assert story.row_differences(story.rows(natural), story.rows(store)) == []
    wanted = {task["spawned_by"]: task for task in truth["tasks"] if task["kind"] == "sub-agent"}
    agents = {task["link"]["via"]: task for task in questions.tasks(limit=0)["items"] if task["link"]}
    assert agents.keys() == wanted.keys()
    for via, task in agents.items():
        assert (task["link"]["rule"], task["link"]["certainty"]) == ("parent_tool_use_id", 1.0)
        assert (task["branch"], task["status"]) == (wanted[via]["branch"], "completed")
        said = [block for message in questions.messages(task["id"])["items"] for block in message["blocks"]]
        used = [(block["type"], block.get("id") or block.get("tool_use_id")) for block in said if block["type"] != "text"]
        assert len(used) == len(set(used)) > 0
        assert next(block["text"] for block in said if block["type"] == "text") == wanted[via]["prompt"][0]


@pytest.mark.parametrize("case", ["sdk-background", "sdk-nested", "sdk-two-turns", "sdk-fork-file"])
def test_sums_of_two_sources_are_no_two_sums(case: str) -> None:
    """Both the transcript and the SDK say what was used since the beginning; the SDK's messages have no time."""
    folder = story.CASES / "claude_more" / case
    truth = json.loads((folder / "expected.json").read_text())
    ramify = Ramify.open("memory:")
    ramify.import_paths([folder / "transcripts", folder / "sdk_messages.jsonl"], "auto", lambda done, total: None)
    used = ramify.questions.stats()["usage"]
    assert {name: used[name] for name in ("input", "output", "cache_read", "cache_write")} in truth["usage"]["transcripts"]


def test_a_turn_that_failed_without_an_answer_is_a_task_as_long_as_only_the_stream_tells_of_it() -> None:
    folder = story.CASES / "claude_more" / "main-529"
    stream = story.reports(folder, "stream-json")
    _, questions = story.told(stream)
    (root,) = questions.tasks()["items"]
    assert (root["status"], root["prompt"], root["prompt_author"], root["link"]) == ("failed", "", "unknown", None)
    assert [message["role"] for message in questions.messages(root["id"])["items"]] == ["assistant"]
    for others in (["exchanges"], ["transcripts"], ["exchanges", "transcripts"]):
        seen = [*stream, *(one for source in others for one in story.reports(folder, source))]
        natural, questions = story.told(seen)
        assert [task["prompt"] for task in questions.tasks()["items"]] == ["Fail."]
        for seed in range(4):
            mixed, _ = story.told(story.shuffled([*seen, *seen], seed), 1 + seed)
            assert story.row_differences(story.rows(natural), story.rows(mixed)) == []


def test_a_local_command_says_nothing_of_the_turn_before_it() -> None:
    """It ends like a turn, and well; whether a prompt was shown or not, the turn that failed has failed."""
    folder = story.CASES / "claude_more" / "main-529"
    stream = story.reports(folder, "stream-json")
    (last,) = stream[-1]
    assert isinstance(last, Record)
    end = {**json.loads(last.body), "subtype": "success", "is_error": False, "num_turns": 0, "result": "", "uuid": "local", "terminal_reason": "completed"}
    later = (structs.replace(last, id="obs_local", at=last.at + 1, place="stream.jsonl:99", body=json.dumps(end).encode()),)
    for others in ([], ["transcripts"]):
        seen = [*(one for source in others for one in story.reports(folder, source)), *stream, later]
        for order in (seen, story.shuffled(seen, 1)):
            _, questions = story.told(order)
            assert [task["status"] for task in questions.tasks()["items"]] == ["failed"]
