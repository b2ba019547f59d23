"""What goes wrong outside of us, at the real command line: one line that says what to do, and nothing is lost."""

import json
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.ports import free_port
from bench.soaked import locked
from bench.traffic import traffic
from ramify.model.observation import Request, Response
from ramify.storage.sqlite import open_sqlite
from tests.cli.test_main import environment, ramify
from tests.story import CASES

CASE = CASES / "anthropic" / "subtask-task" / "exchanges.jsonl"
ASKED = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}).encode()


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:{tmp_path}/store.db"
    assert ramify(tmp_path, "import", str(CASE), "--store", url).returncode == 0
    return url


def told(home: Path, *words: str) -> tuple[int, str]:
    """Exit status and the one line."""
    found = ramify(home, *words)
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1, found.stderr
    return found.returncode, found.stderr


def calls(url: str) -> int:
    store = open_sqlite(url)
    try:
        return store.count("calls")
    finally:
        store.close()


@contextmanager
def serving(home: Path, *words: str) -> Iterator[int]:
    """A real server, until its first words; ended politely."""
    port = free_port()
    command = [sys.executable, "-m", "ramify", "serve", "--port", str(port), *words]
    with subprocess.Popen(command, env=environment(home), stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        assert "listens" in child.stderr.readline()
        yield port
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=30)
        assert child.returncode == 0


def post(port: int) -> tuple[int, Any]:
    asking = urllib.request.Request(f"http://127.0.0.1:{port}/v1/messages", ASKED, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(asking, timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


# -- ids ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["tree", "show", "why", "messages", "tool", "unlink"])
def test_an_unknown_id_is_not_found(tmp_path: Path, store: str, command: str) -> None:
    status, line = told(tmp_path, command, "toolu_none", "--store", store)
    assert (status, line[:40]) == (1, "ramify: nothing has the id 'toolu_none' ")
    assert "ramify tasks" in line


def test_an_ambiguous_id_lists_what_it_could_be(tmp_path: Path, store: str) -> None:
    assert ramify(tmp_path, "import", str(CASE), "--store", store, "--project", "other").returncode == 0
    exchange = json.loads(CASE.read_text().splitlines()[0])["id"]
    found = ramify(tmp_path, "show", exchange, "--store", store)
    assert (found.returncode, found.stdout) == (2, "")
    first, *candidates = found.stderr.splitlines()
    assert exchange in first
    assert len(candidates) == 2
    assert all(line.strip().startswith("call_") for line in candidates)
    assert ramify(tmp_path, "show", candidates[0].split()[0], "--store", store).returncode == 0


@pytest.mark.parametrize("command", ["tasks", "calls", "conversations", "operations", "events", "lint", "sql"])
def test_a_limit_that_no_list_is_as_long_as_is_none(tmp_path: Path, store: str, command: str) -> None:
    found = ramify(tmp_path, command, *(["SELECT 1"] if command == "sql" else []), "--limit", "9" * 30, "--store", store)
    assert (found.returncode, "Traceback" in found.stderr) == (0, False), found.stderr


# -- stores ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["tasks", "serve", "rebuild"])
def test_a_store_that_is_a_folder_is_refused(tmp_path: Path, command: str) -> None:
    assert told(tmp_path, command, "--store", f"sqlite:{tmp_path}") == (
        2, f"ramify: the store sqlite:{tmp_path} is a folder — name a file in it, such as ramify.db\n",
    )  # fmt: skip


@pytest.mark.parametrize("path", ["/proc/ramify.db", "/proc/none/ramify.db", "/dev/null/ramify.db"])
def test_a_place_where_nothing_can_be_written_is_refused(tmp_path: Path, path: str) -> None:
    status, line = told(tmp_path, "import", str(CASE), "--store", f"sqlite:{path}")
    assert status == 2
    assert f"the store sqlite:{path} cannot be opened" in line
    assert line.endswith("check the path, its permissions and the free space\n")


def test_a_file_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.db"
    connection = sqlite3.connect(theirs)
    connection.execute("CREATE TABLE recipes (name)")
    connection.commit()
    connection.close()
    before = theirs.read_bytes()
    for command in ("tasks", "serve", "rebuild"):
        status, line = told(tmp_path, command, "--store", f"sqlite:{theirs}")
        assert (status, "is a database of another program — choose another file" in line) == (2, True)
    assert theirs.read_bytes() == before
    diary = tmp_path / "diary.txt"
    diary.write_text("Dear diary, " * 50)
    assert told(tmp_path, "serve", "--store", f"sqlite:{diary}") == (
        2, f"ramify: the file of sqlite:{diary} is no Ramify store — choose another file with --store sqlite:PATH\n",
    )  # fmt: skip
    assert diary.read_text() == "Dear diary, " * 50


def test_a_store_that_another_program_holds_is_read_and_not_written(tmp_path: Path, store: str) -> None:
    with locked(tmp_path / "store.db"):
        assert ramify(tmp_path, "tasks", "--store", store).returncode == 0
        for words in (["rebuild"], ["serve", "--port", str(free_port())]):
            status, line = told(tmp_path, *words, "--store", store)
            assert status == 2
            assert "database is locked — stop other writers" in line
    assert ramify(tmp_path, "rebuild", "--store", store).returncode == 0


def test_a_search_index_that_another_program_holds_stops_no_import(tmp_path: Path, store: str) -> None:
    with locked(tmp_path / "store.db.search"):
        found = ramify(tmp_path, "import", str(CASE), "--store", store, "--project", "other")
    assert (found.returncode, "4 observations new" in found.stdout) == (0, True)
    assert "the search index lags behind" in found.stderr


def test_a_damaged_store_is_told_and_not_shown_as_a_bug(tmp_path: Path, store: str) -> None:
    path = tmp_path / "store.db"
    raw = bytearray(path.read_bytes())
    raw[8192:] = b"\xa5" * (len(raw) - 8192)
    path.write_bytes(raw)
    status, line = told(tmp_path, "calls", "--store", store)
    assert status == 2
    assert "malformed" in line
    assert "doctor" in line or "check the path" in line


def exchanges(path: Path, count: int) -> Path:
    """A file that is large enough to fill a small disk."""
    with path.open("w") as file:
        for batch in traffic(count, turns=10, width=2):
            asked = {seen.id: seen for seen in batch if isinstance(seen, Request)}
            for seen in batch:
                if isinstance(seen, Response):
                    request = asked[seen.request]
                    line = {
                        "id": request.id, "started": "2026-10-01T00:00:00Z", "ended": "2026-10-01T00:00:01Z",
                        "request": {"method": "POST", "path": request.path, "headers": dict(request.headers), "body": json.loads(request.body)},
                        "response": {"status": 200, "headers": dict(seen.headers), "sse": seen.body.decode()},
                    }  # fmt: skip
                    file.write(json.dumps(line) + "\n")
    return path


def test_a_full_disk_is_told_and_the_same_import_goes_on_later(tmp_path: Path) -> None:
    """A limit on the size of files fails a write as a full disk does."""
    url, source = f"sqlite:{tmp_path}/store.db", exchanges(tmp_path / "many.jsonl", 500)
    command = [sys.executable, "-m", "ramify", "import", str(source), "--store", url]
    found = subprocess.run(
        command, env=environment(tmp_path), capture_output=True, text=True, timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, resource.RLIM_INFINITY)),
    )  # fmt: skip
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert "free some space, then do the same again" in found.stderr
    again = ramify(tmp_path, "import", str(source), "--store", url)
    assert again.returncode == 0, again.stderr
    assert calls(url) == 500
    moved = ramify(tmp_path, "rebuild", "--dry-run", "--json", "--store", url)
    assert json.loads(moved.stdout)["moved"] == []


