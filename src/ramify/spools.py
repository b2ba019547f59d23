"""Where observations wait on this machine for a store: which folders are its own, who uses them, and what is in them."""

import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from msgspec import Struct

from ramify.ingest import Ingest
from ramify.model.mistake import UserMistake
from ramify.settings import Settings, user_folder
from ramify.spool import Spool, first_of, glance
from ramify.storage.address import split
from ramify.storage.base import Store, StoreDown
from ramify.storage.private import FILE, private_folder

log = logging.getLogger("ramify")
NAMING = ("schema", "cluster", "host", "port", "dbname")  # options of an address that say which store it is
BATCH = 1000
BATCH_BYTES = 16 * 2**20
TURN_SECONDS = 5.0  # then a server that begins may have its spool
PAUSE_SECONDS = 0.2
START_SECONDS = 20.0
AWAY_SECONDS = 2.0
Ended = Callable[[], bool]


class Drained(Struct, frozen=True):
    """How many were stored; how many stay away because what they tell of was forgotten meanwhile; how many still wait."""

    stored: int = 0
    withheld: int = 0
    waiting: int = 0


# -- which there are -------------------------------------------------------------------------------------------------------


def address_of(store: str) -> str:
    """Which store it is, whoever asks for it: passwords change. Where PostgreSQL takes the user's name for the database, that is kept."""
    parts = split(store)
    options = dict(parse_qsl(parts.query))
    scheme = "postgresql" if parts.scheme == "postgres" else parts.scheme
    database = parts.path.strip("/")
    if scheme == "postgresql" and not database and "dbname" not in options:
        database = parts.username or options.get("user", "")
    named = urlencode(sorted((name, value) for name, value in options.items() if name in NAMING))
    return f"{scheme}://{parts.netloc.rpartition('@')[2]}/{database}?{named}"


def spool_folder(settings: Settings) -> Path | None:
    """Beside the file; of a store elsewhere in the data folder, one for each port, for several servers may share it."""
    if settings.store == "memory:":
        return None
    if not settings.store.startswith("sqlite:"):
        return user_folder("data", os.environ) / f"{hashed(address_of(settings.store))}-{settings.port}.spool"
    path = Path(settings.store.removeprefix("sqlite:")).expanduser()
    return path.with_name(path.name + ".spool")


def hashed(address: str) -> str:
    return hashlib.sha256(address.encode()).hexdigest()[:12]


def spool_folders(settings: Settings, store: Store | None = None) -> list[Path]:
    """Of all ports. Earlier versions named them by the whole address: one with another password is known by what waits in it."""
    own = spool_folder(settings)
    if own is None or settings.store.startswith("sqlite:"):
        return [own] if own is not None and own.exists() else []
    names = tuple(f"{hashed(one)}-" for one in (address_of(settings.store), settings.store))
    return [folder for folder in sorted(own.parent.glob("*.spool")) if folder.name.startswith(names) or (store is not None and is_of(folder, store))]


def is_of(folder: Path, store: Store) -> bool:
    """Whether the server that left this behind has written to the store."""
    first = first_of(folder)
    return first is not None and store.fact(f"server:{run_of(first.id)}") is not None


def run_of(exchange: str) -> str:
    return exchange.removeprefix("obs_").partition("-")[0]


def waiting(settings: Settings, store: Store | None = None) -> int:
    """How many observations wait for the store on this machine."""
    return sum(glance(folder)[0] for folder in spool_folders(settings, store))


# -- who uses them ---------------------------------------------------------------------------------------------------------


def check_spool(settings: Settings) -> None:
    """Better at the start than in an emergency."""
    folder = spool_folder(settings)
    if folder is None:
        return
    try:
        _take_over(settings, folder)
        private_folder(folder)
        (folder / "lock").touch(FILE)
    except OSError as problem:
        raise UserMistake(
            f"the spool beside the store, {folder}, cannot be used: {problem.strerror or problem}",
            "check its permissions and the free space, or use another --store",
        ) from None


def _take_over(settings: Settings, folder: Path) -> None:
    """The one that an earlier version has named by the whole address."""
    older = folder.with_name(f"{hashed(settings.store)}-{settings.port}.spool")
    if older.exists() and not folder.exists() and not settings.store.startswith("sqlite:"):
        with held(older) as free:
            if free:
                older.rename(folder)


def locked(folder: Path, seconds: float = START_SECONDS) -> bool:
    """One writer per spool, until its process ends. One that was left behind by a server that died is about to end: it is waited for."""
    try:
        if _lock(folder, seconds) is not None:
            return True
        log.warning("another server uses the spool %s; this one has none", folder)
    except OSError as problem:  # a disk that turned read-only, say, is no reason to store nothing
        log.warning("the spool %s cannot be used: %s; this server has none", folder, problem.strerror or problem)
    return False


@contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Whether nobody else uses it meanwhile."""
    lock = _lock(folder, 0)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            os.close(lock)


def _lock(folder: Path, seconds: float) -> int | None:
    import fcntl

    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, FILE)
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except OSError:
            if time.monotonic() > end:
                os.close(lock)
                return None
            time.sleep(0.05)


# -- what is in them -------------------------------------------------------------------------------------------------------


def drain_spools(settings: Settings, ingest: Ingest, patience: float = 0.0, ended: Ended = lambda: False) -> Drained:
    """Everything that waits for the store on this machine is stored. A server that runs does so itself: for that it is waited a while."""
    withheld, stored, left = ingest.withheld, 0, 0
    end = time.monotonic() + patience
    for folder in spool_folders(settings, ingest.store):
        try:
            stored += _drain(settings, folder, ingest, end, ended)
            left += glance(folder)[0]
        except (UserMistake, OSError) as problem:  # of another store after all, or not ours to read
            log.warning("what waits in %s was left there: %s", folder, problem)
            left += glance(folder)[0]
    return Drained(stored, ingest.withheld - withheld, left)


def _drain(settings: Settings, folder: Path, ingest: Ingest, end: float, ended: Ended) -> int:
    stored, before = 0, glance(folder)[0]
    while before and not ended():
        with held(folder) as free:
            if free:
                stored += _store(Spool(folder, settings.spool_limit, ingest.store.sealer), ingest, ended)
        left = glance(folder)[0]
        if left and left >= before and (free or time.monotonic() > end):
            break
        before = left
        time.sleep(PAUSE_SECONDS if left else 0)
    return stored


def _store(spool: Spool, ingest: Ingest, ended: Ended) -> int:
    """For a while; a batch leaves the spool once it is stored."""
    stored, end = 0, time.monotonic() + TURN_SECONDS
    while len(spool) and time.monotonic() < end and not ended() and (batch := spool.read(BATCH, BATCH_BYTES)):
        stored += ingest.take_late(batch)
        spool.drop(len(batch))
    return stored


def drain_beside(settings: Settings, ingest: Ingest, ended: Ended) -> None:
    """What servers on other ports left, or under another name: at the start, beside what comes, or when the store is there."""
    while not ended():
        try:
            drained = drain_spools(settings, ingest, ended=ended)
            if drained.stored:
                log.info("stored what waited in other spools observations=%d", drained.stored)
            return
        except StoreDown:
            time.sleep(AWAY_SECONDS)
        except Exception:
            log.exception("what waits in other spools stays there until the next start")
            return
