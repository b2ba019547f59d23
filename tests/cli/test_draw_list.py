"""Lists, as a reader without colours sees them."""

from typing import Any

import pytest

from ramify.cli import columns
from ramify.cli.draw_list import draw_list
from ramify.cli.draw_tree import walk
from tests.cli.samples import NOW, plain, task, tree, usage

# Snapshots are as wide as the terminal they stand for.
TASKS_WIDE = """\
   status          agent            title                                   flags    found by           age      time  tokens   cost  id
✓  completed       claude           Refactor the billing module so that i…                              30m   12m 14s    1.0M  $1.31  task_a
✓  completed       Explore          Find every use of Invoice and list th…                              30m       38s   46.0k  $0.08  task_b
◐  working         general-purpose  Write property tests for rounding                ~prompt-match 0.9   1m   1m 40s…   60.0k  $0.21  task_c
✓  completed       Explore          Check the currency table against ISO …                              30m      9.1s    2.4k    <1¢  task_d
✗  failed          test-runner      Run the tests in a loop until they pa…  looping                     30m    5m 01s   94.0k      ?  task_e
?  unknown                          named, never seen                                                                                 task_f
◇  input-required  Plan             Ask the person which currencies matter  stalled  by hand            25m  25m 00s…   46.0k  $0.08  task_g
"""
TASKS_NARROW = """\
   agent            title                  flags    age      time   cost  id
✓  claude           Refactor the billing…           30m   12m 14s  $1.31  task_a
✓  Explore          Find every use of In…           30m       38s  $0.08  task_b
◐  general-purpose  Write property tests…            1m   1m 40s…  $0.21  task_c
✓  Explore          Check the currency t…           30m      9.1s    <1¢  task_d
✗  test-runner      Run the tests in a l…  looping  30m    5m 01s      ?  task_e
?                   named, never seen                                     task_f
◇  Plan             Ask the person which…  stalled  25m  25m 00s…  $0.08  task_g
"""
TASKS_NARROWER = """\
   title                                flags    age  id
✓  Refactor the billing module so tha…           30m  task_a
✓  Find every use of Invoice and list…           30m  task_b
◐  Write property tests for rounding              1m  task_c
✓  Check the currency table against I…           30m  task_d
✗  Run the tests in a loop until they…  looping  30m  task_e
?  named, never seen                                  task_f
◇  Ask the person which currencies ma…  stalled  25m  task_g
"""
CALLS = """\
   status  model             kind   branch  attempt  new  stop      first  time     in  out   cost  age  id
✓  ok      claude-opus-4-5   main   main               2  tool_use  812ms  3.0s  42.0k    0  $0.08  30m  call_a
✗  error   claude-haiku-4-5  title                2                                                 20m  call_b
"""
TOOLS = """\
   tool              input              status   spawned   time  call
✓  Bash              rg -n Invoice                        310ms  toolu_1
✓  Agent             Find uses                         1    38s  toolu_2
✗  mcp__shop__order  item=3, note=␛[2J  error                    toolu_3
◐  Odd               not json {         running            30s…  toolu_4
"""


def tasks() -> list[Any]:
    return [node.task for node in walk(tree())]


def calls() -> list[Any]:
    answered = {
        "id": "call_a",
        "kind": "main",
        "utility": None,
        "model": "claude-opus-4-5",
        "attempt": 1,
        "status": "ok",
        "opened": "2026-11-15T12:00:00Z",
        "closed": "2026-11-15T12:00:03Z",
        "first_token_ms": 812.5,
        "usage": usage(1, 42_000, 0.08),
        "new_messages": 2,
        "stop_reason": "tool_use",
        "branch": "main",
    }
    failed = {
        "id": "call_b",
        "kind": "utility",
        "utility": "title",
        "model": "claude-haiku-4-5",
        "attempt": 2,
        "status": "error",
        "opened": "2026-11-15T12:10:00Z",
        "closed": None,
        "usage": usage(),
    }
    return [answered, failed]


def tools() -> list[Any]:
    return [
        {
            "call_id": "toolu_1",
            "name": "Bash",
            "args": {"command": "rg -n\nInvoice"},
            "status": "ok",
            "duration_ms": 310,
        },
        {
            "call_id": "toolu_2",
            "name": "Agent",
            "args": {"description": "Find uses", "prompt": "…"},
            "status": "ok",
            "duration_ms": 38_000,
            "spawned": ["task_b"],
        },
        {
            "call_id": "toolu_3",
            "name": "mcp__shop__order",
            "args": {"item": 3, "note": "\x1b[2J"},
            "status": "error",
        },
        {
            "call_id": "toolu_4",
            "name": "Odd",
            "args": "not json {",
            "status": "running",
            "timestamp": "2026-11-15T12:29:30Z",
        },
    ]


def drawn(kinds: Any, records: list[Any], width: int) -> str:
    return plain(draw_list(kinds, records, width, NOW), width)


def test_tasks_at_three_widths() -> None:
    assert drawn(columns.TASKS, tasks(), 140) == TASKS_WIDE
    assert drawn(columns.TASKS, tasks(), 80) == TASKS_NARROW
    assert drawn(columns.TASKS, tasks(), 60) == TASKS_NARROWER


def test_calls_show_attempts_helpers_and_tokens() -> None:
    assert drawn(columns.CALLS, calls(), 120) == CALLS


def test_tools_show_the_argument_that_tells_them_apart() -> None:
    assert drawn(columns.TOOLS, tools(), 80) == TOOLS


def test_a_column_without_anything_to_say_is_not_drawn() -> None:
    shown = drawn(columns.TASKS, [task("task_1", "One", tool_calls=0)], 140)
    assert "flags" not in shown
    assert "tools" not in shown


def test_conversations_and_hits_are_listed() -> None:
    record = {
        "id": "conv_1",
        "title": "Billing",
        "project": "shop",
        "tasks": 3,
        "calls": 12,
        "usage": usage(12, 5000, 0.5),
        "branches": ["main", "branch_1"],
        "active": "2026-11-15T12:00:00Z",
    }
    assert drawn(columns.CONVERSATIONS, [record], 100).splitlines()[1].split() == [
        "shop",
        "Billing",
        "2",
        "3",
        "12",
        "5.0k",
        "$0.50",
        "30m",
        "conv_1",
    ]
    hit = {
        "kind": "message",
        "id": "task_1",
        "snippet": "the [red]currency\nis missing",
        "timestamp": "2026-11-15T12:00:00Z",
    }
    assert "message  task_1  the [red]currency is missing  30m" in drawn(columns.SEARCH, [hit], 80)


@pytest.mark.parametrize("width", [10, 30, 60, 80, 140])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for kinds, records in ((columns.TASKS, tasks()), (columns.CALLS, calls()), (columns.TOOLS, tools())):
        assert all(line.cell_len <= width for line in draw_list(kinds, records, width, NOW))


def test_an_empty_list_is_no_mistake() -> None:
    assert draw_list(columns.TASKS, [], 80, NOW)[0].plain == ""
