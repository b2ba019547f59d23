"""`ramify export`: into files, folders, pipes and endpoints; and what it refuses, in one line."""

import json
from pathlib import Path

import pytest

from ramify.cli.main import main
from tests.exporting.test_sending import receiving
from tests.exporting.world import CASES

STORE = "store.db"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.chdir(tmp_path)
    folder = CASES / "claude" / "nested"
    assert main(["import", "--store", f"sqlite:{STORE}", str(folder / "exchanges.jsonl"), str(folder / "transcripts")]) == 0
    capsys.readouterr()
    return f"sqlite:{STORE}"


def conversation(store: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["conversations", "--store", store, "--json"]) == 0
    return str(json.loads(capsys.readouterr().out)["items"][0]["id"])


def test_a_run_goes_to_another_store_and_is_the_same(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    id = conversation(store, capsys)
    assert main(["export", id, "run.jsonl", "--store", store]) == 0
    assert capsys.readouterr().out.startswith("wrote run.jsonl: ")
    assert main(["import", "--store", "sqlite:other.db", "run.jsonl"]) == 0
    capsys.readouterr()
    trees = []
    for one in (store, "sqlite:other.db"):
        assert main(["tree", id, "--store", one, "--json"]) == 0
        trees.append(capsys.readouterr().out)
    assert trees[0] == trees[1]
    assert not list(Path().glob(".*.part"))


def test_the_ending_says_what_is_wanted(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    id = conversation(store, capsys)
    assert main(["export", id, "run.md", "--store", store]) == 0
    assert Path("run.md").read_text().startswith("# Please delegate this")
    assert main(["export", id, "tables.parquet", "--store", store]) == 0
    assert Path("tables.parquet", "ramify_tasks.parquet").stat().st_size > 100
    assert main(["export", id, "tables.zip", "--store", store]) == 0
    assert Path("tables.zip").read_bytes()[:2] == b"PK"
    assert main(["export", id, "--to", "otlp", "run.otlp", "--store", store]) == 0
    assert len(json.loads(Path("run.otlp").read_text())["resourceSpans"][0]["scopeSpans"][0]["spans"]) == 12


def test_standard_output_holds_nothing_else(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    id = conversation(store, capsys)
    assert main(["export", id, "-", "--to", "jsonl", "--store", store]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert json.loads(lines[0]) == {"ramify": "observations", "version": 1}
    assert all("observation" in json.loads(line) for line in lines[1:])


def test_spans_go_to_an_endpoint(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    id = conversation(store, capsys)
    with receiving() as server:
        assert main(["export", id, server.address, "--store", store]) == 0
        assert capsys.readouterr().out == f"sent 12 spans to {server.address}/v1/traces\n"
        assert len(server.spans) == 12


def test_a_preview_writes_nothing(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    id = conversation(store, capsys)
    assert main(["export", id, "run.md", "--no-results", "--preview", "--store", store]) == 0
    told = capsys.readouterr().out
    assert f"conversation {id} as markdown: 1 conversation, 3 tasks, 6 model calls, 3 tool calls" in told
    assert "left out: what tools gave back" in told
    assert not Path("run.md").exists()
    assert main(["export", id, "run.jsonl", "--preview", "--json", "--store", store]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["redacted"] == {"secret": 6}
    assert answer["bytes"] > 100_000


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["ID", "run.txt"], 2, "the ending of 'run.txt' does not say what is wanted"),
        (["ID", "run.jsonl", "--no-results"], 2, "results cannot be left out of jsonl"),
        (["ID", "http://h", "--to", "jsonl"], 2, "jsonl goes into a file, not to 'http://h'"),
        (["ID", "run.md", "--content"], 2, "content is no question for markdown"),
        (["ID", "no/such/run.md"], 2, "no/such/run.md cannot be written: No such file or directory"),
        (["nobody", "run.md"], 1, "nothing has the id 'nobody'"),
    ],
)
def test_mistakes_are_one_line(store: str, capsys: pytest.CaptureFixture[str], words: list[str], status: int, told: str) -> None:
    id = conversation(store, capsys)
    assert main(["export", *(id if word == "ID" else word for word in words), "--store", store]) == status
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
