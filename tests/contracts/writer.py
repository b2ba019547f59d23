"""One of several processes that write to one file: `python -m tests.contracts.writer FILE PART PARTS`."""

import sys
from pathlib import Path

from ramify.ingest import Ingest
from ramify.storage.sqlite import open_sqlite
from tests.contracts.engines import seen_stories


def main(path: str, part: int, parts: int) -> None:
    store = open_sqlite(f"sqlite:{path}", busy_seconds=60)
    ingest = Ingest(store)
    Path(f"{path}.ready{part}").touch()
    while len(list(Path(path).parent.glob("*.ready*"))) < parts:
        pass  # all of them at once
    for seen in seen_stories()[part::parts]:
        ingest.step([seen])
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
