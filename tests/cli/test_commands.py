"""The commands against a real store, as processes."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.ports import free_port
from tests.cli.scripted_server import Reply, scripted
from tests.cli.test_main import ramify

CASE = Path(__file__).parents[1] / "cases" / "anthropic" / "subtask-task" / "exchanges.jsonl"
ANSWER = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-5", "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "Done."}], "usage": {"input_tokens": 5, "output_tokens": 2},
}  # fmt: skip
CLIENT = """
import json, os, urllib.request
body = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Say done"}]}
address = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
headers = {"content-type": "application/json", "x-api-key": "k"}
print(urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode(), headers)).read().decode())
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    told = ramify(folder, "import", str(CASE))
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("read ")
    return folder


def asked(home: Path, *words: str) -> Any:
    told = ramify(home, *words, "--json")
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


def root(home: Path) -> str:
    found: str = next(task["id"] for task in asked(home, "tasks", "--roots")["items"] if task["subtasks"])
    return found


def test_importing_twice_changes_nothing(home: Path) -> None:
    assert asked(home, "import", str(CASE))["new"] == 0


@pytest.mark.parametrize("command", ["conversations", "tasks", "calls", "stats"])
def test_lists_are_shown_and_are_one_document_as_json(home: Path, command: str) -> None:
    assert asked(home, command)
    shown = ramify(home, command)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert len(shown.stdout.splitlines()) > 1


@pytest.mark.parametrize("command", ["tree", "show", "messages", "flow", "subtasks", "tools", "why"])
@pytest.mark.parametrize("options", [[], ["--tree"]])
def test_a_task_can_be_asked_each_way(home: Path, command: str, options: list[str]) -> None:
    options = options if command in ("messages", "subtasks", "tools") else []
    id = root(home)
    assert asked(home, command, id, *options)
    shown = ramify(home, command, id, *options)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout


def test_the_tree_shows_the_sub_task_under_its_root(home: Path) -> None:
    shown = ramify(home, "tree", root(home)).stdout
    assert "└─ ✓" in shown
    conversation = asked(home, "conversations")["items"][0]["id"]
    assert ramify(home, "tree", conversation).stdout.startswith(f"conversation {conversation}")


def test_a_tool_call_is_found_by_its_own_id(home: Path) -> None:
    call = asked(home, "tools", root(home))["items"][0]["call_id"]
    assert asked(home, "tool", call)["call_id"] == call
    assert call in ramify(home, "tool", call).stdout


def test_every_page_is_given_with_a_cursor_or_all_at_once(home: Path) -> None:
    everything = asked(home, "tasks", "--limit", "0")["items"]
    first = asked(home, "tasks", "--limit", "1")
    rest = asked(home, "tasks", "--cursor", first["next"])["items"]
    assert [task["id"] for task in first["items"] + rest] == [task["id"] for task in everything]


def test_what_is_not_there_is_exit_status_one(home: Path) -> None:
    told = ramify(home, "tree", "task_none")
    assert told.returncode == 1
    assert len(told.stderr.splitlines()) == 1
    assert told.stdout == ""


def test_a_correction_can_be_made_and_taken_back(home: Path) -> None:
    child = asked(home, "subtasks", root(home))["items"][0]["id"]
    assert asked(home, "unlink", child)["id"] == child
    assert asked(home, "subtasks", root_of(home))["items"] == []
    links = asked(home, "link", child, root_of(home))["links"]
    assert "manual" in [link["rule"] for link in links]
    assert asked(home, "subtasks", root_of(home))["items"][0]["id"] == child


def root_of(home: Path) -> str:
    """The oldest root: the one that began it all, whatever was unlinked since."""
    found: str = asked(home, "tasks", "--roots", "--limit", "0")["items"][-1]["id"]
    return found


def test_a_rebuild_moves_nothing(home: Path) -> None:
    assert asked(home, "rebuild", "--dry-run")["moved"] == []


def test_run_starts_a_server_captures_and_prints_the_tree(tmp_path: Path) -> None:
    def reply(path: str, headers: dict[str, str]) -> Reply:
        return 200, "application/json", json.dumps(ANSWER).encode()

    with scripted(reply) as upstream:
        told = ramify(tmp_path, "run", "--port", str(free_port()), "--", sys.executable, "-c", CLIENT,
                      ANTHROPIC_BASE_URL=f"http://127.0.0.1:{upstream.port}")  # fmt: skip
    assert json.loads(told.stdout) == ANSWER
    assert told.returncode == 0
    assert "✓ " in told.stderr
    assert "Say done" in told.stderr
    assert "1 task · 1 model call · 7 tokens" in told.stderr
    assert "x-api-key" in upstream.asked[0][1]


