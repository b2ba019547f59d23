"""Folders beside a store for rows that are derived apart: what was said stands in them, so none outlives its process for long."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ramify.storage.base import Store


@contextmanager
def scratch_folder(store: Store, act: str) -> Iterator[Path]:
    """For this process alone. What one that was killed left behind goes first: nobody holds its lock."""
    beside = Path(store.path).parent if store.path else Path(tempfile.gettempdir())
    name = hashlib.sha256(f"{store.url} {store.fact('identity')!r}".encode()).hexdigest()[:16]
    for left in beside.glob(f"ramify-*-{name}*"):
        with suppress(FileNotFoundError):  # its process has just ended
            take_away(left)
    place, held = locked_folder(beside, f"ramify-{act}-{name}-")
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        held.close()


def take_away(left: Path) -> None:
    if not is_ours(left):
        return
    with (left / "lock").open("wb") as lock:
        if try_lock(lock.fileno()):
            shutil.rmtree(left, ignore_errors=True)


def is_ours(folder: Path) -> bool:
    """Where everybody may make folders, one of that name need not be."""
    return not hasattr(os, "getuid") or folder.lstat().st_uid == os.getuid()


def locked_folder(beside: Path, lead: str) -> tuple[Path, IO[bytes]]:
    """It has its name once it is locked."""
    made = Path(tempfile.mkdtemp(prefix="ramify-new-", dir=beside))
    held = (made / "lock").open("wb")
    try_lock(held.fileno())
    return made.rename(beside / f"{lead}{made.name.removeprefix('ramify-new-')}"), held


def try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:
        return True  # a system without such locks has no writer of its own either
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
