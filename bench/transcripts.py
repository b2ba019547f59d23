"""How fast transcripts are imported, what that takes, and how soon it is known that nothing is new.

`python -m bench.transcripts [MEGABYTES]`; the default is what a heavy user writes in five years.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from msgspec import Struct
from rich.console import Console
from rich.table import Table

from bench.ingest import machine, size_of
from bench.transcript_files import write_transcripts

FULL = 1000  # megabytes


class Cost(Struct, frozen=True):
    seconds: float
    cpu: float
    memory: int  # at its highest, bytes


def run(*words: str) -> Cost:
    """The command as a process, from its start to its end."""
    began = time.perf_counter()
    child = os.posix_spawn(sys.executable, [sys.executable, "-m", "ramify", *words], os.environ)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"ramify {' '.join(words)} ended with {status}")
    kibibytes = 1024 if sys.platform != "darwin" else 1
    return Cost(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * kibibytes)


def measured(folder: Path, megabytes: int) -> list[tuple[str, int, Cost]]:
    store = f"sqlite:{folder}/store/bench.db"
    files = list(write_transcripts(folder, megabytes * 10**6))
    print(f"{len(files):,} files", flush=True)
    words = "import", str(folder / "projects"), "--store", store
    rows = [("the first time", size_of(folder / "projects"), run(*words)), ("nothing new", 0, run(*words))]
    for path in files[:: max(1, len(files) // 100)]:
        if path.suffix == ".jsonl":
            newest = path.read_bytes().splitlines(keepends=True)[-1]
            with path.open("ab") as file:
                file.write(newest.replace(b'"uuid":"', b'"uuid":"0'))
    return [*rows, ("some files grew by a line", 0, run(*words))]


def main(megabytes: int = FULL) -> None:
    console = Console(width=130)
    with tempfile.TemporaryDirectory(prefix="ramify-bench-") as name:
        folder = Path(name)
        rows = measured(folder, megabytes)
        stored = size_of(folder / "store")
    table = Table(title=f"import of {megabytes:,} MB of transcripts; {machine()}", title_justify="left")
    for column in ("", "MB/s", "seconds", "CPU s", "CPU s/100 MB", "peak MB"):
        table.add_column(column, justify="right" if column else "left")
    for label, size, cost in rows:
        rate = (f"{size / 1e6 / cost.seconds:.1f}", f"{cost.cpu / size * 1e8:.1f}") if size else ("", "")
        table.add_row(label, rate[0], f"{cost.seconds:.1f}", f"{cost.cpu:.1f}", rate[1], f"{cost.memory / 1e6:.0f}")
    console.print(table)
    console.print(f"stored, with the search index: {stored / 1e6:,.0f} MB\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else FULL)
