"""One of several processes that write to one store: `python -m tests.contracts.writer STORE FOLDER PART PARTS`."""

import sys
import time
from pathlib import Path

from ramify.ingest import Ingest
from ramify.wiring import open_store
from tests.contracts.engines import seen_stories


def main(address: str, folder: Path, part: int, parts: int) -> None:
    store = open_store(address, busy_seconds=60)
    ingest = Ingest(store)
    (folder / f"ready{part}").touch()
    while len(list(folder.glob("ready*"))) < parts:
        time.sleep(0.01)  # all of them at once
    for seen in seen_stories()[part::parts]:
        ingest.step([seen])
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
