"""`ramify.record` and `ramify.instrument`: what a program's own agents say, recorded from inside the program.

Records go to the store of the settings: through its server where one runs, else by a process of our own.
"""

import atexit
import logging
import os
import secrets
import threading
import time
from collections.abc import AsyncIterable, Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from ramify import emit
from ramify.capture.delivery import ServerAt
from ramify.capture.event_sink import EventSink
from ramify.capture.instruments import EVENT_INSTRUMENTS, INSTRUMENTS, Attach
from ramify.capture.instruments.arrival import Arrivals
from ramify.capture.instruments.patches import Patches
from ramify.capture.outbox import Away, Destination, Outbox
from ramify.capture.recorder import Recorded, Tap, Told
from ramify.capture.tee import Sink
from ramify.emit import Emitter, Subscription
from ramify.model.mistake import UserMistake
from ramify.model.observation import Observation, Record
from ramify.model.reported import hook_record
from ramify.settings import Settings, load
from ramify.storage.address import shown

log = logging.getLogger("ramify")
Message = TypeVar("Message")
EXIT_SECONDS = 5.0


def record(
    messages: AsyncIterable[Message],
    *,
    prompt: object = None,
    project: str | None = None,
    store: str | None = None,
    server: str | None = None,
) -> Recorded[Message]:
    """The same messages, recorded as they pass. `prompt` is what was asked, which no stream says."""
    tap = _process.recorder(project, store, server).tap()
    if prompt is not None and _process.patches is None:
        tap.tell_prompt(prompt)
    return Recorded(messages, tap)


def instrument(
    *, project: str | None = None, store: str | None = None, server: str | None = None, emitter: Emitter | None = None
) -> "Instrumented":
    """Records every client of this process whose library is installed and known. Doing it again changes nothing.

    Calls of agents are told by `emitter` to its own subscribers; without one, by `ramify.emitter`, and stored.
    """
    recorder = _process.recorder(project, store, server)
    sink = None if emitter is not None else event_sink(store, project, server)
    _process.install(recorder, emitter or emit.emitter, sink)
    return Instrumented()


def uninstrument() -> None:
    _process.remove()


def flush(seconds: float = EXIT_SECONDS) -> bool:
    """Waits until everything recorded so far is safe, at most so long. The end of a program does this by itself."""
    end = time.monotonic() + seconds
    told = emit.emitter.flush(seconds)
    return _process.flush(max(0.0, end - time.monotonic())) and told


class Instrumented:
    """What `instrument` gives: `with` or `undo` takes it back."""

    def undo(self) -> None:
        uninstrument()

    def __enter__(self) -> "Instrumented":
        return self

    def __exit__(self, *problem: object) -> None:
        self.undo()


def now() -> int:
    return time.time_ns() // 1000


class Recorder:
    """One place to record to, and whose data it is."""

    def __init__(self, sink: Sink, project: str, told: Told) -> None:
        self._sink = sink
        self._project = project
        self._told = told

    def tap(self) -> Tap:
        return Tap(self._sink, self._project, now, f"sdk-{secrets.token_hex(6)}", self._told)


class StoreSink(EventSink):
    """Where an emitter's events go to: the store of the settings, or one that is named. Nothing is opened before the
    first event. Events of a session (`ramify.session`) stand under the name that a server has for it; others are the
    local user's."""

    def __init__(self, store: str | None = None, *, project: str | None = None, server: str | None = None) -> None:
        """Raises UserMistake for settings that are wrong."""
        settings = checked(load({"store": store, "project": project, "server": server}, os.environ))
        direct = store is not None and server is None
        super().__init__(lambda: destination(settings, direct), settings.project or "default", now)


