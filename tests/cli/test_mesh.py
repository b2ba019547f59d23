"""The runs of a mesh on the command line: imported, asked by the mesh's own ids, found by their words."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import story


def ramify(*words: str, status: int = 0) -> Any:
    ran = subprocess.run([sys.executable, "-m", "ramify", *words, "--json"], capture_output=True, timeout=60, check=False)
    assert ran.returncode == status, ran.stderr.decode()
    return json.loads(ran.stdout) if ran.stdout else ran.stderr.decode()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = f"sqlite:{tmp_path_factory.mktemp('mesh')}/x.db"
    files = [str(path) for path in sorted((story.CASES / "sam").glob("*/messages.jsonl"))]
    report = ramify("import", *files, "--store", place)
    assert (report["read"], report["new"], report["unreadable_count"]) == (228, 228, 0)
    return place


@pytest.mark.parametrize("case", ["simple", "workflow", "cancel"])
def test_every_question_is_answered_by_the_meshs_own_ids(store: str, case: str) -> None:
    truth = story.expected("sam", case)
    root = truth["root_task_id"]
    assert ramify("show", root, "--store", store)["status"] == truth["final_status"]
    assert len(ramify("subtasks", root, "--tree", "--store", store)["items"]) == truth["totals"]["subtasks"]
    assert len(ramify("tools", root, "--tree", "--store", store)["items"]) == truth["totals"]["tool_calls"]
    call = truth["tool_calls"][0]
    assert ramify("tool", call["call_id"], "--store", store)["status"] == call["status"]
    assert ramify("tool", f"sam:call:{call['task_id']}/{call['call_id']}/1", "--store", store)["name"] == call["name"]
    assert len([one for one in ramify("reasoning", root, "--store", store)["items"] if one["kind"] == "context"]) == truth["tasks"][0]["llm_calls"]
    assert ramify("tree", truth["context_id"], "--store", store)["roots"][0]["usage"]["input"] == truth["tasks"][0]["input_tokens"]


def test_a_cancel_request_is_no_task_and_an_unknown_id_is_told(store: str) -> None:
    assert len(ramify("tasks", "--limit", "0", "--store", store)["items"]) == 16
    assert "0002f28ab9414b32b1b1a6741700cbbf" in ramify("show", "0002f28ab9414b32b1b1a6741700cbbf", "--store", store, status=1)


def test_words_results_and_thoughts_are_found(store: str) -> None:
    for words in ("Utrecht", "Kyoto", "temperature_c"):
        assert ramify("search", words, "--store", store)["items"], words


def test_importing_again_and_an_export_add_nothing_that_counts(store: str, tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="exports need PyYAML")
    before = ramify("tasks", "--limit", "0", "--store", store)["items"]
    again = ramify("import", str(story.CASES / "sam/simple/messages.jsonl"), "--store", store)
    assert (again["new"], again["known"]) == (0, 27)
    ramify("import", str(story.CASES / "sam/simple/export.stim"), "--store", store)
    assert ramify("tasks", "--limit", "0", "--store", store)["items"] == before
