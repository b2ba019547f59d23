"""What was derived apart does not outlive who derived it."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ramify.storage.scratch import scratch_folder
from ramify.storage.sqlite import open_sqlite

KILLED = """
import os, signal, sys
from ramify.storage.scratch import scratch_folder
from ramify.storage.sqlite import open_sqlite
with scratch_folder(open_sqlite(sys.argv[1]), "trial") as place:
    (place / "rows").write_text("words")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def folders(place: Path) -> list[str]:
    return [path.name for path in place.iterdir() if path.is_dir()]


def test_several_have_their_own_and_leave_nothing(tmp_path: Path) -> None:
    store = open_sqlite(f"sqlite:{tmp_path}/store.db")
    with scratch_folder(store, "one") as one, scratch_folder(store, "other") as other:
        (one / "rows").write_text("words")
        with scratch_folder(store, "one"):
            assert len(folders(tmp_path)) == 3
        assert (one / "rows").exists()
        assert other.stat().st_mode & 0o777 == 0o700
    assert folders(tmp_path) == []
    store.close()


def test_what_one_that_was_killed_left_goes_with_the_next_and_that_of_another_store_stays(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/store.db"
    ran = subprocess.run([sys.executable, "-c", KILLED, url], check=False, capture_output=True, timeout=60, env=dict(os.environ))
    assert ran.returncode == -signal.SIGKILL, ran.stderr.decode()
    [left] = folders(tmp_path)
    (tmp_path / left / "lock").unlink()  # as an earlier version left it
    for name, stays in (("second", [left]), ("store", [])):
        store = open_sqlite(f"sqlite:{tmp_path}/{name}.db")
        with scratch_folder(store, "trial"):
            pass
        assert folders(tmp_path) == stays
        store.close()


def test_many_at_once_do_not_stumble_over_what_is_just_being_taken_away(tmp_path: Path) -> None:
    store = open_sqlite(f"sqlite:{tmp_path}/store.db")

    def come_and_go(number: int) -> None:
        for _ in range(60):
            with scratch_folder(store, f"trial{number}") as place:
                (place / "rows").write_text("words")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(come_and_go, range(8)))
    with scratch_folder(store, "last"):
        pass
    assert folders(tmp_path) == []
    store.close()
