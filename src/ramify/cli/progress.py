"""A bar for long work: on standard error, and only where somebody watches."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ramify.cli.contract import Progress
from ramify.cli.output import make_console


@contextmanager
def progress_bar(label: str, color: str) -> Iterator[Progress]:
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    parts = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*parts, console=make_console(sys.stderr, color), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
