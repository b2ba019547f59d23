"""The one place where concrete things are chosen and wired."""

import gc
import hmac
import logging
import os
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ramify.capture.allocator import reuse_memory
from ramify.capture.cleaner import Cleaner
from ramify.capture.importer import detect, paths, read_exchanges
from ramify.hub import Hub
from ramify.indexing import Indexer
from ramify.ingest import Ingest, Prices, lost_calls
from ramify.linking.world import Rules
from ramify.model import ids
from ramify.model.entity import Call, Task, ToolCall
from ramify.model.mistake import UserMistake
from ramify.model.observation import Correction, Observation
from ramify.model.own_prices import parse_prices
from ramify.model.prices import PRICES, PRICES_VERSION, Price, Tokens, price
from ramify.pipeline import Pipeline
from ramify.query.changes import change_shapes
from ramify.query.errors import BadQuestion
from ramify.query.family import ancestry
from ramify.query.resolve import resolve
from ramify.query.service import Answer, Questions
from ramify.rebuild import rebuild
from ramify.settings import Settings, load
from ramify.spool import Spool
from ramify.storage.base import StoreDown
from ramify.storage.sqlite import Sqlite, open_sqlite
from ramify.writer import RemotePipeline, Wire

if TYPE_CHECKING:
    from ramify.showing import Picture

Progress = Callable[[int, int], None]
log = logging.getLogger("ramify")
IMPORT_BATCH = 400
FORMATS = ("auto", "exchanges")


def now() -> int:
    return time.time_ns() // 1000


def open_store(url: str, create: bool = True, busy_seconds: float = 5.0) -> Sqlite:
    if url == "memory:":
        return open_sqlite(url)
    if not url.startswith("sqlite:"):
        raise UserMistake(f"no engine for the store {url!r}", "use sqlite:PATH or memory:")
    path = Path(url.removeprefix("sqlite:")).expanduser()
    if not create and not path.exists():
        raise UserMistake(f"there is no store at {path}", "capture something first: ramify run COMMAND, or ramify import FILE")
    return open_sqlite(url, busy_seconds)


@contextmanager
def taken_by(store: Sqlite) -> Iterator[None]:
    """For acts that somebody waits for: a store that cannot take them now is told at once."""
    try:
        yield
    except StoreDown as problem:
        raise UserMistake(
            f"the store {store.url} did not take it: {problem}",
            "stop other writers or free some space, then do the same again: nothing is stored twice",
        ) from problem


def rules_of(settings: Settings) -> Rules:
    windows = {
        name: project.match_window * 1_000_000
        for name, project in settings.projects.items()
        if project.match_window is not None
    }
    return Rules(frozenset(settings.spawn_tools), settings.match_window * 1_000_000, windows)


def prices_of(settings: Settings) -> Prices:
    table: tuple[Price, ...] = PRICES
    version = PRICES_VERSION
    if settings.prices:
        path = Path(settings.prices).expanduser()
        try:
            own = parse_prices(path.read_bytes())
        except OSError as problem:
            raise UserMistake(f"the prices file {path} cannot be read: {problem.strerror}", "check --prices") from None
        table, version = (*own, *PRICES), f"{PRICES_VERSION}+{path.name}"
    return Prices(pricer(table), version)


def pricer(table: tuple[Price, ...]) -> Callable[[str, int, Tokens], int | None]:
    def find(model: str, at: int, tokens: Tokens) -> int | None:
        return price(model, at, tokens, table)

    return find