# -- servers -----------------------------------------------------------------------------------------------------------


def test_a_port_in_use_is_told(tmp_path: Path, store: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, line = told(tmp_path, "serve", "--store", store, "--port", str(port))
    assert status == 2
    assert line.startswith(f"ramify: cannot listen on 127.0.0.1:{port}: Address already in use — ")
    assert "--port" in line


@pytest.mark.parametrize("host", ["192.0.2.7", "no-such-host.invalid"])
def test_an_address_that_this_machine_does_not_have_is_not_taken_for_one_in_use(tmp_path: Path, store: str, host: str) -> None:
    status, line = told(tmp_path, "serve", "--store", store, "--host", host, "--port", str(free_port()), "--token", "for-tests-only")
    assert status == 2
    assert "this machine has no such address; --host 127.0.0.1" in line


@pytest.mark.parametrize("url", ["sqlite:", "sqlite::memory:"])
def test_what_is_imported_is_never_put_where_it_is_gone_with_the_program(tmp_path: Path, url: str) -> None:
    status, line = told(tmp_path, "import", "--store", url, str(tmp_path))
    assert (status, "names no file" in line) == (2, True)


def test_a_spool_that_cannot_be_made_is_told_at_the_start(tmp_path: Path, store: str) -> None:
    (tmp_path / "store.db.spool").write_text("in the way")
    status, line = told(tmp_path, "serve", "--store", store, "--port", str(free_port()))
    assert (status, "store.db.spool" in line, "another --store" in line) == (2, True, True)


def test_a_dead_upstream_is_told_to_the_client_and_recorded(tmp_path: Path) -> None:
    url, nowhere = f"sqlite:{tmp_path}/store.db", f"http://127.0.0.1:{free_port()}"
    with serving(tmp_path, "--store", url, "--anthropic-upstream", nowhere) as port:
        status, body = post(port)
    assert status == 502
    assert body["error"]["message"].startswith(f"ramify: cannot reach upstream {nowhere}")
    assert "--anthropic-upstream" in body["error"]["message"]
    items = json.loads(ramify(tmp_path, "calls", "--json", "--store", url).stdout)["items"]
    assert [call["status"] for call in items] == ["error"]


def test_a_server_that_still_waits_for_its_store_ends_when_it_is_told(tmp_path: Path) -> None:
    """As the first process of a container it would not hear of it, and be killed a minute later."""
    pytest.importorskip("psycopg")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = f"postgresql://ramify@127.0.0.1:{silent.getsockname()[1]}/ramify?connect_timeout=60"
        command = [sys.executable, "-m", "ramify", "serve", "--port", str(free_port()), "--store", store]
        with subprocess.Popen(command, env=environment(tmp_path), stderr=subprocess.PIPE, text=True) as child:
            silent.settimeout(30)
            asking, _ = silent.accept()
            child.send_signal(signal.SIGTERM)
            told = child.communicate(timeout=10)[1]
            asking.close()
    assert (child.returncode, told) == (0, "")


# -- files -------------------------------------------------------------------------------------------------------------


def test_unreadable_lines_are_named_kept_and_stop_nothing(tmp_path: Path) -> None:
    url, source = f"sqlite:{tmp_path}/store.db", tmp_path / "some.jsonl"
    good = CASE.read_bytes().splitlines()
    source.write_bytes(b"\n".join([good[0], b'{"broken', *good[1:], b"\xff\xfe"]) + b"\n")
    found = ramify(tmp_path, "import", str(source), "--store", url)
    assert found.returncode == 0
    lines = found.stderr.splitlines()
    assert [line.split(": ")[0] for line in lines] == [f"{source}:2", f"{source}:{len(good) + 2}"]
    assert all(line.count(str(source)) == 1 for line in lines)
    assert calls(url) == len(good)
    store = open_sqlite(url)
    assert [seen.body for _, seen in store.observations() if type(seen).__name__ == "Record"] == [b'{"broken', b"\xff\xfe"]
    store.close()


def test_a_file_that_is_in_no_known_format_is_refused_whole(tmp_path: Path, store: str) -> None:
    page = tmp_path / "page.html"
    page.write_text("<html>")
    status, line = told(tmp_path, "import", str(page), "--store", store)
    assert (status, f"{page} is in no format that Ramify knows — say which with --format" in line) == (2, True)


# -- agents and brokers ------------------------------------------------------------------------------------------------


def test_an_agent_that_does_not_answer_is_named_and_what_to_do_is_said(tmp_path: Path) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    status, line = told(tmp_path, "follow", nowhere, "--say", "hello", "--store", f"sqlite:{tmp_path}/x.db")
    assert (status, f"nobody answers at {nowhere}/" in line) == (1, True)
    assert line.endswith("— start the agent, or check its address; --task ID goes on with a task that was begun\n")


def test_a_server_that_is_no_agent_is_told_apart_from_none(tmp_path: Path, store: str) -> None:
    with serving(tmp_path, "--store", store) as port:
        status, line = told(tmp_path, "follow", f"http://127.0.0.1:{port}/nobody", "--say", "hello", "--store", f"sqlite:{tmp_path}/x.db")
    assert (status, "there is no agent card at " in line) == (1, True)
    assert "— give the address of the agent itself, or of its card" in line


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["solace"], "no namespace is given — use --namespace NS"),
        (["solace", "--namespace", "demo"], "no broker is given — use --host URL"),
        (["solace", "--namespace", "demo", "--host", "tcp://127.0.0.1:9"], "log in as — set the variables SOLACE_BROKER_USERNAME"),
        (["mqtt", "--namespace", "demo", "--host", "mqtt://a:b@127.0.0.1:9"], "holds a name or a password — give them in the environment"),
        (["mqtt", "--namespace", "demo", "--host", "mqtt://127.0.0.1:9"], "cannot be reached"),
        (["mqtt", "--replay", "/nowhere.jsonl"], "/nowhere.jsonl cannot be read"),
    ],
)
def test_a_broker_that_cannot_be_heard_is_told_and_no_store_is_made_for_it(tmp_path: Path, words: list[str], hint: str) -> None:
    if "mqtt://127.0.0.1:9" in words:
        pytest.importorskip("paho.mqtt", reason="MQTT needs its client")
    status, line = told(tmp_path, "listen", *words, "--store", f"sqlite:{tmp_path}/new.db")
    assert (status, hint in line) == (2, True), line
    assert list(tmp_path.iterdir()) == []
