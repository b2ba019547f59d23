"""Where log lines go: to standard error, or to a file that never grows beyond its bounds.

Several processes write to the file. The server turns it over; the others notice, and go on in the new one.
"""

import logging
import os
import sys
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler, WatchedFileHandler
from pathlib import Path

from ramify.model.mistake import UserMistake
from ramify.model.steering import BUT_BREAKS, picture
from ramify.settings import Settings
from ramify.storage.private import FILE, private_folder

FORMAT = "%(asctime)s %(levelname)s %(message)s"
KEPT = 5  # files that were full, beside the one that is written to


def begin_log(settings: Settings, turns: bool = False) -> None:
    """`turns`: this process turns the file over when it is full."""
    logging.raiseExceptions = False  # a disk that is full keeps the line out, and nothing else
    handler = handler_of(settings, turns)
    handler.setFormatter(Harmless(FORMAT))
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)


class Harmless(logging.Formatter):
    """Names and paths in a line are somebody else's words, and logs are read in terminals."""

    def format(self, record: logging.LogRecord) -> str:
        return BUT_BREAKS.sub(picture, super().format(record))


def handler_of(settings: Settings, turns: bool) -> logging.Handler:
    if settings.log_file is None:
        return logging.StreamHandler(sys.stderr)
    path = Path(settings.log_file).expanduser()
    try:
        private_folder(path.parent)
        return Turning(path, maxBytes=settings.log_limit, backupCount=KEPT) if turns else Following(path)
    except OSError as problem:
        raise UserMistake(f"the log file {path} cannot be written: {problem.strerror}", "check --log-file and its permissions") from None


def opened(path: str) -> TextIOWrapper:
    """Nobody else's to read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE)
    return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")


class Turning(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        return opened(self.baseFilename)


class Following(WatchedFileHandler):
    def _open(self) -> TextIOWrapper:
        return opened(self.baseFilename)
