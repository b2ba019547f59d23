"""A transcript as Markdown: readable, and nothing in it is markup but our own."""

import re

from ramify.app import Ramify
from ramify.exporting.markdown import fence, plain
from ramify.exporting.wish import Wish
from ramify.ingest import Ingest
from ramify.model.observation import Record
from tests.exporting.world import conversations, quiet, told

MARKDOWN = Wish("markdown")
HOSTILE = '```\n# not a heading\n</details><script>alert(1)</script>\n[click](javascript:alert(1)) ![x](http://example.org/p.png)\n````\nend'


def written(ramify: Ramify, id: str, wish: Wish = MARKDOWN) -> str:
    return b"".join(ramify.exports.offer(id, wish, quiet).pieces).decode()


def outside_of_fences(text: str) -> str:
    """By the rule of CommonMark: a fence ends with one that is at least as long."""
    kept: list[str] = []
    fence = ""
    for line in text.splitlines():
        ticks = re.match(r"`{3,}", line)
        if fence:
            fence = "" if ticks and len(ticks[0]) >= len(fence) and line.strip("` ") == "" else fence
        elif ticks:
            fence = ticks[0]
        else:
            kept.append(line)
    assert fence == "", "every fence is closed"
    return "\n".join(kept)


def test_a_tree_reads_from_the_top() -> None:
    ramify = told("claude/nested")
    (id,) = conversations(ramify)
    text = written(ramify, id)
    assert text.startswith("# Please delegate this\n")
    assert "\n  - 1.1 general-purpose: Go: completed, 2 calls" in text
    assert "*uses* **Agent**, which started 1.1\n" in text
    assert "\n#### 1.1.1 general-purpose: Go deeper\n" in text
    assert text.index("Please delegate this") < text.index("[child] Delegate.") < text.index("[grandchild] Go deep.")


def test_results_can_be_left_out() -> None:
    ramify = told("claude/nested")
    (id,) = conversations(ramify)
    whole, cut = written(ramify, id), written(ramify, id, Wish("markdown", results=False))
    assert "[Subagent hand-back]" in whole
    assert "[Subagent hand-back]" not in cut
    assert cut.count("[left out of this export]") == 3
    mesh = told("sam/simple")
    (id,) = conversations(mesh)
    assert "[left out of this export]" in written(mesh, id, Wish("markdown", results=False))


def test_hostile_words_stay_words() -> None:
    body = {"type": "user", "uuid": "u1", "sessionId": "0aa11b22-0000-4000-8000-000000000001", "timestamp": "2026-01-01T00:00:00Z",
            "message": {"role": "user", "content": HOSTILE}}  # fmt: skip
    ramify = Ramify.open("memory:")
    import msgspec

    Ingest(ramify.store).step([Record("obs_1", "default", 1_700_000_000_000_000, "transcript", "claude", "x:1", msgspec.json.encode(body))])
    (id,) = conversations(ramify)
    text = written(ramify, id)
    assert HOSTILE in text
    outside = outside_of_fences(text)
    assert "<script" not in outside
    assert "# not" not in re.sub(r"\\#", "", outside)
    assert "](" not in outside.replace("\\]", "")


def test_thoughts_that_stand_beside_messages_are_told() -> None:
    ramify = told("sam/thinking")
    (id,) = conversations(ramify)
    thoughts = [one["text"] for one in ramify.questions.reasoning(id, limit=0)["items"] if one["text"]]
    assert thoughts
    text = written(ramify, id)
    assert all(thought in text for thought in thoughts)


def test_words_that_are_no_texts_are_fenced_as_json() -> None:
    assert fence({"a": 1}) == '```json\n{\n  "a": 1\n}\n```\n\n'
    assert fence("````").startswith("`````text\n")
    assert plain("a\nb\x1b[0m <i>") == r"a b \[0m \<i\>"
    assert len(plain("x" * 500)) == 120


def test_every_protocol_can_be_written() -> None:
    for case in ("sam/parallel", "a2a/v1-input-required", "events/async_fanout", "anthropic/subtask-task"):
        ramify = told(case)
        for id in conversations(ramify):
            assert outside_of_fences(written(ramify, id)).startswith("# ")
