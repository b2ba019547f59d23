"""What is not known of a tree is counted, and can be looked at."""

from typing import Any

import pytest

from ramify.ingest import Ingest
from ramify.query.completeness import completeness
from ramify.query.service import Questions
from ramify.storage.sqlite import open_sqlite
from tests.linking.a2a_builder import Wire, begin, message, records
from tests.story import CASES, exchanges, reports, told


def missing(case: str) -> dict[str, Any]:
    store, questions = told(exchanges("anthropic", case))
    found: dict[str, int] = {}
    for conversation in questions.conversations(limit=0)["items"]:
        for one in completeness(store, conversation["id"])["missing"]:
            assert one["ids"]
            found[one["kind"]] = found.get(one["kind"], 0) + one["count"]
    return found


def test_a_whole_tree_lacks_nothing() -> None:
    assert missing("linear") == {}


@pytest.mark.parametrize(
    ("case", "kind"), [("aborted-stream", "cut_short"), ("retry-after-529", "failed_calls"), ("never-answered", "cut_short")]
)
def test_what_is_missing_is_named(case: str, kind: str) -> None:
    assert missing(case)[kind] >= 1


def test_links_that_were_inferred_are_counted() -> None:
    assert missing("subtask-task")["inferred"] == 1


def test_a_result_that_was_only_reported_is_not_missing() -> None:
    store, questions = told(reports(CASES / "claude_more" / "sdk-nested", "transcripts"))
    root = questions.tasks(roots=True)["items"][0]["id"]
    found = completeness(store, root)
    assert found["tools"] == 3
    assert found["missing"] == []


def found_in(wire: Wire) -> list[tuple[str, int]]:
    store = open_sqlite("memory:")
    Ingest(store).step(records(wire.frames))
    return [(one["kind"], one["count"]) for one in completeness(store, Questions(store).task("root")["id"])["missing"]]


def test_a_child_that_was_named_and_never_shown_is_missing() -> None:
    wire = Wire()
    root = begin(wire, "planner", "root", "Plan it")
    root.status("root", "WORKING", message("handing over", "m", refs=["elsewhere"], metadata={"referencedWorkflow": {"workflowName": "Lend"}}))
    assert found_in(wire) == [("unresolved", 1)]
    begin(wire, "lender", "elsewhere", "Lend it")
    assert found_in(wire) == []
