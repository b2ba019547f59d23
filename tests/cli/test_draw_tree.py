"""Trees, as a reader without colours sees them."""

import pytest
from rich.cells import cell_len

from ramify.cli.draw_tree import draw_tree, summary
from tests.cli.samples import NOW, conversation, plain, task, tree, usage


def drawn(answer: dict[str, object], width: int, ids: bool = False) -> str:
    return plain(draw_tree(answer, width, NOW, ids), width)


# Snapshots are as wide as the terminal they stand for.
WIDE = """\
conversation conv_7x  Billing  shop  ⎇ main, branch_1
                                                                                                   time  calls  tools  tokens   cost  in all
✓ claude  Refactor the billing module so that invoices carry their currency, and add tests      12m 14s     12     31    348k  $0.42   $1.31
├─ ✓ Explore  Find every use of Invoice and list the files                                          38s      4      9    9.8k  $0.08
├─ ◐ general-purpose  Write property tests for rounding  working  ~prompt-match 0.9             1m 40s…      3      4   46.0k  $0.08   $0.21
│  ├─ ✓ Explore  Check the currency table against ISO 4217                                         9.1s      2      2    2.4k    <1¢
│  └─ ✗ test-runner  Run the tests in a loop until they pass  failed  looping                    5m 01s      9      4   94.0k      ?
├─ ? named, never seen  unknown
└─ ◇ Plan  Ask the person which currencies matter  input-required  stalled  by hand            25m 00s…      3      4   46.0k  $0.08
⎇ branch_1
✓ claude  Now the other way round                                                                2m 14s      3      4   46.0k  $0.08
unattached  1 task whose parent is not known
✓ Explore  Summarise the log  orphan                                                             2m 14s      3      4   46.0k  $0.08
"""
NARROW = """\
                                              time  calls  tokens   cost  in all
✓ claude  Refactor the billing module s…   12m 14s     12    348k  $0.42   $1.31
├─ ✓ Explore  Find every use of Invoice…       38s      4    9.8k  $0.08
├─ ◐ general-p…  Write property t…  ~0.9   1m 40s…      3   46.0k  $0.08   $0.21
│  ├─ ✓ Explore  Check the currency tab…      9.1s      2    2.4k    <1¢
│  └─ ✗ test-runn…  Run the te…  looping    5m 01s      9   94.0k      ?
├─ ? named, never seen  unknown
└─ ◇ Plan  Ask the person whic…  stalled  25m 00s…      3   46.0k  $0.08
"""
NARROWER = """\
                                         time   cost  in all
✓ claude  Refactor the billing mod…   12m 14s  $0.42   $1.31
├─ ✓ Explore  Find every use of In…       38s  $0.08
├─ ◐ general…  Write propert…  ~0.9   1m 40s…  $0.08   $0.21
│  ├─ ✓ Explore  Check the currenc…      9.1s    <1¢
│  └─ ✗ test-ru…  Run the…  looping    5m 01s      ?
├─ ? named, never seen  unknown
└─ ◇ Plan  Ask the person…  stalled  25m 00s…  $0.08
"""
WITH_IDS = """\
                                                   time  calls  tools  tokens   cost  in all
✓ claude  Refactor the billing module so tha…   12m 14s     12     31    348k  $0.42   $1.31  task_a
├─ ✓ Explore  Find every use of Invoice and …       38s      4      9    9.8k  $0.08          task_b
├─ ◐ general-pu…  Write prope…  working  ~0.9   1m 40s…      3      4   46.0k  $0.08   $0.21  task_c
│  ├─ ✓ Explore  Check the currency table ag…      9.1s      2      2    2.4k    <1¢          task_d
│  └─ ✗ test-runner  Run the tests …  looping    5m 01s      9      4   94.0k      ?          task_e
├─ ? named, never seen  unknown                                                               task_f
└─ ◇ Plan  Ask the person …  stalled  by hand  25m 00s…      3      4   46.0k  $0.08          task_g
"""


def test_a_wide_tree_shows_everything() -> None:
    assert drawn(conversation(), 140) == WIDE


def test_at_eighty_columns_titles_and_lesser_figures_give_way() -> None:
    assert drawn(tree(), 80) == NARROW


def test_at_sixty_columns_time_and_cost_remain() -> None:
    assert drawn(tree(), 60) == NARROWER


def test_ids_stand_at_the_end_when_asked_for() -> None:
    assert drawn(tree(), 100, ids=True) == WITH_IDS


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 140, 200])
@pytest.mark.parametrize("ids", [False, True])
def test_no_line_is_wider_than_the_terminal(width: int, ids: bool) -> None:
    for answer in (conversation(), tree()):
        lines = draw_tree(answer, width, NOW, ids and width > 60)
        assert max(line.cell_len for line in lines) <= width
        assert all(cell_len(line) <= width for line in drawn(answer, width).splitlines())


def test_a_hostile_title_stays_on_its_line_and_is_only_text() -> None:
    title = "\x1b[2J\x1b]0;x\x07[red]hi[/red]\n\u202eevil :boom:"
    shown = drawn(task("task_a", title, agent="\x1b[31mX"), 140)
    assert "␛[2J␛]0;x␇[red]hi[/red] \\u{202e}evil :boom:" in shown
    assert "␛[31mX" in shown
    assert len(shown.splitlines()) == 2


def test_a_chain_of_thousands_is_drawn() -> None:
    answer = task("task_0", "the end", agent="last")
    for depth in range(1, 3000):
        answer = task(f"task_{depth}", f"level {depth}", children=[answer], subtasks=1)
    lines = draw_tree(answer, 80, NOW)
    assert len(lines) == 3001
    assert max(line.cell_len for line in lines) <= 80
    assert "the end" in lines[-1].plain
    assert "⋯" in lines[-1].plain


def test_a_conversation_without_tasks_says_so() -> None:
    shown = drawn({"conversation": {"id": "conv_1"}, "roots": [], "unattached": []}, 80)
    assert shown == "conversation conv_1\n  no tasks yet\n"


def test_an_operation_is_headed_as_one() -> None:
    shown = drawn({"operation": {"id": "op_1", "title": "Sync"}, "roots": [task("t", "x")], "unattached": []}, 80)
    assert shown.startswith("operation op_1  Sync\n")


def test_the_summary_counts_the_whole_tree() -> None:
    assert summary(tree()) == "7 tasks · 31 model calls · 1.0M tokens · $1.31"
    unpriced = task("t", "x", usage=usage(1, 5), tree_usage=usage(1, 5))
    assert summary(unpriced) == "1 task · 1 model call · 5 tokens · cost not known: a model has no price"
    unseen = {"id": "task_1", "children": [], "tree_usage": {"calls": 0, "input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": None}}
    assert summary(unseen) == "1 task · no model calls seen"
    assert summary(conversation()).startswith("9 tasks")
