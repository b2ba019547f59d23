"""The live feed and captured runs, against a scripted server."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ramify.cli.client import Event, Server, Unreachable, events
from ramify.cli.settling import wait_until_settled
from ramify.cli.tailing import FIRST_PAUSE, LONGEST_PAUSE, follow
from ramify.model.mistake import UserMistake
from ramify.query.service import NotFound
from ramify.settings import Settings
from tests.cli.samples import task, tree
from tests.cli.scripted_server import Reply, answer, feed, scripted
from tests.cli.test_main import environment, ramify

HEALTH = answer({"status": "ok", "seq": 7})


def server_at(port: int, token: str | None = None) -> Server:
    return Server(Settings(store="memory:", port=port, token=token))


def test_events_are_read_as_the_standard_says() -> None:
    lines = b": comment\r\n\r\nid: 1\ndata: a\ndata:b\n\nevent: x\ndata: c\n\nretry: 5\n\ndata: cut".splitlines(
        keepends=True
    )
    assert list(events(lines)) == [Event("1", "message", "a\nb"), Event("1", "x", "c")]


def test_the_feed_goes_on_where_it_was_and_waits_longer_each_time() -> None:
    replies = iter([feed((5, {}), (6, {})), feed((7, {})), *[feed()] * 7])
    with scripted(lambda path, headers: next(replies)) as script:
        pauses: list[float] = []
        found = follow(server_at(script.port), "4", pauses.append)
        seen = [next(found) for _ in range(12)]
    assert [each.id for each in seen if isinstance(each, Event)] == ["5", "6", "7"]
    assert [headers["last-event-id"] for _, headers in script.asked[:3]] == ["4", "6", "7"]
    assert pauses[:6] == [FIRST_PAUSE, FIRST_PAUSE, 1.0, 2.0, 4.0, 8.0]
    assert max(pauses) <= LONGEST_PAUSE


def test_a_token_is_presented_and_its_lack_is_explained() -> None:
    with scripted(lambda path, headers: answer({}, 200 if "authorization" in headers else 401)) as script:
        assert server_at(script.port, "secret").ask("stats") == {}
        assert script.asked[0][1]["authorization"] == "Bearer secret"
        with pytest.raises(UserMistake, match="wants a token"):
            server_at(script.port).ask("stats")


def test_the_servers_refusals_are_told_in_its_words() -> None:
    error = {"error": {"code": "not_found", "message": "nothing has the id 'x'", "hint": "look"}}
    with (
        scripted(lambda path, headers: answer(error, 404)) as script,
        pytest.raises(NotFound, match="id 'x'"),
    ):
        server_at(script.port).ask("tasks/x/tree")


def test_something_else_on_the_port_is_no_server_of_ours() -> None:
    with scripted(lambda path, headers: (200, "text/html", b"<html>")) as script:
        assert server_at(script.port).health() is None
        with pytest.raises(UserMistake, match="no Ramify server does"):
            server_at(script.port).ask("stats")
    with pytest.raises(Unreachable):
        server_at(9).ask("stats")


def test_the_log_is_settled_once_it_stands_still() -> None:
    places = iter([1, 2, 3, 3, 3, 3, 9])
    with scripted(lambda path, headers: answer({"seq": next(places)})) as script:
        assert wait_until_settled(server_at(script.port), lambda _: None) == 3


def tail(home: Path, port: int, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "ramify", "tail", "--port", str(port), *words]
    return subprocess.Popen(
        command,
        env=environment(home, COLUMNS="120"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_tail_prints_a_line_a_change_and_ends_quietly_when_interrupted(tmp_path: Path) -> None:
    change = {"changes": [{"task": task("task_b", "Find it\x1b[31m", agent="Explore", status="working")}]}

    def reply(path: str, headers: dict[str, str]) -> Reply:
        return HEALTH if path == "/api/health" else feed() if "last-event-id" in headers else feed((8, change))

    with scripted(reply) as script, tail(tmp_path, script.port) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=20)
    assert "◐ task  Explore  Find it␛[31m  working" in line
    assert child.returncode == 130
    assert "Traceback" not in said


def test_tail_as_json_is_a_document_a_line(tmp_path: Path) -> None:
    with scripted(lambda path, headers: HEALTH if "health" in path else feed((8, {"x": 1}))) as script:
        with tail(tmp_path, script.port, "--json", "--since", "3") as child:
            assert child.stdout is not None
            line = child.stdout.readline()
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=20)
        assert line == '{"seq": "8", "event": "change", "data": {"x": 1}}\n'
        assert script.asked[1][1]["last-event-id"] == "3"


def run(home: Path, port: int, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return ramify(home, "run", "--port", str(port), "--", *command, COLUMNS="100", **variables)


def test_run_gives_the_program_our_address_and_ends_with_its_status(tmp_path: Path) -> None:
    with scripted(lambda path, headers: HEALTH) as script:
        told = run(
            tmp_path,
            script.port,
            "sh",
            "-c",
            "echo $ANTHROPIC_BASE_URL $ANTHROPIC_CUSTOM_HEADERS; exit 7",
            ANTHROPIC_CUSTOM_HEADERS="a: b",
        )
    assert told.stdout == f"http://127.0.0.1:{script.port} a: b\n"
    assert told.returncode == 7
    assert "no traffic was seen" in told.stderr


def test_run_prints_the_tree_of_what_the_program_did(tmp_path: Path) -> None:
    places = iter([7, 8])
    fresh = tree() | {"opened": "2999-01-01T00:00:00Z"}

    def reply(path: str, headers: dict[str, str]) -> Reply:
        if path == "/api/health":
            return answer({"seq": next(places, 9)})
        if path.startswith("/api/tasks?"):
            return answer({"items": [fresh, task("task_old", "Before")], "next": None})
        return answer(fresh) if path == "/api/tasks/task_a/tree" else answer({}, 500)

    with scripted(reply) as script:
        told = run(tmp_path, script.port, "true")
    assert told.returncode == 0
    assert told.stdout == ""
    assert "├─ ✓ Explore  Find every use of Invoice" in told.stderr
    assert "7 tasks · 31 model calls" in told.stderr
    assert told.stderr.endswith(f"http://127.0.0.1:{script.port}/task/task_a\n")


def test_run_says_when_a_running_server_goes_elsewhere(tmp_path: Path) -> None:
    with scripted(lambda path, headers: HEALTH) as script:
        told = run(tmp_path, script.port, "true", ANTHROPIC_BASE_URL="https://gateway.example/")
        assert "its own upstream is used, not https://gateway.example" in told.stderr
        again = run(tmp_path, script.port, "true", ANTHROPIC_BASE_URL=f"http://localhost:{script.port}")
        assert "upstream" not in again.stderr


def test_run_says_when_no_server_can_be_started(tmp_path: Path) -> None:
    with scripted(lambda path, headers: (200, "text/html", b"not ours")) as script:
        told = run(tmp_path, script.port, "true")
    assert told.returncode == 2
    assert told.stderr.startswith(f"ramify: no server could be started at http://127.0.0.1:{script.port}: ")
    assert told.stderr.endswith(" — is the port taken? choose another with --port\n")
    assert len(told.stderr.splitlines()) == 1


def test_a_program_that_dies_of_a_signal_has_the_shells_status(tmp_path: Path) -> None:
    with scripted(lambda path, headers: HEALTH) as script:
        assert run(tmp_path, script.port, "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM


def test_signals_are_passed_on_to_the_program(tmp_path: Path) -> None:
    words = "trap 'echo got it; exit 5' TERM; echo ready; for each in $(seq 200); do sleep 0.05; done"
    with scripted(lambda path, headers: HEALTH) as script:
        command = [sys.executable, "-m", "ramify", "run", "--port", str(script.port), "--", "sh", "-c", words]
        child = subprocess.Popen(
            command, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        with child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            os.kill(child.pid, signal.SIGTERM)
            assert child.stdout.read() == "got it\n"
    assert child.returncode == 5
