"""Rows that an older version has derived are derived again beside it, and put in place at once; whoever is cut goes on there.

Meanwhile the log may grow, and what is there already is still answered from the old rows.
"""

import logging
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ramify import __version__
from ramify.ingest import DERIVED, Ingest, Prices
from ramify.linking.world import Rules
from ramify.rebuild import Progress, rebuild, replay
from ramify.storage.base import Store
from ramify.storage.layout import version
from ramify.storage.private import private_file, private_folder
from ramify.storage.schema import STEPS
from ramify.storage.scratch import try_lock
from ramify.storage.sqlite import Sqlite

log = logging.getLogger("ramify")
WAIT_SECONDS = 0.2
MADE_BY = "made_by"
OLDER = "its rows were derived by an older version, and are shown as they were until they are derived again"


def deriving_notice(share: float) -> str:
    return f"the rows of an older version are being derived again ({share:.0%}); until then they are shown as they were"


def is_outdated(store: Store) -> bool:
    return bool(store.fact("outdated"))


def derive_older(store: Store, rules: Rules, prices: Prices, progress: Progress, wait: bool) -> None:
    """Once, whoever else wants the same; who does not wait leaves it to the one that is at it."""
    if not is_outdated(store):
        return
    if not store.path:
        log.warning("the store was written by an older version: deriving its rows again from %d observations", store.seq())
        rebuild(store, rules, prices, False, progress)
        return
    with alone_in(folder_of(store), wait) as mine:
        if mine and is_outdated(store):
            log.warning("the store was written by an older version: deriving its rows again from %d observations", store.seq())
            derive_again(store, rules, prices, progress)


def folder_of(store: Store) -> Path:
    return Path(f"{store.path}.deriving")


def derive_again(store: Store, rules: Rules, prices: Prices, progress: Progress) -> None:
    folder = folder_of(store)
    scratch = scratch_in(folder, made_by(store, rules, prices))
    try:
        ingest = Ingest(scratch, rules, prices, log=store)
        reached = replay(store, ingest, max(0, derived_to(scratch)), progress)
        with store.exclusive():  # what came meanwhile, and then nothing more until the new rows are in place
            replay(store, ingest, reached, progress)
            store.search.clear()  # first: an empty index fills itself, a wrong one stays wrong
            store.take_projections(scratch)
    finally:
        scratch.close()
    shutil.rmtree(folder, ignore_errors=True)


def scratch_in(folder: Path, maker: str) -> Sqlite:
    """What an earlier one has derived, where it was made in the same way and every batch of it is whole."""
    scratch = Sqlite("scratch", str(folder / "scratch.db"))
    if scratch.fact(MADE_BY) == maker and derived_to(scratch) >= 0:
        return scratch
    scratch.close()
    for path in folder.glob("scratch.db*"):
        path.unlink()
    scratch = Sqlite("scratch", str(folder / "scratch.db"))
    scratch.set_fact(MADE_BY, maker)
    return scratch


def derived_to(scratch: Store) -> int:
    return int(scratch.fact(DERIVED) or 0)


def made_by(store: Store, rules: Rules, prices: Prices) -> str:
    told = msgspec.json.encode(rules, order="deterministic").decode()
    return f"{__version__} {len(STEPS)} {version()} {prices.version} {store.fact('identity')!r} {told}"


def share_done(store: Store) -> float:
    """How much of an older store has been derived again, by whoever is at it."""
    path = folder_of(store) / "scratch.db"
    if not path.exists():
        return 0.0
    scratch = Sqlite("scratch", str(path))
    try:
        return min(1.0, max(0, derived_to(scratch)) / max(1, store.seq()))
    finally:
        scratch.close()


@contextmanager
def alone_in(folder: Path, wait: bool) -> Iterator[bool]:
    """One process at a time. The folder goes when all is done, and with it the lock, which nobody needs any more then."""
    private_folder(folder)
    private_file(folder / "lock")
    with (folder / "lock").open("wb") as file:
        taken = try_lock(file.fileno())
        while wait and not taken:
            time.sleep(WAIT_SECONDS)
            taken = try_lock(file.fileno())
        yield taken
