"""Tokens and the audit on the command line, and a server in a process of its own that hears of a revocation."""

import io
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from bench.ports import free_port
from ramify.app import Ramify
from ramify.cli.main import main
from ramify.cli.session import user
from ramify.model.mistake import UserMistake
from ramify.served import open_served
from ramify.settings import Settings
from tests.story import exchanges


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ramify.db"
    monkeypatch.setenv("RAMIFY_STORE", f"sqlite:{path}")
    opened = Ramify.open(f"sqlite:{path}")
    opened._take([seen for story in exchanges("anthropic", "subtask-task") for seen in story])
    opened.close()
    return path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def audited(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    status, out, _ = said(capsys, "audit", "--json", *words)
    assert status == 0
    found: list[dict[str, Any]] = json.loads(out)["items"]
    return found


def test_a_token_is_printed_once_and_alone(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = said(capsys, "token", "create", "ci", "--scopes", "capture,read", "--projects", "billing", "--expires", "90d")
    assert status == 0
    assert out.startswith("rmf_")
    assert len(out) == 48
    assert "not shown again" in err
    status, again, _ = said(capsys, "token", "rotate", "ci", "--grace", "0s")
    assert again != out
    status, listed, _ = said(capsys, "token", "list")
    assert "capture,read" in listed
    assert "rmf_" not in listed
    assert said(capsys, "token", "revoke", "ci")[0] == 0
    assert "revoked" in said(capsys, "token", "list")[1]
    lines = audited(capsys)
    assert [(line["who"], line["act"], line["what"], line["way"]) for line in lines] == [
        (user(), f"token-{act}", "ci", "command") for act in ("revoke", "rotate", "create")
    ]
    for secret in (out.strip(), again.strip()):
        assert secret not in json.dumps(lines)
        assert secret.encode() not in store.read_bytes()


def test_the_project_of_the_command_is_the_tokens(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "token", "create", "one", "--scopes", "read", "--project", "billing")
    said(capsys, "token", "create", "all", "--scopes", "read", "--project", "billing", "--projects", "*")
    items = json.loads(said(capsys, "token", "list", "--json")[1])["items"]
    assert {item["name"]: item["projects"] for item in items} == {"one": ["billing"], "all": None}


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("create",), 2, "needs the NAME"),
        (("create", "x"), 2, "needs to know what it allows"),
        (("create", "x", "--scopes", "root"), 2, "no scope 'root'"),
        (("create", "x", "--scopes", "read", "--expires", "soon"), 2, "must be a time"),
        (("revoke", "nobody"), 1, "no token 'nobody'"),
        (("forge", "x"), 2, "must be one of create"),
    ],
)
def test_a_mistake_is_told_in_one_line(store: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, told: str) -> None:
    found, out, err = said(capsys, "token", *words)
    assert (found, out) == (status, "")
    assert told in err
    assert len(err.splitlines()) == 1


def test_what_is_done_to_a_store_by_commands_is_noted(store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tasks = json.loads(said(capsys, "tasks", "--json")[1])["items"]
    sub = next(task for task in tasks if task["link"])
    acts = (
        ("unlink", sub["id"]), ("link", sub["id"], sub["link"]["parent"]), ("unlink", sub["id"], "--withdraw"),
        ("sql", "SELECT count(*) FROM ramify_tasks"), ("export", sub["id"], str(tmp_path / "x.jsonl")), ("forget", sub["id"]),
        ("prune", "--older-than", "1d"),
    )  # fmt: skip
    for words in acts:
        assert said(capsys, *words)[0] == 0, words
    lines = audited(capsys)
    assert [(line["act"], line["what"]) for line in lines][::-1] == [
        ("unlink", sub["id"]), ("link", sub["id"]), ("withdraw", sub["id"]), ("sql", None), ("export", sub["id"]), ("forget", sub["id"]), ("prune", None),
    ]  # fmt: skip
    assert {line["who"] for line in lines} == {user()}
    assert [line["project"] for line in lines if line["act"] == "link"] == ["default"]
    assert [line["act"] for line in audited(capsys, "--act", "sql")] == ["sql"]
    assert audited(capsys, "--who", "nobody") == []
    assert len(audited(capsys, "--since", "1h")) == 7
    assert audited(capsys, "--since", "2999-01-01T00:00:00Z") == []
    assert "sql=SELECT count(*)" in said(capsys, "audit")[1]
    assert said(capsys, "sql", "SELECT value FROM facts")[0] == 2
    assert audited(capsys, "--act", "sql")[0]["more"] == {"sql": "SELECT value FROM facts", "failed": "yes"}
    assert said(capsys, "audit", "--since", "yesterday")[0] == 2
    exported = (tmp_path / "x.jsonl").read_text()
    assert '"audit"' not in exported


def test_an_agent_that_reads_bytes_is_noted(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    call = json.loads(said(capsys, "calls", "--json")[1])["items"][0]["id"]
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "bytes", "arguments": {"id": call, "part": "request"}}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "bytes", "arguments": {"id": call, "part": "request", "offset": 5}}},
    ]  # fmt: skip
    lines = io.BytesIO("".join(json.dumps(one) + "\n" for one in asked).encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(lines))
    monkeypatch.setattr("ramify.cli.mcp.write", lambda line: None)
    assert main(["mcp"]) == 0
    capsys.readouterr()
    assert [(line["act"], line["what"], line["way"]) for line in audited(capsys)] == [("read-body", call, "mcp")]


def asked(url: str, secret: str) -> int:
    request = urllib.request.Request(f"{url}/api/me", headers={"authorization": f"Bearer {secret}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def test_a_server_that_runs_hears_of_a_revocation(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = said(capsys, "token", "create", "ann", "--scopes", "read")[1].strip()
    port = str(free_port())
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "ramify", "serve", "--require-token", "yes", "--port", port]
    server = subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        for line in server.stderr:
            if "listens on" in line:
                break
        assert asked(url, secret) == 200
        assert asked(url, "") == 401
        assert said(capsys, "token", "revoke", "ann")[0] == 0
        began = time.monotonic()
        while asked(url, secret) == 200:
            assert time.monotonic() - began < 5
            time.sleep(0.1)
    finally:
        server.send_signal(signal.SIGTERM)
        _, told = server.communicate(timeout=30)
    assert secret not in told


def test_a_server_for_others_starts_only_where_somebody_can_be_told_apart(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(store=f"sqlite:{store}", host="0.0.0.0")
    said(capsys, "token", "create", "old", "--scopes", "read")
    said(capsys, "token", "revoke", "old")
    with pytest.raises(UserMistake, match="no token protects"):
        open_served(settings)
    said(capsys, "token", "create", "ann", "--scopes", "read")
    served = open_served(settings)
    assert served.access.guarded
    served.close()