def test_lists_and_search_take_filters(home: Path) -> None:
    roots = asked(home, "tasks", "--roots")["items"]
    assert asked(home, "tasks", "is:root", "has:subtasks")["items"] == [task for task in roots if task["subtasks"]]
    assert asked(home, "tasks", "is:root", "-has:subtasks")["items"] == [task for task in roots if not task["subtasks"]]
    assert asked(home, "calls", "model:nobody*", "--limit", "0")["items"] == []
    assert asked(home, "conversations", "has:subtasks")["items"]
    assert asked(home, "search", "cellar", "is:sub", "-wine")["looked"] >= 0
    assert asked(home, "operations", "status:completed", "--limit", "5", "-agent:mcp*")["looked"] == 0


def test_tool_calls_take_filters_with_options_anywhere_among_them(home: Path) -> None:
    id = root(home)
    every = asked(home, "tools", id, "--tree")["items"]
    spawning = [tool for tool in every if tool["spawned"]]
    assert spawning
    assert asked(home, "tools", id, "--tree", "has:subtasks")["items"] == spawning
    assert asked(home, "tools", id, "has:subtasks", "--tree", "-tool:nobody*", "--limit", "0")["items"] == spawning
    assert asked(home, "tools", id, "-has:subtasks", "--tree")["items"] == [tool for tool in every if not tool["spawned"]]


def test_a_wrong_filter_is_one_line_and_a_wrong_option_is_still_one(home: Path) -> None:
    wrong = ramify(home, "tasks", "is:root", "statsu:failed")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "ramify: 'statsu:failed', at character 9 of the filter: there is no filter 'statsu' — did you mean status:?\n"
    assert "has no option '--stauts'" in ramify(home, "tasks", "--stauts").stderr
    assert "has no option '-x'" in ramify(home, "tasks", "-x").stderr


def test_sql_is_answered_in_every_form(home: Path, tmp_path: Path) -> None:
    query = "SELECT kind, count(*) AS n FROM ramify_tasks GROUP BY kind ORDER BY kind"
    assert "ramify_tasks" in asked(home, "sql")
    answer = asked(home, "sql", query)
    assert (answer["columns"], answer["more"]) == (["kind", "n"], False)
    assert ramify(home, "sql", query).stdout.split()[:2] == ["kind", "n"]
    written = ramify(home, "sql", "--format", "csv", query).stdout
    assert written == "kind,n\n" + "".join(f"{kind},{n}\n" for kind, n in answer["rows"])
    assert ramify(home, "sql", "--format", "csv", "--to", str(tmp_path / "a.csv"), query).stdout == ""
    assert (tmp_path / "a.csv").read_text() == written
    cut = ramify(home, "sql", "--limit", "1", query)
    assert cut.stderr == "1 rows shown, there are more: --limit 0 for all\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["DELETE FROM tasks"], "a query may not do anything but read"),
        (["SELECT x"], "no such column: x"),
        (["SELECT 1", "--timeout", "soon"], "--timeout is 'soon'"),
        (["SELECT 1", "--format", "parquet"], "--to FILE"),
        (["SELECT 1", "--to", "x"], "a table is for the eye"),
        (["SELECT 1", "--format", "xml"], "--format must be one of"),
    ],
)
def test_a_wrong_query_is_one_line(home: Path, words: list[str], line: str) -> None:
    told = ramify(home, "sql", *words)
    assert (told.returncode, told.stdout) == (2, "")
    assert line in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_parquet_is_written_or_the_package_for_it_named(home: Path, tmp_path: Path) -> None:
    told = ramify(home, "sql", "--format", "parquet", "--to", str(tmp_path / "a.parquet"), "SELECT id, calls, cost_usd FROM ramify_tasks")
    try:
        from pyarrow import parquet  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        assert (told.returncode, "ramify[parquet]" in told.stderr) == (2, True)
        return
    assert told.returncode == 0, told.stderr
    assert parquet.read_table(tmp_path / "a.parquet").column_names == ["id", "calls", "cost_usd"]


def test_a_run_whose_api_could_not_be_reached_says_so_where_one_reads_on(tmp_path: Path) -> None:
    port = free_port()
    run = ramify(tmp_path, "run", "--port", str(free_port()), "--anthropic-upstream", f"http://127.0.0.1:{port}", "--", sys.executable, "-c", CLIENT)
    assert "failed" in run.stdout + run.stderr
    (task,) = asked(tmp_path, "tasks")["items"]
    said = ramify(tmp_path, "messages", task["id"])
    assert "✗ the API refused: 502 api_error: ramify: cannot reach upstream" in said.stdout
