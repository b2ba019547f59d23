"""Why two things are linked is told in words, not by the name of a rule alone."""

import pytest

from ramify.model.rules import RULES
from ramify.query.errors import NotFound
from tests.story import CASES, reports, told

CASE = CASES / "claude_more" / "sdk-nested"


def test_links_and_witnesses_say_what_their_rules_mean() -> None:
    _, questions = told([record for source in ("exchanges", "sdk", "transcripts") for record in reports(CASE, source)])
    child = next(task for task in questions.tasks(limit=0)["items"] if task["link"])
    answer = questions.why(child["id"])
    assert [link["explanation"] for link in answer["links"]] == [RULES[link["rule"]] for link in answer["links"]]
    assert {one["source"] for one in answer["witnesses"]} == {"wire", "stream", "transcript"}
    assert all(one["explanation"] == (RULES[one["rule"]] if one["rule"] else None) for one in answer["witnesses"])


def test_the_body_of_a_call_that_was_only_reported_is_refused_with_the_reason() -> None:
    _, questions = told(reports(CASE, "transcripts"))
    with pytest.raises(NotFound, match=r"only reported \(transcript\): nobody saw its request on the wire"):
        questions.body(questions.calls()["items"][0]["id"], "request")
