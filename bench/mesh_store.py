"""A store filled with the messages of a mesh by the ordinary import; made once, then kept under a name that says of what."""

import json
import os
import shutil
import tempfile
import time
from hashlib import sha256
from itertools import islice
from pathlib import Path

from bench import mesh_traffic
from ramify import __version__
from ramify.app import Ramify
from ramify.storage.layout import version
from ramify.storage.schema import STEPS

PIECE = 50_000  # messages in a file
NAME = "mesh.db"


def cache() -> Path:
    """Ten thousand messages take 20 MB, a million 2 GB: whoever wants them elsewhere says where."""
    return Path(os.environ.get("RAMIFY_BENCH_CACHE") or Path(tempfile.gettempdir()) / "ramify-bench")


def folder(size: int) -> Path:
    """Another name where traffic or tables are others. What rows mean may have changed without it: then delete the folder."""
    told = Path(mesh_traffic.__file__).read_bytes() + repr((__version__, len(STEPS), version())).encode()
    return cache() / f"mesh-{size}-{sha256(told).hexdigest()[:10]}"


def filled(size: int) -> tuple[Path, list[float]]:
    """The store's file, and the messages a second of each piece when it was filled."""
    place = folder(size)
    note = place / "rates.json"
    if not note.exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        note.write_text(json.dumps(fill(place / NAME, size)))
    return place / NAME, json.loads(note.read_text())


def fill(path: Path, size: int) -> list[float]:
    """Linked, stored and indexed."""
    rates: list[float] = []
    lines = mesh_traffic.lines(size)
    piece = path.with_name("piece.jsonl")
    store = Ramify.open(f"sqlite:{path}", project="default", write=True)
    try:
        while batch := list(islice(lines, PIECE)):
            piece.write_bytes(b"\n".join(batch) + b"\n")
            start = time.perf_counter()
            report = store.import_paths([piece], "sam", lambda done, all: None)
            assert (report["read"], report["unreadable_count"]) == (len(batch), 0), report
            rates.append(len(batch) / (time.perf_counter() - start))
            print(f"{path.parent.name}: {len(rates) * PIECE:,} messages, {rates[-1]:,.0f} a second", flush=True)
    finally:
        store.close()
        piece.unlink(missing_ok=True)
    return rates


if __name__ == "__main__":
    import sys

    for argument in sys.argv[1:]:
        os.nice(10)
        print(filled(int(argument)))
