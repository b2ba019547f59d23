"""`stats --by`, `compare` and `lint` as people type them."""

import csv
import json
from pathlib import Path

import pytest

from tests.cli.test_main import ramify

CASES = Path(__file__).parents[1] / "cases" / "claude"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    told = ramify(folder, "import", str(CASES / "parallel" / "transcripts"), str(CASES / "simple" / "transcripts"))
    assert told.returncode == 0, told.stderr
    return folder


def roots(home: Path) -> list[str]:
    return [task["id"] for task in json.loads(ramify(home, "tasks", "--roots", "--json").stdout)["items"]]


def test_sums_are_a_table_with_everything_together_at_its_end(home: Path) -> None:
    shown = ramify(home, "stats", "--by", "agent", "--since", "all")
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    assert lines[0].split()[:4] == ["agent", "in", "out", "cost"]
    assert [line.split()[0] for line in lines[1:]] == ["main", "general-purpose", "all"]


def test_sums_as_csv_have_a_column_for_every_figure(home: Path) -> None:
    rows = list(csv.DictReader(ramify(home, "stats", "--by", "day,tool", "--since", "all", "--csv").stdout.splitlines()))
    assert {row["tool"] for row in rows} == {"Agent", "Bash"}
    assert all(int(row["tools_count"]) and row["tools_p95_ms"] and float(row["cost_usd"]) for row in rows)


def test_sums_as_json_are_the_answer_of_the_api(home: Path) -> None:
    answer = json.loads(ramify(home, "stats", "--by", "model", "--since", "all", "--json").stdout)
    assert answer["by"] == ["model"]
    assert answer["rows"][0]["calls"]["success"] == 1.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--by", "week"], "nothing is summed up by 'week'"),
        (["--since", "7d"], "--since, --until and --csv need --by"),
        (["--by", "day", "--since", "soon"], "is no time"),
    ],
)
def test_a_mistake_is_explained_in_one_line(home: Path, words: list[str], message: str) -> None:
    told = ramify(home, "stats", *words)
    assert told.returncode == 2
    assert message in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_an_empty_time_says_what_to_try(home: Path) -> None:
    told = ramify(home, "stats", "--by", "day", "--until", "2020-01-01", "--since", "2019-01-01")
    assert told.returncode == 0
    assert "--since all" in told.stderr


def test_two_runs_are_compared(home: Path) -> None:
    one, other = roots(home)[:2]
    shown = ramify(home, "compare", one, other)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "From there on A spent" in shown.stdout
    assert json.loads(ramify(home, "compare", one, other, "--json").stdout)["same"] is False
    assert "Both did the same, step by step." in ramify(home, "compare", one, one).stdout
    assert ramify(home, "compare", one, "nobody").returncode == 1


def test_findings_are_listed_or_said_to_be_none(home: Path) -> None:
    told = ramify(home, "lint")
    assert (told.returncode, told.stdout) == (0, "")
    assert "nothing to look at in 2 runs" in told.stderr
    assert json.loads(ramify(home, "lint", roots(home)[0], "--json").stdout)["items"] == []
    assert "stalled" in ramify(home, "lint", "--checks").stdout
    assert ramify(home, "lint", "--check", "everything").returncode == 2
