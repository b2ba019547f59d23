"""`ramify doctor` is asked when something is wrong: what is wrong with the store must not keep it from looking at the rest."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bench.ports import free_port
from ramify.diagnosis import checks
from ramify.settings import load
from ramify.spool import Spool
from ramify.spools import spool_folder
from ramify.wiring import open_store
from tests import postgres
from tests.cli.test_main import ramify
from tests.test_spool import record

WITHOUT = ["space", "spool", "server", "upstream", "client"]


def test_a_store_that_is_away_is_one_trouble_among_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    port, store = free_port(), "postgresql://me@127.0.0.1:1/db"
    folder = spool_folder(load({"store": store, "port": str(port)}, {}))
    assert folder is not None
    Spool(folder, 100_000).append([record(1), record(2)])
    told = ramify(tmp_path, "doctor", "--json", "--store", store, "--port", str(port))
    found = {check["check"]: check for check in json.loads(told.stdout)}
    assert (told.returncode, list(found)) == (1, ["store", *WITHOUT])
    assert (found["store"]["status"], "Connection refused" in found["store"]["message"]) == ("fail", True)
    assert (found["spool"]["status"], found["spool"]["message"]) == ("warn", "2 observations wait in the spool")
    assert f":{port}" in found["server"]["message"]
    assert found["space"]["message"].endswith("free beside the spool")


def test_an_address_that_cannot_be_read_is_one_trouble_among_others(tmp_path: Path) -> None:
    told = ramify(tmp_path, "doctor", "--json", "--store", "postgresql://me:a/b@h/db")
    assert told.returncode == 1
    assert [check["check"] for check in json.loads(told.stdout)] == ["store", "server", "upstream", "client"]


def test_a_store_that_is_a_folder_is_one_trouble_among_others(tmp_path: Path) -> None:
    told = ramify(tmp_path, "doctor", "--store", f"sqlite:{tmp_path}")
    assert (told.returncode, told.stderr) == (1, "")
    assert "name a file in it" in told.stdout
    assert "ANTHROPIC_BASE_URL" in told.stdout


def test_a_store_that_goes_away_meanwhile_ends_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if why := postgres.missing():
        assert not os.environ.get("CI"), why
        pytest.skip(why)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with TemporaryDirectory(prefix="ramify-own-") as folder:
        own = postgres.Cluster(Path(folder) / "own", fsync="off")
        store = open_store(own.url)
        own.kill()
        found = [(check["check"], check["status"]) for check in checks(store, load({"store": own.url, "port": str(free_port())}, {}))]
        store.close()
    assert found[0] == ("store", "fail")
    assert [check for check, _ in found[1:]] == ["server", "upstream", "client"]  # no spool was ever needed
