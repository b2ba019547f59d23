"""Messages, as a reader without colours sees them."""

from typing import Any

import pytest

from ramify.cli.draw_blocks import Page
from ramify.cli.draw_messages import Transcript, draw_messages
from ramify.cli.draw_reasoning import draw_reasoning
from tests.cli.samples import NOW, link, message, plain, text, tool_result, tool_use, tree

# Snapshots are as wide as the terminal they stand for.
OWN = """\
  · harness reminder  The task tools haven't been used recently.

● human                                                                 12:00:01
  Refactor the billing module so that invoices carry their currency, and add
  tests.

  Keep the API.

◆ claude                                                                12:00:01
  ✻ First find the uses.
  I'll look at the uses first.
  ▸ Bash  rg -n 'class Invoice' src                                      ✓ 310ms
    │ src/invoice.py:12:class Invoice
    │ src/x0.py: Invoice(
    │ src/x1.py: Invoice(
    │ src/x2.py: Invoice(
    │ src/x3.py: Invoice(
    │ src/x4.py: Invoice(
    ╵ 15 more lines
  ▸ Agent  Find Invoice uses                                               ✓ 38s
    ╰ ✓ Explore · 9 tools · 38s · 46.0k tokens · $0.08                    task_b
    │ 12 files use it.

  I will change the constructor [bold]first[/bold].
  ▸ Edit  /repo/invoice.py                                        ◐ running 30s…
"""
WITH_THE_TREE = """\
  · harness reminder  The task tools haven't been used recently.

● human                                                                 12:00:01
  Refactor the billing module so that invoices carry their currency, and add
  tests.

  Keep the API.

◆ claude                                                                12:00:01
  ✻ First find the uses.
  I'll look at the uses first.
  ▸ Bash  rg -n 'class Invoice' src                                      ✓ 310ms
    │ src/invoice.py:12:class Invoice
    │ src/x0.py: Invoice(
    │ src/x1.py: Invoice(
    │ src/x2.py: Invoice(
    │ src/x3.py: Invoice(
    │ src/x4.py: Invoice(
    ╵ 15 more lines
  ▸ Agent  Find Invoice uses                                               ✓ 38s
    ╰ ✓ Explore · 9 tools · 38s · 46.0k tokens · $0.08                    task_b

    ◆ claude asks Explore  by toolu_2                                   12:00:01
      Find every use

    ◆ Explore                                                           12:00:01
      ▸ Grep  Invoice\\(                                                  ✗ error
        │ grep: ␛]0;owned␇ bad

    │ 12 files use it.

  I will change the constructor [bold]first[/bold].
  ▸ Edit  /repo/invoice.py                                        ◐ running 30s…
"""


def messages() -> list[Any]:
    reminder = "<system-reminder>\nThe task tools haven't been used recently.\n</system-reminder>"
    long_result = "src/invoice.py:12:class Invoice\n" + "\n".join(f"src/x{line}.py: Invoice(" for line in range(20))
    return [
        message("harness", text(reminder), author_kind="reminder"),
        message(
            "human",
            text("Refactor the billing module so that invoices carry their currency, and add tests.\n\nKeep the API."),
        ),
        message(
            "agent",
            {"type": "thinking", "thinking": "First find\nthe uses."},
            text("I'll look at the uses first."),
            tool_use("toolu_1", "Bash", command="rg -n 'class Invoice' src"),
            tool_use("toolu_2", "Agent", description="Find Invoice uses", prompt="Find every use"),
            author_id="task_a",
        ),
        message("tool", tool_result("toolu_1", long_result)),
        message("agent", text("Find every use"), role="user", task="task_b", author_id="task_a"),
        message("agent", tool_use("toolu_9", "Grep", pattern="Invoice\\("), task="task_b", author_id="task_b"),
        message("tool", tool_result("toolu_9", "grep: \x1b]0;owned\x07 bad", is_error=True), task="task_b"),
        message("tool", tool_result("toolu_2", [text("12 files use it.")])),
        message(
            "agent",
            text("I will change the constructor [bold]first[/bold]."),
            tool_use("toolu_3", "Edit", file_path="/repo/invoice.py"),
            author_id="task_a",
        ),
    ]