class Process:
    """What one process has of these things: an outbox for each place, and the patches that are in force.

    It is the only state of its kind: `instrument` is about the process, and so is its end.
    """

    def __init__(self) -> None:
        self.patches: Patches | None = None
        self._arrivals = Arrivals()
        self._told_by: tuple[Emitter, Subscription] | None = None
        self._outboxes: dict[tuple[str, str], Outbox] = {}
        self._told = Told()
        self._turn = threading.Lock()

    def recorder(self, project: str | None, store: str | None, server: str | None) -> Recorder:
        """Never raises: a program must not fail because it is recorded."""
        try:
            settings = checked(load({"store": store, "project": project, "server": server}, os.environ))
        except UserMistake as mistake:
            log.error("nothing is recorded: %s", mistake)
            return Recorder(Nowhere(), "default", Told())
        direct = store is not None and server is None
        return Recorder(self._outbox(settings, direct), settings.project or "default", self._told)

    def _outbox(self, settings: Settings, direct: bool) -> Outbox:
        key = ("" if direct else settings.server or "", settings.store)
        with self._turn:
            if not self._outboxes:
                atexit.register(self.end)
            found = self._outboxes.get(key)
            if found is None:
                found = self._outboxes[key] = Outbox(lambda: destination(settings, direct))
            return found

    def install(self, recorder: Recorder, emitter: Emitter, sink: StoreSink | None) -> None:
        with self._turn:
            if self.patches is None:
                self.patches = Patches()
                self._told_by = None if sink is None else (emitter, emitter.subscribe(sink, name="store"))
                for package, install in INSTRUMENTS:
                    if find_spec(package) is not None:
                        tried(package, partial(install, self.patches, recorder.tap))
                for module, attach in EVENT_INSTRUMENTS:
                    self._arrivals.want(module, partial(attached, module, attach, self.patches, emitter))

    def remove(self) -> None:
        with self._turn:
            if self.patches is not None:
                self._arrivals.stop()
                self.patches.undo()
                self.patches = None
                if self._told_by is not None:
                    emitter, subscription = self._told_by
                    emitter.unsubscribe(subscription)  # what waits is still stored

    def flush(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        safe = [outbox.flush(max(0.0, end - time.monotonic())) for outbox in list(self._outboxes.values())]
        return all(safe)

    def end(self) -> None:
        safe = self.flush(EXIT_SECONDS)
        waiting = sum(outbox.waiting for outbox in self._outboxes.values())
        if waiting:
            log.warning("%d records could not be delivered before the program ended", waiting)
        elif not safe:
            log.warning("the last records are not stored yet; their writer goes on without this program")


def tried(package: str, install: Callable[[], None]) -> None:
    """A library that cannot be loaded, or is of an unknown kind, is its own affair and not the program's."""
    try:
        install()
    except Exception as problem:
        log.warning("%s is not recorded: %r", package, problem)


def attached(name: str, attach: Attach, patches: Patches, emitter: Emitter, module: ModuleType) -> None:
    tried(name, partial(attach, patches, module, emitter))


def event_sink(store: str | None, project: str | None, server: str | None) -> "StoreSink | None":
    """None where the settings are wrong, which was said already."""
    try:
        return StoreSink(store, project=project, server=server)
    except UserMistake:
        return None


class Nowhere:
    def put(self, observation: Observation) -> None:
        pass


class ThroughServer:
    """A server that writes to the very store that we would write to; when it goes, we do."""

    def __init__(self, server: ServerAt, store: str, own: Callable[[], Destination]) -> None:
        self._server: ServerAt | None = server
        self._store = store
        self._open = own
        self._local: Destination | None = None

    def send(self, batch: Sequence[Record]) -> None:
        if self._server is not None:
            try:
                self._server.send(batch)
                return
            except Away as problem:
                log.info("%s; records go to %s", problem, shown(self._store))
                self._server = None
        self._own().send(batch)

    def settle(self, seconds: float) -> bool:
        return self._local is None or self._local.settle(seconds)

    def _own(self) -> Destination:
        if self._local is None:
            self._local = self._open()
        return self._local


def checked(settings: Settings) -> Settings:
    if settings.server is None and not settings.store.startswith("sqlite:"):
        raise UserMistake(f"a program cannot record into {shown(settings.store)!r}", "use sqlite:PATH, or a server with RAMIFY_SERVER")
    return settings


def destination(settings: Settings, direct: bool) -> Destination:
    """Runs in the outbox's thread: it may look around."""
    if settings.server and not direct:
        return ServerAt(settings.server, settings.token)
    server = server_of(settings)
    return local_store(settings) if server is None else ThroughServer(server, settings.store, partial(local_store, settings))


def server_of(settings: Settings) -> ServerAt | None:
    """The server that runs where the settings say, if it writes to the store that they name."""
    place = place_of(settings.store)
    server = ServerAt(settings.address, settings.token)
    return server if place is not None and place == place_of(server.store() or "") else None


def place_of(store: str) -> Path | None:
    """The file of a store; None for what is no file, or another one in every folder."""
    path = Path(store.removeprefix("sqlite:")).expanduser()
    return path if store.startswith("sqlite:") and path.is_absolute() else None


def local_store(settings: Settings) -> Destination:
    from ramify.local_store import LocalStore  # the linking of a whole server, which few programs need

    return LocalStore(settings)


def report_hook(settings: Settings, body: bytes, at: int) -> None:
    """What a client told a hook, reported by a process that lives for nothing else."""
    server = ServerAt(settings.server, settings.token) if settings.server else server_of(settings)
    seen = hook_record(body, settings.project or "default", at)
    if server is not None:
        server.send([seen])
        return
    from ramify.local_store import StoredHere

    StoredHere(settings).send([seen])


_process = Process()
