"""A store's address is shown often, and its password never, wherever somebody has written it."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bench.ports import free_port
from ramify.cli.acting import is_same
from ramify.cli.main import main
from ramify.recording import checked
from ramify.settings import load
from ramify.storage.address import shown
from tests.cli.test_main import environment, ramify
from tests.contracts.engines import cluster, to_be_had
from tests.story import CASES

CASE = str(CASES / "anthropic" / "subtask-task" / "exchanges.jsonl")
SECRET = "Hidden99"
CLOSED = "127.0.0.1:1/db"
ADDRESSES = [
    *(f"{scheme}://me:{password}@{CLOSED}"
      for scheme in ("postgresql", "postgres", "clickhouse", "mysql")
      for password in (SECRET, f"{SECRET}%2Fx", f"a/{SECRET}", f"{SECRET}/a", f"1/{SECRET}", f"a@{SECRET}", f"{SECRET}@a", f"a?{SECRET}", f"1?{SECRET}=x",
                       f"a#{SECRET}", f"1#{SECRET}", f"a[{SECRET}", f"%{SECRET}", f"{SECRET}%00", f"a:{SECRET}", f"ﬁ{SECRET}", f"{SECRET} x")),
    *(f"{scheme}://{rest}"
      for scheme in ("postgresql", "clickhouse")
      for rest in (f"me:{SECRET}", f"{CLOSED}?password={SECRET}", f"{CLOSED}?user=me&password={SECRET}&schema=own", f"{CLOSED}?sslpassword={SECRET}",
                   f"{CLOSED}?{SECRET}", f"{CLOSED}?password=a@{SECRET}", f"{CLOSED}?password={SECRET}@a", f"{CLOSED}?passwd={SECRET}",
                   f"{CLOSED};password={SECRET}", f"{CLOSED}?schema=own;password={SECRET}", f"{CLOSED}#{SECRET}", f"{CLOSED}?password=%{SECRET}")),
    f"postgres:me:{SECRET}@{CLOSED}", f"host=127.0.0.1 port=1 password={SECRET}", f" postgresql://me:{SECRET}@{CLOSED}", f"POSTGRESQL://me:{SECRET}@{CLOSED}",
]  # fmt: skip
COMMANDS = [
    ["doctor"], ["stats"], ["tree", "x"], ["search", "x"], ["sql", "SELECT 1"], ["import", CASE], ["rebuild"], ["forget", "x"],
    ["token", "list"], ["export", "x", "-"], ["rekey"],
]  # fmt: skip


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("RAMIFY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


@pytest.mark.parametrize(("address", "wanted"), [
    ("postgresql://me:secret@db/ramify?sslpassword=x", "postgresql://db/ramify"),
    ("postgresql://me:se/cret@db/ramify?schema=one&user=me", "postgresql://db/ramify?schema=one"),
    ("postgresql://me@one:5432,two:5433/ramify", "postgresql://one:5432,two:5433/ramify"),
    ("postgresql://[::1]:5432/ramify", "postgresql://[::1]:5432/ramify"),
    ("postgresql:///ramify?host=/tmp&password=x", "postgresql:///ramify?host=/tmp"),
    ("clickhouse://u:p%40@h:8123/d?cluster=c", "clickhouse://h:8123/d?cluster=c"),
    ("postgresql://u:a?b@h/d", "postgresql://…"),
    ("sqlite:/a@b/c.db", "sqlite:/a@b/c.db"), ("memory:", "memory:"), ("/data/ramify.db", "/data/ramify.db"),
])  # fmt: skip
def test_an_address_says_where_a_store_is(address: str, wanted: str) -> None:
    assert shown(address) == wanted


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_command_shows_a_password(address: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Not those that cannot open it, either: most of what is wrong with an address is wrong with its password."""
    assert SECRET not in shown(address)
    for command in (*([*words, "--store", address] for words in COMMANDS), ["copy", address, f"sqlite:{tmp_path}/x.db"], ["copy", f"sqlite:{tmp_path}/y.db", address]):
        assert main(command) in (1, 2), command
    for stray in ([address], [f"--store={address}"], ["stats", address], ["stats", f"--stroe={address}"], ["copy", "memory:", "memory:", address]):
        assert main(stray) == 2, stray
    with pytest.raises(Exception, match="a program cannot record") as refused:
        checked(load({"store": address}, {}))
    told = capfd.readouterr()
    assert SECRET not in told.out + told.err + str(refused.value)
    assert "Traceback" not in told.err


