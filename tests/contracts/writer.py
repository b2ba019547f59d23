"""One of several processes that write to one store: `python -m tests.contracts.writer STORE FOLDER PART PARTS`."""

import sys
import time
from pathlib import Path

from ramify.ingest import Ingest
from ramify.model.observation import Observation
from ramify.storage.base import StoreDown
from ramify.wiring import open_store
from tests.contracts.engines import stories_for


def main(address: str, folder: Path, part: int, parts: int) -> None:
    store = open_store(address, busy_seconds=60)
    ingest = Ingest(store)
    (folder / f"ready{part}").touch()
    while len(list(folder.glob("ready*"))) < parts:
        time.sleep(0.01)  # all of them at once
    for seen in stories_for(address)[part::parts]:
        stored(ingest, seen)
    store.close()


def stored(ingest: Ingest, seen: Observation) -> None:
    """A writer that stood still for too long, on a machine that is busy, may have lost its turn: nothing was stored."""
    for _ in range(5):
        try:
            ingest.step([seen])
            return
        except StoreDown as problem:
            last = problem
    raise last


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
