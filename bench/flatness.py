"""Whether memory, files, threads and tasks stay what they were, while a server works."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.soaked import Server, holds

ALLOWED = 0.1  # more than at the beginning, once it is warm
SPARE = {"MiB": 16.0, "files": 20.0, "threads": 12.0, "tasks": 40.0}  # readers and clients come and go


@dataclass
class Flatness:
    """Samples of a server and of its writer. The first third is warming up; the second and the last are compared."""

    figures: dict[str, list[float]] = field(default_factory=dict)

    async def add(self, server: Server) -> None:
        told = await server.metrics()
        writer = server.writer()
        if not told or not writer:
            return
        self._note("tasks", told["ramify_tasks"])
        for who, pid in (("server", server.pid), ("writer", writer)):
            memory, files, threads = of_process(pid)
            self._note(f"{who} MiB", memory)
            self._note(f"{who} files", files)
            self._note(f"{who} threads", threads)

    def _note(self, name: str, value: float) -> None:
        self.figures.setdefault(name, []).append(value)

    def thirds(self, name: str) -> tuple[float, float, float]:
        values = self.figures[name]
        size = max(1, len(values) // 3)
        return median(values[:size]), median(values[size : 2 * size] or values), median(values[2 * size :] or values)

    def now(self) -> str:
        """Medians of the last minute: a sample is taken every five seconds."""
        return ", ".join(f"{name} {median(values[-12:]):.0f}" for name, values in self.figures.items())

    def lines(self) -> list[str]:
        count = len(next(iter(self.figures.values()), []))
        return [f"medians of thirds, {count} samples: "] + [
            f"  {name:16}" + "".join(f"{value:9.1f}" for value in self.thirds(name)) + f"   most {max(values):.1f}" for name, values in self.figures.items()
        ]

    def check(self) -> None:
        for name in self.figures:
            _, before, after = self.thirds(name)
            spare = SPARE[name.rpartition(" ")[2]]
            holds(after <= before * (1 + ALLOWED) + spare, f"{name} grew from {before:.1f} to {after:.1f}")


def of_process(pid: int) -> tuple[float, float, float]:
    """Memory in MiB, open files, threads; nothing of one that is gone."""
    try:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
        return int(status["VmRSS"].split()[0]) / 1024, len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"])
    except (OSError, KeyError):
        return 0.0, 0.0, 0.0
