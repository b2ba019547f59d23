"""Files and folders that are their owner's alone, from their first moment on. What is there already stays as it is."""

import os
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
OTHERS_READ, OTHERS_PASS = 0o044, 0o011


def private_folder(folder: Path) -> None:
    """With those above it that are missing."""
    for one in reversed([folder, *folder.parents]):
        try:
            if not one.is_dir():
                one.mkdir(FOLDER)
        except FileExistsError:  # somebody else was quicker
            if not one.is_dir():
                raise


def private_file(path: str | Path) -> None:
    """Empty, where there is none. One that is there is not even opened: to close it would take the locks of this process from it,
    and SQLite has some. What cannot be made is told by whoever opens it next."""
    try:
        os.close(os.open(os.path.realpath(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE))
    except OSError:
        pass


def others_read(path: Path) -> bool:
    """Whether anybody but its owner can reach and read it. The administrator always can."""
    try:
        readable = path.stat().st_mode & OTHERS_READ
        return bool(readable) and all(above.stat().st_mode & OTHERS_PASS for above in path.absolute().parents)
    except OSError:
        return False
