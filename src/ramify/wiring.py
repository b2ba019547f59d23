"""Concrete things made from settings: store, rules, prices, spool, and what runs in the writer's process."""

import gc
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ramify.capture.allocator import reuse_memory
from ramify.capture.cleaner import Cleaner
from ramify.capture.redact import VERSION
from ramify.capture.transcript import usual_folder
from ramify.event_log import Bounds
from ramify.following import Following, say_problems
from ramify.forgetting import awaited
from ramify.indexing import CLOSE_SECONDS, Indexer
from ramify.ingest import Ingest, Prices, Publish, lost_calls
from ramify.intake import Batch
from ramify.linking.world import EventBounds, Rules
from ramify.log_lines import begin_log
from ramify.model.mistake import Unreachable, UserMistake
from ramify.model.own_prices import parse_prices
from ramify.model.prices import PRICES, PRICES_VERSION, Price, Tokens, price
from ramify.pipeline import Pipeline
from ramify.rebuild import Progress
from ramify.redaction import RULES, Redaction
from ramify.settings import USUAL, Settings
from ramify.spool import OWN_KEY, Spool
from ramify.spools import drain_beside, locked, run_of, spool_folder
from ramify.storage.base import Store, StoreDown
from ramify.storage.later import later
from ramify.storage.opening import open_store as open_store
from ramify.storage.sealing import Sealer, keep_key, kept_sealer, own_sealer
from ramify.upgrading import derive_older
from ramify.writer import Wire

log = logging.getLogger("ramify")


def now() -> int:
    return time.time_ns() // 1000


@contextmanager
def taken_by(store: Store) -> Iterator[None]:
    """For acts that somebody waits for: a store that cannot take them now is told at once."""
    try:
        yield
    except StoreDown as problem:
        raise Unreachable(
            f"the store {store.url} did not take it: {problem}",
            "stop other writers or free some space, then do the same again: nothing is stored twice",
        ) from problem


def note_rules(store: Store) -> None:
    """A store that holds nothing yet is clean by whatever rules there are."""
    if store.fact(RULES) is None and not store.seq():
        store.set_fact(RULES, VERSION)


def bring_up(store: Store, rules: Rules, prices: Prices, progress: Progress = lambda done, total: None, wait: bool = True) -> None:
    """What an older version has derived is derived again before anything is added to it; the log stays as it is."""
    note_rules(store)
    derive_older(store, rules, prices, progress, wait)


def rules_of(settings: Settings) -> Rules:
    windows = {
        name: project.match_window * 1_000_000
        for name, project in settings.projects.items()
        if project.match_window is not None
    }
    bounds = EventBounds()
    if settings.store == "memory:":
        bounds = EventBounds(settings.events_max_per_session, settings.events_max_session_bytes, forgetful=True)
    return Rules(frozenset(settings.spawn_tools), settings.match_window * 1_000_000, windows, bounds)


def bounds_of(settings: Settings) -> Bounds:
    """Only what lives in memory is bounded; a durable store keeps everything but the middle of a very large event."""
    if settings.store != "memory:":
        return Bounds(event_bytes=settings.events_max_event_bytes)
    return Bounds(
        settings.events_max_sessions, settings.events_session_timeout_ms, settings.events_max_per_session,
        settings.events_max_event_bytes, settings.events_max_session_bytes, settings.events_max_bytes,
    )  # fmt: skip


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


def make_ingest(store: Store, rules: Rules, prices: Prices, publish: Publish | None = None, redaction: Redaction | None = None) -> Ingest:
    ingest = Ingest(store, rules, prices, publish, redaction=redaction)
    ingest.awaited = partial(awaited, store)
    return ingest


def process_name(pid: int) -> str:
    """A process of this machine that runs, by its number and when it began: numbers come again. Nothing, where none runs."""
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


def still_runs(store: Store, own: str, exchange: str) -> bool:
    """Whether the server that captured this exchange still runs on this machine."""
    run = run_of(exchange)
    host, _, name = str(store.fact(f"server:{run}") or "").rpartition("/")
    if run == own or (host and host != socket.gethostname()):
        return True  # of another machine nobody here can say that it is gone
    return bool(name) and name == process_name(int(name.partition("@")[0]))


def follow(settings: Settings, ingest: Ingest, indexer: Indexer) -> Following:
    """The transcripts that the settings name. It has begun, unless they name none."""
    following = Following(ingest.store, settings.project or "default", watched(settings.watch), ingest.take)

    def stored(batch: Batch, fresh: int) -> None:
        say_problems(batch)
        indexer.wake()

    following.tell = stored
    if settings.watch:
        following.start()
    return following


def watched(folders: Sequence[str]) -> list[Path]:
    return [usual_folder(os.environ) if folder == USUAL else Path(folder).expanduser() for folder in folders]


def sealer_beside(folder: Path, store: Store) -> Sealer | None:
    """What waits is encrypted as the store is, or, until that was open here once, with a key of the spool's own. Where another key
    is told than the store had here, only the store can say whether that is right: it has to be there."""
    try:
        return kept_sealer(folder / "key", os.environ)
    except StoreDown:
        return store.sealer if (folder / "key").exists() else own_sealer(folder / OWN_KEY, os.environ)


def make_writer(start: dict[str, Any], wire: Wire | None) -> tuple[Pipeline, Callable[[], None]]:
    """What runs in the writer's process. It waits only briefly for others: what comes meanwhile is safe in the spool, from the
    first moment, whether the store is there or not.
    Without a server to talk to it has none: the spool is the server's, which may start at any time."""
    settings = msgspec.convert(start["settings"], Settings)
    if wire is not None:
        begin_log(settings)
    reuse_memory()
    os.nice(5)  # clients come first when the machine is short of cores
    gc.set_threshold(100_000, 20, 100)  # rows and chains live long: looking through them often finds nothing
    cleaner = Cleaner()
    rules, prices = rules_of(settings), prices_of(settings)
    folder = spool_folder(settings) if wire else None

    def opened() -> Store:
        store = open_store(settings.store, busy_seconds=1.0)
        try:
            store.sign(start["run"])
            if wire is None or not store.path:  # a server sees to its file itself, and captures meanwhile
                bring_up(store, rules, prices, wait=False)
            if folder is not None:
                keep_key(store, folder / "key")
            if wire is not None:  # a writer that was killed may have stored something, and not have come to say so
                wire.publish(seq := store.seq(), {}, seq)
        except BaseException:
            store.close()
            raise
        return store

    store = later(settings.store, opened) if wire else opened()
    spool = Spool(folder, settings.spool_limit, sealer_beside(folder, store)) if folder and locked(folder) else None
    ingest = make_ingest(store, rules, prices, wire.publish if wire else None, cleaner)
    pipeline = Pipeline(ingest, cleaner.observation, spool, settings.queue_limit, settings.queue_bytes)
    pipeline.left_open = lambda: lost_calls(store, lambda exchange: still_runs(store, start["run"], exchange), now())
    indexer = Indexer(store)
    indexer.busy, indexer.worked = lambda: not pipeline.idle, pipeline.worked
    pipeline.on_stored = indexer.wake
    indexer.start()
    indexer.wake()
    following = follow(settings, ingest, indexer)
    following.busy = lambda: not pipeline.idle
    closing = threading.Event()
    if wire is not None:
        threading.Thread(target=drain_beside, args=(settings, ingest, closing.is_set), name="ramify-spools", daemon=True).start()

    def close() -> None:
        closing.set()
        following.close()
        indexer.close(CLOSE_SECONDS)
        store.close()

    return pipeline, close