class Feed:
    """The hub in the shapes that live readers know."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    @asynccontextmanager
    async def subscribe(self, since: int | None) -> AsyncIterator[AsyncIterator[tuple[int, list[dict[str, Any]]]]]:
        async with self._hub.subscribe(since) as batches:
            yield ((seq, change_shapes(rows)) async for seq, rows in batches)


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


def correction(store: Sqlite, act: str, child: str, parent: str) -> Correction:
    """Ids of any kind become the task that is meant and the task or tool call it belongs under."""
    task = task_named(store, child)
    target = ""
    if act == "link":
        above = parent_named(store, parent)
        target = above.id
        anchor = above if isinstance(above, Task) else caller_of(store, above)
        path = [anchor.id, *ancestry(store, [anchor])[anchor.id]]
        if task.id in path:
            raise BadQuestion(f"{parent!r} is {child!r} itself or stands under it: a task cannot be its own ancestor")
    at = now()
    return Correction(
        ids.observation_id("correction", act, task.id, target, at), task.project, at, "person",
        "link" if act == "link" else "unlink", task.id, target,
    )


def task_named(store: Sqlite, id: str) -> Task:
    _, row = resolve(store, id, ("tasks", "calls"))
    if isinstance(row, Call):
        found = store.load("tasks", row.task)
        if not isinstance(found, Task):
            raise BadQuestion(f"the call {id!r} belongs to no task; only tasks are linked")
        return found
    assert isinstance(row, Task)
    return row


def parent_named(store: Sqlite, id: str) -> Task | ToolCall:
    _, row = resolve(store, id, ("tasks", "tools", "calls"))
    if isinstance(row, ToolCall):
        return row
    return task_named(store, row.id)


def caller_of(store: Sqlite, tool: ToolCall) -> Task:
    call = store.load("calls", tool.call)
    task = store.load("tasks", call.task) if isinstance(call, Call) else None
    if not isinstance(task, Task):
        raise BadQuestion(f"the tool call {tool.native!r} belongs to no known task")
    return task


class Served(Ramify):
    """The same, with capture and the live feed: what one server process runs."""

    def __init__(self, store: Sqlite, settings: Settings) -> None:
        super().__init__(store, settings)
        self._hub = Hub()
        self._hub.start_at(store.seq())
        self.hub = Feed(self._hub)
        self.run = secrets.token_hex(6)
        self.pipeline = self._pipeline()
        self.token = settings.token
        self.proxy: Any = None  # set when the server listens
        self.started = now()
        self._numbers: Iterator[int] = iter(range(1, 1 << 62))
        with taken_by(store):
            self._secret = store_secret(store)

    def _pipeline(self) -> Pipeline | RemotePipeline:
        """A file is written by a process of its own; what lives in our memory can only be written by us."""
        settings = self.settings
        if self.store.path and os.name == "posix":
            start = {"settings": msgspec.to_builtins(settings), "run": self.run}
            return RemotePipeline(start, self._hub.publish, settings.queue_limit, settings.queue_bytes)
        self._ingest = Ingest(self.store, self.rules, self.prices, self._hub.publish, redaction=Cleaner())
        pipeline = Pipeline(self._ingest, Cleaner().observation, None, settings.queue_limit, settings.queue_bytes)
        pipeline.on_stored = self._indexer.wake
        self._indexer.busy = lambda: not pipeline.idle
        self._indexer.start()
        return pipeline

    def start(self) -> None:
        with taken_by(self.store):
            self.store.set_fact(f"server:{self.run}", process_name(os.getpid()))
        self.pipeline.start()

    def new_id(self) -> str:
        return f"obs_{self.run}-{next(self._numbers)}"

    def fingerprint(self, credential: str) -> str:
        return hmac.new(self._secret, credential.encode("utf-8", "surrogateescape"), "sha256").hexdigest()[:16]

    def health(self) -> Answer:
        state = self.pipeline.state()
        return {
            "status": "degraded" if state["problem"] or state["lost"] else "ok",
            "version": version(),
            "uptime_s": (now() - self.started) / 1e6,
            "store": self.store.url,
            "upstream": self.settings.anthropic_upstream,
            "capture": state,
        }

    def stats(self) -> Answer:
        return {**self.questions.stats(), "capture": self.pipeline.state()}

    def close(self) -> None:
        self.pipeline.close()
        self._hub.close()
        super().close()


def make_writer(start: dict[str, Any], wire: Wire) -> tuple[Pipeline, Callable[[], None]]:
    """What runs in the writer's process. It waits only briefly for others: what comes meanwhile is safe in the spool."""
    settings = msgspec.convert(start["settings"], Settings)
    store = open_store(settings.store, busy_seconds=1.0)
    reuse_memory()
    os.nice(5)  # clients come first when the machine is short of cores
    gc.set_threshold(100_000, 20, 100)  # rows and chains live long: looking through them often finds nothing
    cleaner = Cleaner()
    ingest = Ingest(store, rules_of(settings), prices_of(settings), wire.publish, redaction=cleaner)
    folder = spool_folder(settings)
    spool = Spool(folder, settings.spool_limit) if folder and locked(folder) else None
    pipeline = Pipeline(ingest, cleaner.observation, spool, settings.queue_limit, settings.queue_bytes)
    pipeline.left_open = lambda: lost_calls(store, lambda exchange: still_runs(store, start["run"], exchange), now())
    indexer = Indexer(store)
    indexer.busy = lambda: not pipeline.idle
    pipeline.on_stored = indexer.wake
    indexer.start()
    indexer.wake()

    def close() -> None:
        indexer.close()
        store.close()

    return pipeline, close


