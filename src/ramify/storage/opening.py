"""From the address of a store to the engine that keeps it."""

import os
from pathlib import Path

from ramify.model.mistake import Unreachable, UserMistake
from ramify.storage.address import shown
from ramify.storage.base import Store, StoreDown
from ramify.storage.sealing import unlock
from ramify.storage.sqlite import open_sqlite


def open_store(url: str, create: bool = True, busy_seconds: float = 5.0, seal: bool = True) -> Store:
    """With `seal`, one that is not encrypted becomes so where there is a key. What lives in memory is never at rest."""
    if url == "memory:":
        return open_sqlite(url)
    store = open_engine(url, create, busy_seconds)
    try:
        unlock(store, os.environ, seal)
    except StoreDown as problem:  # it went away since it was opened
        store.close()
        raise Unreachable(f"the store {shown(url)} cannot be opened: {problem}", "try again when nothing else holds it") from problem
    except BaseException:
        store.close()
        raise
    return store


def open_engine(url: str, create: bool, busy_seconds: float) -> Store:
    if url.startswith(("postgresql://", "postgres://", "clickhouse://")):
        return open_server(url, busy_seconds)
    if not url.startswith("sqlite:"):
        raise UserMistake(f"no engine for the store {shown(url)!r}", "use sqlite:PATH, postgresql://HOST/DATABASE, clickhouse://HOST/DATABASE or memory:")
    path = Path(named_file(url)).expanduser()
    if not create and not path.exists():
        raise UserMistake(f"there is no store at {path}", "capture something first: ramify run COMMAND, or ramify import FILE")
    return open_sqlite(url, busy_seconds)


def named_file(url: str) -> str:
    """SQLite takes no name, and one of its own, for a database that is gone with the connection: what came in would be, too."""
    path = url.removeprefix("sqlite:")
    if path in ("", ":memory:"):
        raise UserMistake(f"the store {url!r} names no file", "use sqlite:PATH, or memory: for a store that is gone with its program")
    return path


def open_server(url: str, busy_seconds: float) -> Store:
    """The driver is an extra: who keeps a file on a laptop need not have it."""
    extra = "clickhouse" if url.startswith("clickhouse:") else "postgres"
    try:
        if extra == "clickhouse":
            from ramify.storage.clickhouse import open_clickhouse

            return open_clickhouse(url, busy_seconds)
        from ramify.storage.postgres import open_postgres
    except ImportError as problem:
        raise UserMistake(f"the driver for {url.split('://')[0]} is not installed ({problem})", f"pip install 'ramify[{extra}]'") from problem
    return open_postgres(url, busy_seconds)