def transcript(found: list[Any]) -> Transcript:
    tools: dict[str, Any] = {
        "toolu_1": {"status": "ok", "duration_ms": 310},
        "toolu_2": {"status": "ok", "duration_ms": 38_200, "spawned": ["task_b"]},
        "toolu_3": {"status": "running", "timestamp": "2026-11-15T12:29:30Z"},
    }
    root = tree()
    return Transcript(
        found, tools, {"task_a": root, "task_b": root["children"][0] | {"link": link("agent-id-header", 1.0)}}
    )


def drawn(found: list[Any], width: int, full: bool = False) -> str:
    return plain(draw_messages(transcript(found), Page(width, NOW, full)), width)


def own() -> list[Any]:
    return [each for each in messages() if each["task"] == "task_a"]


def test_a_tasks_own_messages_read_like_a_conversation() -> None:
    assert drawn(own(), 80) == OWN


def test_with_the_tree_nested_work_stands_at_the_call_that_started_it() -> None:
    assert drawn(messages(), 80) == WITH_THE_TREE


def test_full_folds_nothing() -> None:
    shown = drawn(own(), 80, full=True)
    assert "src/x19.py: Invoice(" in shown
    assert "more line" not in shown
    assert "· harness reminder" in shown
    assert "the uses." in shown


@pytest.mark.parametrize("width", [20, 40, 60, 80, 140])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = draw_messages(transcript(messages()), Page(width, NOW))
    assert max(line.cell_len for line in lines) <= width


def test_every_kind_of_block_is_shown() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4000}}
    blocks = [picture, {"type": "redacted_thinking", "data": "x"}, {"type": "brand_new", "x": "\x9b"}, "bare"]
    shown = drawn([message("agent", *blocks)], 100)
    assert "[image: image/png, 3.0k bytes]" in shown
    assert "✻ thinking withheld" in shown
    assert '[brand_new] {"type": "brand_new", "x": "\\u009b"}' in shown
    assert "  bare\n" in shown


def test_a_result_whose_call_is_on_another_page_is_not_lost() -> None:
    shown = drawn([message("tool", tool_result("toolu_0", "late"))], 80)
    assert "▸ result of toolu_0\n    │ late\n" in shown


def test_a_call_without_result_says_so() -> None:
    assert "? missing" in drawn([message("agent", tool_use("toolu_x", "Bash", command="ls"))], 80)


def test_hostile_words_cannot_leave_their_place() -> None:
    bad = "\x1b[2J\x1b]52;c;x\x07\u202e[link=http://evil]x[/link]"
    found = [
        message("human", text(bad)),
        message("agent", tool_use(bad, bad, command=bad), author_id=bad),
        message("tool", tool_result(bad, bad)),
        message("harness", text(bad), author_kind=bad),
    ]
    shown = drawn(found, 140)
    assert not any(letter in shown for letter in "\x1b\x07\u202e")
    assert "[link=http://evil]x[/link]" in shown


def test_reasoning_is_shown_with_who_and_when() -> None:
    blocks = [
        {
            "kind": "thinking",
            "text": "First\nthen",
            "agent_name": "Explore",
            "model": "m",
            "withheld": False,
            "timestamp": "2026-11-15T12:00:01Z",
        },
        {"kind": "thinking", "text": "", "withheld": True, "timestamp": None},
    ]
    shown = plain(draw_reasoning(blocks, Page(60, NOW)), 60)
    assert shown.splitlines() == [
        "✻ thinking  Explore  m                              12:00:01",
        "  First",
        "  then",
        "",
        "✻ thinking",
        "  withheld: the model's provider does not show it",
    ]
