"""A writer that never gives up, to be killed: `python -m tests.clickhouse_writer STORE PART PARTS COUNT`."""

import sys
import time

from ramify.ingest import Ingest
from ramify.model.mistake import UserMistake
from ramify.storage import clickhouse_server
from ramify.storage.base import Store, StoreDown
from ramify.wiring import open_store
from tests.contracts.engines import seen_stories

clickhouse_server.LEASE, clickhouse_server.BEAT = 3.0, 0.7  # whoever dies in its turn holds the others up for so long


def opened(address: str) -> Store:
    while True:
        try:
            return open_store(address, busy_seconds=20)
        except UserMistake:
            time.sleep(0.1)


def main(address: str, part: int, parts: int, count: int) -> None:
    ingest = Ingest(opened(address))
    for seen in seen_stories()[:count][part::parts]:
        while True:
            try:
                ingest.step([seen])
                break
            except StoreDown:
                time.sleep(0.1)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