@pytest.mark.parametrize("place", ["in front", "in the options"])
def test_a_server_and_those_who_ask_it_show_no_password(place: str, tmp_path: Path) -> None:
    to_be_had("postgres")
    plain = cluster().url
    address = plain.replace("ramify@", f"ramify:{SECRET}@") + "?schema=hidden" if place == "in front" else f"{plain}?schema=hidden&password={SECRET}"
    where = plain.replace("ramify@", "") + "?schema=hidden"
    with serving(tmp_path, address) as (port, said):
        base = f"http://127.0.0.1:{port}"
        answers = {path: asked(f"{base}{path}") for path in ("/api/health", "/api/stats", "/api/ready", "/metrics")}
        titles = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.parent.exists() and str(port).encode() in environ_of(path)]
        commands = [ramify(tmp_path, *words, RAMIFY_STORE=address, RAMIFY_PORT=str(port)) for words in (["doctor"], ["doctor", "--json"], ["stats", "--json"], ["sql", "SELECT 1 AS one"])]
        assert is_same(json.loads(answers["/api/health"])["store"], address)
    assert json.loads(answers["/api/health"])["store"] == json.loads(answers["/api/stats"])["store"]["url"] == where
    assert any(where in line for line in said)
    assert len(titles) >= 2  # the writer's as well
    for text in (*answers.values(), *said, *(f"{one.stdout}{one.stderr}" for one in commands)):
        assert SECRET not in text
    assert all(SECRET.encode() not in title for title in titles)


@pytest.mark.parametrize("address", [
    f"postgresql://me:{SECRET}@{CLOSED}", f"postgresql://{CLOSED}?password={SECRET}", f"clickhouse://me:{SECRET}@{CLOSED}",
    f"postgresql://me:a/{SECRET}@{CLOSED}", f"mysql://me:{SECRET}@{CLOSED}",
])  # fmt: skip
def test_a_server_whose_store_is_away_shows_no_password(address: str, tmp_path: Path) -> None:
    """It starts and waits for the store, or is refused where the address cannot be one."""
    world = environment(tmp_path, RAMIFY_STORE=address, RAMIFY_PORT=str(free_port()))
    with subprocess.Popen([sys.executable, "-m", "ramify", "serve"], env=world, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        assert child.stdout is not None
        said = next(line for line in child.stdout if "store" in line)
        health = ""
        with suppress(OSError):
            health = asked(f"http://127.0.0.1:{world['RAMIFY_PORT']}/api/health")
        child.send_signal(signal.SIGTERM)
        said += child.stdout.read()
        child.wait(timeout=60)
    assert "127.0.0.1:1" in said
    assert SECRET not in said + health


def environ_of(title: Path) -> bytes:
    try:
        return (title.parent / "environ").read_bytes()
    except OSError:
        return b""


def asked(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as response:
        return str(response.read().decode())


@contextmanager
def serving(home: Path, address: str) -> Iterator[tuple[int, list[str]]]:
    """The address comes by the environment, as it should where it holds a password; all that is said is gathered."""
    port, said = free_port(), list[str]()
    world = environment(home, RAMIFY_STORE=address, RAMIFY_PORT=str(port))
    with subprocess.Popen([sys.executable, "-m", "ramify", "serve"], env=world, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        for line in child.stderr:
            said.append(line)
            if "store:" in line:
                break
        yield port, said
        child.send_signal(signal.SIGTERM)
        said.extend(child.communicate(timeout=30)[1].splitlines())


def test_acts_go_to_the_server_of_the_same_store_only() -> None:
    assert is_same("postgresql://db/ramify", "postgresql://me:x@db/ramify")
    assert not is_same("postgresql://db/ramify", "postgresql://me:x@db/ramify?schema=other")
    assert not is_same("postgresql://…", "postgresql://me:a?b@db/ramify")
    assert not is_same(None, "memory:")
