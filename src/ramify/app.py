"""The one surface of the program: a store that is open, what can be asked of it and done to it, and the server."""

import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ramify.acts import correction
from ramify.capture.cleaner import Cleaner
from ramify.capture.importer import detect, paths, read_exchanges
from ramify.indexing import Indexer
from ramify.ingest import Ingest
from ramify.model.mistake import UserMistake
from ramify.model.observation import Correction, Observation
from ramify.query.service import Answer, Questions
from ramify.rebuild import rebuild
from ramify.settings import Settings, load
from ramify.storage.base import StoreDown
from ramify.storage.sqlite import Sqlite
from ramify.wiring import now, open_store, prices_of, rules_of, taken_by

if TYPE_CHECKING:
    from ramify.served import Served
    from ramify.showing import Picture

Progress = Callable[[int, int], None]
log = logging.getLogger("ramify")
IMPORT_BATCH = 400
FORMATS = ("auto", "exchanges")


class Ramify:
    """A store that is open, with everything that can be asked of it and done to it."""

    def __init__(self, store: Sqlite, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.questions = Questions(store)
        self.rules = rules_of(settings)
        self.prices = prices_of(settings)
        self._ingest: Ingest | None = None
        self._indexer = Indexer(store)

    @classmethod
    def open(
        cls, store: str | None, *, project: str | None = None, create: bool = True, write: bool = False
    ) -> "Ramify":
        settings = load({"store": store, "project": project}, os.environ)
        return cls(open_store(settings.store, create or write), settings)

    @property
    def ingest(self) -> Ingest:
        if self._ingest is None:
            self._ingest = Ingest(self.store, self.rules, self.prices, redaction=Cleaner())
        return self._ingest

    def close(self) -> None:
        self._indexer.close()
        self.store.close()

    # -- acts ---------------------------------------------------------------------------------------------------------

    def link(self, child: str, parent: str) -> Answer:
        return self._correct(correction(self.store, "link", child, parent))

    def unlink(self, child: str) -> Answer:
        return self._correct(correction(self.store, "unlink", child, ""))

    def _correct(self, seen: Correction) -> Answer:
        with taken_by(self.store):
            self.ingest.step([seen])
        return self.questions.why(seen.child)

    def import_paths(self, given: list[Path], format: str, progress: Progress) -> Answer:
        if format not in FORMATS:
            raise UserMistake(f"no format {format!r}", f"known are {', '.join(FORMATS)}")
        files, skipped = readable(given, format)
        total = sum(path.stat().st_size for path in files)
        report: Answer = {"files": len(files), "skipped": skipped, "read": 0, "new": 0, "known": 0, "unreadable": []}
        done = 0
        for path in files:
            self._import_file(path, report)
            done += path.stat().st_size
            progress(done, total)
        self._index()
        return report

    def _index(self) -> None:
        """What was done is done: an index that lags behind it is no reason to say otherwise."""
        try:
            self._indexer.catch_up()
        except StoreDown as problem:
            log.warning("the search index lags behind: %s; ramify serve catches up", problem)

    def _import_file(self, path: Path, report: Answer) -> None:
        batch: list[Observation] = []
        for line in read_exchanges(path, self.settings.project or "default"):
            report["read"] += 1
            batch += line.observations
            if line.problem:
                place = f"{path}:{line.line}"
                report["unreadable"].append({"place": place, "problem": line.problem.removeprefix(f"{place}: ")})
            if len(batch) >= IMPORT_BATCH:
                self._count(batch, report)
                batch = []
        if batch:
            self._count(batch, report)

    def _count(self, batch: list[Observation], report: Answer) -> None:
        with taken_by(self.store):
            fresh = self.ingest.take(batch)
        report["new"] += fresh
        report["known"] += len(batch) - fresh

    def rebuild(self, dry_run: bool, progress: Progress) -> Answer:
        with taken_by(self.store):
            report = rebuild(self.store, self.rules, self.prices, dry_run, progress)
        if not dry_run:
            self._index()
        return report

    def doctor(self) -> list[Answer]:
        from ramify.diagnosis import checks

        return list(checks(self.store, self.settings))


def readable(given: list[Path], format: str) -> tuple[list[Path], list[str]]:
    """The files to read. One that was named must be in a known format; others in a folder may be anything."""
    found = list(paths(given))
    if format != "auto":
        return found, []
    unknown = [path for path in found if detect(path) is None]
    for path in unknown:
        if path in given:
            raise UserMistake(f"{path} is in no format that Ramify knows", f"say which with --format: {', '.join(FORMATS[1:])}")
    return [path for path in found if path not in unknown], [str(path) for path in unknown]


def report_hook(settings: Settings, body: bytes, at: int) -> None:
    from ramify.capture.outbox import Away
    from ramify.recording import report_hook as report

    try:
        report(settings, body, at)
    except Away as problem:
        raise UserMistake(f"the hook was not recorded: {problem}", "see ramify doctor") from problem


def serve(settings: Settings) -> int:
    from ramify.served import open_served
    from ramify.server import run_server

    return run_server(open_served(settings), now)


def demo(settings: Settings, picture: "Picture", pace: float = 1.0) -> int:
    """The whole of Ramify on a throw-away store, with a session that plays itself against a scripted model."""
    from ramify.served import open_served
    from ramify.showing import run_demo

    with tempfile.TemporaryDirectory(prefix="ramify-demo-") as folder:
        own = replace(settings, store=f"sqlite:{folder}/demo.db")

        def served(upstream: str) -> "Served":
            return open_served(replace(own, anthropic_upstream=upstream))

        return run_demo(served, now, picture, pace)
