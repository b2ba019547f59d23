"""What is kept is its owner's alone, whatever the umask; and what others can read already is told."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.soaked import Server, locked
from ramify.app import Ramify
from ramify.demo.scenario import play, script
from ramify.demo.upstream import serving
from ramify.ingest import Ingest
from ramify.spool import Spool
from ramify.storage.private import private_file, private_folder
from ramify.storage.sqlite import open_sqlite
from ramify.upgrading import alone_in
from tests.story import exchanges

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files have no modes there")


@pytest.fixture(autouse=True)
def lax() -> Iterator[None]:
    """As most machines have it; what is started here has it as well."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}


def expected(found: dict[str, int], folder: Path) -> dict[str, int]:
    return {name: 0o700 if (folder / name).is_dir() else 0o600 for name in found}


async def test_everything_that_a_server_writes_is_its_owners(tmp_path: Path) -> None:
    own = tmp_path / "made" / "by us"
    async with serving(script(0.1)) as upstream:
        server = Server(tmp_path, upstream.url, "--log-file", str(own / "ramify.log"), store=f"sqlite:{own}/ramify.db")
        await server.start()
        await play(server.address, 0.0)
        await server.until(lambda health: health["capture"]["stored"])
        with locked(own / "ramify.db"):
            asking = asyncio.create_task(play(server.address, 0.0))
            await server.until(lambda health: health["capture"]["spooled"])
            found = modes(tmp_path / "made")
            await asyncio.gather(asking, return_exceptions=True)
        server.end(signal.SIGTERM)
    names = {Path(name).name for name in found}
    assert names >= {"ramify.db", "ramify.db-wal", "ramify.db-shm", "ramify.db.search", "ramify.db.spool", "lock", "lost", "position", "ramify.log"}
    assert any(name.endswith(".segment") for name in names)
    assert found == expected(found, tmp_path / "made")
    assert modes(tmp_path)["made"] == 0o700


def test_copies_rebuilt_stores_and_what_lies_beside_them_are_their_owners(tmp_path: Path) -> None:
    own = tmp_path / "own"
    store = open_sqlite(f"sqlite:{own}/ramify.db")
    Ingest(store).step([seen for story in exchanges("anthropic", "linear") for seen in story])
    store.close()
    for words in (["copy", f"sqlite:{own}/ramify.db", f"sqlite:{own}/copy/ramify.db"], ["rebuild", "--store", f"sqlite:{own}/ramify.db"]):
        subprocess.run([sys.executable, "-m", "ramify", *words], check=True, capture_output=True)
    Spool(own / "deep" / "spool", 1 << 20).append([seen for story in exchanges("anthropic", "linear") for seen in story])
    with alone_in(own / "deriving", wait=False):
        pass
    found = modes(own)
    assert "copy/ramify.db" in found
    assert found == expected(found, own)


def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    folder, file = tmp_path / "theirs", tmp_path / "theirs" / "ramify.db"
    folder.mkdir()
    file.touch(0o640)
    private_folder(folder)
    private_file(file)
    open_sqlite(f"sqlite:{file}").close()
    assert modes(tmp_path) == {"theirs": 0o755, "theirs/ramify.db": 0o640, "theirs/ramify.db.search": 0o600}
    for nowhere in (file, file / "below"):
        with pytest.raises(FileExistsError):
            private_folder(nowhere)


def test_a_link_to_a_file_that_is_not_there_yet_is_followed(tmp_path: Path) -> None:
    (tmp_path / "ramify.db").symlink_to(tmp_path / "elsewhere.db")
    open_sqlite(f"sqlite:{tmp_path}/ramify.db").close()
    assert stat.S_IMODE((tmp_path / "elsewhere.db").stat().st_mode) == 0o600


@pytest.fixture
def passable() -> Iterator[Path]:
    """A folder that others can reach: pytest's own are within one that nobody can."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_doctor_says_what_others_can_read_and_what_to_do(passable: Path) -> None:
    ramify = Ramify.open(f"sqlite:{passable}/a store.db", create=True)
    Spool(passable / "a store.db.spool", 1 << 20)

    def said() -> tuple[str, str, str]:
        [check] = [check for check in ramify.doctor() if check["check"] == "privacy"]
        return check["status"], check["message"], check["hint"]

    assert said() == ("ok", "nobody else on this machine can read the store", None)
    for path in passable.iterdir():
        path.chmod(0o755 if path.is_dir() else 0o644)
    status, message, hint = said()
    assert (status, message) == ("warn", "others on this machine can read a store.db and what is beside it")
    subprocess.run(hint, shell=True, check=True)
    assert said()[0] == "ok"
    assert not any(mode & 0o077 for mode in modes(passable).values())
    for path in passable.iterdir():
        path.chmod(0o755 if path.is_dir() else 0o644)
    passable.chmod(0o700)  # nobody gets there
    assert said()[0] == "ok"
    ramify.close()
