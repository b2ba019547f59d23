"""A bar for long work: on standard error, and only where somebody watches."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ramify.cli.contract import Progress
from ramify.cli.output import make_console

OF_THINGS, OF_BYTES = ("MofNCompleteColumn",), ("DownloadColumn", "TransferSpeedColumn")


@contextmanager
def progress_bar(label: str, color: str, figures: tuple[str, ...] = OF_THINGS) -> Iterator[Progress]:
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich import progress

    parts = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        *(getattr(progress, name)() for name in figures),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*parts, console=make_console(sys.stderr, color), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
