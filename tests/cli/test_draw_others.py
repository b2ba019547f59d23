"""Links, tool calls, records and totals, as a reader without colours sees them."""

from typing import Any

from ramify.cli.draw_blocks import Page
from ramify.cli.draw_record import draw_record
from ramify.cli.draw_stats import draw_stats
from ramify.cli.draw_tool import draw_tool
from ramify.cli.draw_why import draw_why
from ramify.cli.upkeep import draw_rebuild
from tests.cli.samples import NOW, link, plain, task, usage

# Snapshots are as wide as the terminal they stand for.
WHY = """\
task_c
  ← spawned by task_a
    rule       prompt-match  it began with exactly the words that the tool call asked for
    certainty  ━━━━━━━━━╌ 0.90  inferred
    through    toolu_2  tool_2
    evidence   obs_1
               obs_2
  ← spawned by task_a
    rule       manual  a person said so
    certainty  ━━━━━━━━━━ 1.00  stated
    evidence   obs_1
               obs_2
  what else it might have been
  ⊘ task_x  prompt-match 0.9
    not, because its offer was closed before
"""
SIDE_BY_SIDE = """\
Bash  ✗ error  310ms  claude  12:00:01
toolu_1  tool_1  in task_a
╰ started task_b

input                                                      │ result
command:                                                   │ FAILED␛[31m
  make                                                     │ last line
  test                                                     │
timeout: 5                                                 │
nested:                                                    │
  {                                                        │
    "a": [                                                 │
      1                                                    │
    ]                                                      │
  }                                                        │
"""
STACKED = """\
Bash  ✗ error  310ms  claude  12:00:01
toolu_1  tool_1  in task_a
╰ started task_b

input
  command:
    make
    test
  timeout: 5
  nested:
    {
      "a": [
        1
      ]
    }

result
  FAILED␛[31m
  last line
"""
SHOWN = """\
✓ task claude  Refactor
  id             task_a
  title          Refactor
  prompt_author  human
  agent          claude
  status         completed
  conversation   conv_a
  branch         main
  root           task_a
  depth          0
  link           spawned by task_a  prompt-match 0.9  via toolu_2
  opened         2026-11-15T12:00:00.000000Z  30m ago
  closed         2026-11-15T12:02:14.000000Z  27m ago
  duration_ms    2m 14s
  usage          3 calls · 11.5k in · 34.5k cached · $0.0800
  tree_usage     3 calls · 11.5k in · 34.5k cached · $0.0800
  subtasks       0
  tool_calls     4
  refs           claude:agent:a1

prompt
  Refactor
  the module

artifact patch  partial
  │ diff
"""
TOTALS = """\
seq    12,345
tasks  7
usage  31 calls · 252k in · 758k cached · $1.31

by model
model            calls  cost usd
claude-opus-4-5     20     $1.20
odd␛                11         –

by status
completed  5
failed     2
"""


def why() -> dict[str, Any]:
    lost = {
        "parent": "task_x",
        "rule": "prompt-match",
        "certainty": 0.9,
        "rejected_because": "its offer was closed\nbefore",
    }
    return {
        "id": "task_c",
        "links": [link("prompt-match", 0.9), link("manual", 1.0, via=None, via_id=None)],
        "candidates": [lost],
    }


def tool() -> dict[str, Any]:
    return {
        "id": "tool_1",
        "call_id": "toolu_1",
        "task": "task_a",
        "name": "Bash",
        "status": "error",
        "agent_name": "claude",
        "timestamp": "2026-11-15T12:00:01Z",
        "duration_ms": 310,
        "spawned": ["task_b"],
        "args": {"command": "make\ntest", "timeout": 5, "nested": {"a": [1]}},
        "result": [{"type": "text", "text": "FAILED\x1b[31m\nlast line"}],
    }


def record() -> dict[str, Any]:
    return {"entity": "task"} | task(
        "task_a",
        "Refactor",
        agent="claude",
        prompt="Refactor\nthe module",
        link=link("prompt-match", 0.9),
        refs=[{"protocol": "claude", "kind": "agent", "value": "a1"}],
        artifacts=[{"artifactId": "x", "name": "patch", "parts": [{"text": "diff"}], "partial": True}],
    )


def stats() -> dict[str, Any]:
    return {
        "seq": 12345,
        "tasks": 7,
        "usage": usage(31, 1_010_000, 1.31),
        "by_model": [
            {"model": "claude-opus-4-5", "calls": 20, "cost_usd": 1.2},
            {"model": "odd\x1b", "calls": 11, "cost_usd": None},
        ],
        "by_status": {"completed": 5, "failed": 2},
    }


def test_why_shows_rule_certainty_evidence_and_who_lost() -> None:
    assert plain(draw_why(why(), 100), 100) == WHY


def test_why_without_links_says_so() -> None:
    assert "no link" in plain(draw_why({"id": "task_a", "links": [], "candidates": []}, 80), 80)


def test_a_tool_call_stands_side_by_side_where_there_is_room() -> None:
    assert plain(draw_tool(tool(), Page(120, NOW)), 120) == SIDE_BY_SIDE
    assert plain(draw_tool(tool(), Page(80, NOW)), 80) == STACKED


def test_a_long_result_is_folded_unless_full() -> None:
    long = tool() | {"result": "\n".join(map(str, range(100)))}
    assert "… 60 more lines; --full shows all" in plain(draw_tool(long, Page(80, NOW)), 80)
    assert "99" in plain(draw_tool(long, Page(80, NOW, full=True)), 80)


def test_a_record_is_shown_with_all_its_facts() -> None:
    assert plain(draw_record(record(), Page(100, NOW)), 100) == SHOWN


def test_a_record_keeps_its_own_kind_beside_what_it_is() -> None:
    shown = plain(draw_record({"entity": "call", "id": "call_1", "kind": "main", "model": "m"}, Page(80, NOW)), 80)
    assert "kind           main" in shown
    assert plain(draw_record({"entity": "tool", **tool()}, Page(80, NOW)), 80) == STACKED

def test_totals_are_laid_out_whatever_they_are() -> None:
    assert plain(draw_stats(stats(), 100, NOW), 100) == TOTALS


def test_a_rebuild_tells_what_moved() -> None:
    answer = {
        "observations": 3,
        "moved": [{"id": "task_b", "was": None, "now": "task_a"}],
        "same": 2,
        "dry_run": True,
    }
    assert plain(draw_rebuild(answer), 80).splitlines() == [
        "3 observations read again: 1 would move, 2 stay as they were",
        "  task_b  nothing → task_a",
    ]
