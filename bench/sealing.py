"""What encryption at rest costs: the same sessions stored with and without it, batch by batch in turns, in CPU time."""

import gc
import os
import statistics
import tempfile
from pathlib import Path

from bench.ingest import Measured, batches, machine
from bench.traffic import traffic
from ramify.storage.sealing import Sealer
from ramify.storage.sqlite import open_sqlite


def run(requests: int = 3000) -> None:
    with tempfile.TemporaryDirectory(prefix="ramify-bench-") as folder:
        plain, sealed = (Measured(open_sqlite(f"sqlite:{Path(folder) / name}.db")) for name in ("plain", "sealed"))
        sealed.store.sealer = Sealer(os.urandom(32))
        gc.set_threshold(100_000, 20, 100)
        each: dict[str, list[float]] = {"plain": [], "sealed": []}
        sides = [("plain", plain), ("sealed", sealed)]
        for batch in batches(traffic(requests, turns=12)):
            sides.reverse()  # who comes second finds the batch in the processor's cache
            for name, side in sides:
                before, count = side.cpu, side.requests
                side.take(batch)
                each[name].append((side.cpu - before) / max(1, side.requests - count) * 1e6)
        sizes = {name: side.store.size()["bytes"] for name, side in sides}
    print(f"{machine()}; {plain.requests} requests in sessions of 12 turns")
    for name, values in each.items():
        print(f"{name:>7}: {statistics.median(values):7.0f} µs of CPU a request (median of batches), {sizes[name] / plain.raw:.4f} of the raw bytes on disk")
    more = statistics.median(two - one for one, two in zip(each["plain"], each["sealed"], strict=True))
    print(f"of the same batch, sealed takes {more:+.0f} µs a request (median)")


if __name__ == "__main__":
    run()
