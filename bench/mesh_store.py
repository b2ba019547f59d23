"""A store filled with the messages of a mesh by the ordinary import; made once, then kept under a name that says of what."""

import json
import os
import shutil
import sys
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

Piece = tuple[int, float, float]
"""Messages, seconds, seconds of CPU."""
PIECE = 50_000  # messages in a file
NAME = "mesh.db"


def cache() -> Path:
    """Ten thousand messages take 20 MB, a million 2 GB: whoever wants them elsewhere says where."""
    return Path(os.environ.get("RAMIFY_BENCH_CACHE") or Path(tempfile.gettempdir()) / "ramify-bench")


def folder(size: int) -> Path:
    """Another name where traffic or tables are others. What rows mean may have changed without it: then delete the folder."""
    told = Path(mesh_traffic.__file__).read_bytes() + repr((__version__, len(STEPS), version())).encode()
    return cache() / f"mesh-{size}-{sha256(told).hexdigest()[:10]}"


def filled(size: int) -> tuple[Path, list[Piece]]:
    """The store's file, and what each piece took when it was filled."""
    place = folder(size)
    note = place / "rates.json"
    if not note.exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        note.write_text(json.dumps(fill(place / NAME, size)))
    return place / NAME, [tuple(piece) for piece in json.loads(note.read_text())]


def fill(path: Path, size: int) -> list[Piece]:
    """Linked, stored and indexed."""
    pieces: list[Piece] = []
    lines = mesh_traffic.lines(size)
    piece = path.with_name("piece.jsonl")
    store = Ramify.open(f"sqlite:{path}", project="default", write=True)
    try:
        while batch := list(islice(lines, PIECE)):
            piece.write_bytes(b"\n".join(batch) + b"\n")
            start, worked = time.perf_counter(), time.process_time()
            report = store.import_paths([piece], "sam", lambda done, all: None)
            assert (report["read"], report["unreadable_count"]) == (len(batch), 0), report
            pieces.append((len(batch), time.perf_counter() - start, time.process_time() - worked))
            print(f"{path.parent.name}: {told(pieces[-1])}", file=sys.stderr, flush=True)
    finally:
        store.close()
        piece.unlink(missing_ok=True)
    return pieces


def told(piece: Piece) -> str:
    count, seconds, worked = piece
    return f"{count / seconds:,.0f} messages/s, {worked / count * 1000:.2f} ms of CPU each"


if __name__ == "__main__":
    os.nice(10)
    for argument in sys.argv[1:]:
        filled(int(argument))