def still_runs(store: Sqlite, own: str, exchange: str) -> bool:
    """Whether the server that captured this exchange still runs on this machine."""
    run = exchange.removeprefix("obs_").partition("-")[0]
    name = str(store.fact(f"server:{run}") or "")
    return run == own or (bool(name) and name == process_name(int(name.partition("@")[0])))


def locked(folder: Path, seconds: float = 20.0) -> bool:
    """One writer per spool. One that was left behind by a server that died is about to end: it is waited for."""
    import fcntl

    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)  # held until the process ends
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if time.monotonic() > end:
                logging.getLogger("ramify").warning("another server uses the spool %s; this one has none", folder)
                os.close(lock)
                return False
            time.sleep(0.05)


def version() -> str:
    from ramify import __version__

    return __version__


def process_name(pid: int) -> str:
    """A process that runs, by its number and when it began: numbers come again. Nothing, where none runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass  # it runs, and is somebody else's
    try:
        began = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        began = ""  # no such file system: the number has to do
    return f"{pid}@{began}"


def store_secret(store: Sqlite) -> bytes:
    """A key of the store's own: a fingerprint of a credential tells nothing outside of it."""
    found = store.fact("secret")
    if not isinstance(found, bytes):
        found = secrets.token_bytes(32)
        store.set_fact("secret", found)
    return found


def spool_folder(settings: Settings) -> Path | None:
    if not settings.store.startswith("sqlite:"):
        return None
    path = Path(settings.store.removeprefix("sqlite:")).expanduser()
    return path.with_name(path.name + ".spool")


def check_spool(folder: Path) -> None:
    """Better at the start than in an emergency."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "lock").touch(mode=0o600)
    except OSError as problem:
        raise UserMistake(
            f"the spool beside the store, {folder}, cannot be used: {problem.strerror or problem}",
            "check its permissions and the free space, or use another --store",
        ) from None


def open_served(settings: Settings) -> Served:
    store = open_store(settings.store)
    folder = spool_folder(settings)
    if folder is not None:
        check_spool(folder)
    return Served(store, settings)


def serve(settings: Settings) -> int:
    from ramify.server import run_server

    return run_server(open_served(settings), now)


def demo(settings: Settings, picture: "Picture", pace: float = 1.0) -> int:
    """The whole of Ramify on a throw-away store, with a session that plays itself against a scripted model."""
    from ramify.showing import run_demo

    with tempfile.TemporaryDirectory(prefix="ramify-demo-") as folder:
        own = replace(settings, store=f"sqlite:{folder}/demo.db")

        def served(upstream: str) -> Served:
            return open_served(replace(own, anthropic_upstream=upstream))

        return run_demo(served, now, picture, pace)
