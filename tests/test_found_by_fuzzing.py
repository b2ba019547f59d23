"""What the fuzzers have found, each as small as it came out."""

import json
from pathlib import Path

import pytest

from ramify.app import Ramify
from ramify.capture.a2a.cards import rewrite
from ramify.capture.log_file import HEADER
from ramify.model.mistake import UserMistake
from ramify.model.moment import FIRST, LAST, iso
from ramify.web.app import FILTER
from ramify.web.route import read_value


@pytest.mark.parametrize(
    ("format", "line"),
    [
        ("adcp", {"kind": "activity", "op": "o", "activity": {"type": [], "agent_id": "a"}}),
        ("adcp", {"kind": ["activity"], "op": "o"}),
        ("ramify", {"observation": [], "id": "x"}),
        ("ramify", {"observation": "record", "id": "x", "body_base64": 7}),
    ],
)
def test_a_word_that_is_no_word_is_an_unreadable_line(format: str, line: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes((HEADER if format == "ramify" else b"") + json.dumps(line).encode() + b"\n")
    ramify = Ramify.open("memory:")
    assert ramify.import_paths([path], format, lambda done, total: None)["unreadable_count"] == 1
    ramify.close()


def test_a_date_outside_of_the_calendar_is_shown_at_its_edge() -> None:
    assert (iso(1 << 62), iso(LAST), iso(0)) == ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z", None)
    assert iso(-(1 << 62)) == iso(FIRST)


def test_half_a_character_in_a_card_stays_one() -> None:
    card = b'{"name": "\\ud83d", "url": "http://agent:1/x"}'
    body = rewrite(card, "http://agent:1", "http://127.0.0.1:8377/a2a/a").body
    assert json.loads(body) == {"name": "\ud83d", "url": "http://127.0.0.1:8377/a2a/a/x"}


def test_a_word_with_a_nul_in_it_is_looked_for_as_two() -> None:
    ramify = Ramify.open("memory:")
    assert ramify.questions.search("a\0b")["items"] == []
    assert ramify.questions.calls(filter="a\0b")["items"] == []
    ramify.close()


def test_over_http_a_nul_is_refused_whatever_the_store() -> None:
    with pytest.raises(UserMistake, match="filter"):
        read_value(FILTER, "a\0b")
