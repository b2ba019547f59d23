"""The writer as a process of its own: linking and storing never hold up the loop that carries clients' bytes.

Observations go over a socket pair, and are kept by the sender until the writer says that they are stored or spooled;
if the writer dies it is started again and gets them once more (stores are idempotent). When the server itself dies,
the writer stores what it has and ends.
"""

import json
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from struct import Struct as Layout
from typing import IO, Any, cast

import msgspec

from ramify.ingest import Publish
from ramify.model.entity import SHOWN, TABLES, Entity
from ramify.model.mistake import UserMistake
from ramify.model.observation import Observation, Request, Response
from ramify.pipeline import Pipeline, lag_ms, weight
from ramify.storage.base import StoreDown

log = logging.getLogger("ramify")
SIZE = Layout("<II")  # of the head, of the body
Rows = dict[tuple[str, str], Entity | None]
_encode = msgspec.msgpack.Encoder().encode
_heads = msgspec.msgpack.Decoder(Observation)
_decoders = {table: msgspec.msgpack.Decoder(type) for table, type in TABLES.items()}
HURRY = b""  # in place of an observation: somebody waits for those before
RESTART_SECONDS = 1.0
STATE_SECONDS = 0.25
CLOSE_SECONDS = 10.0  # that writers which do not even begin are started again for, once all is to end
OPEN_SECONDS = 30.0
END_SECONDS = 5.0
COUNTED = ("stored", "unlinked", "commits", "commit_seconds", "given_up")
"""Of one writer alone; the next begins at 0."""


def send_frame(wire: socket.socket, head: bytes, body: bytes = b"") -> None:
    wire.sendall(SIZE.pack(len(head), len(body)) + head)
    if body:
        wire.sendall(body)


def read_frames(wire: socket.socket) -> Iterator[tuple[bytes, bytes]]:
    """Until the other side is gone, in whatever way."""
    with cast(IO[bytes], wire.makefile("rb", buffering=1 << 16)) as file, suppress(ConnectionError):
        yield from frames_of(file)


def frames_of(file: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    while len(size := file.read(SIZE.size)) == SIZE.size:
        head_size, body_size = SIZE.unpack(size)
        head, body = file.read(head_size), file.read(body_size)
        if len(head) < head_size or len(body) < body_size:
            return
        yield head, body


def frame(head: bytes, body: bytes = b"") -> bytes:
    return SIZE.pack(len(head), len(body)) + head + body


class RemotePipeline:
    """The sending side; what `Pipeline` is, for whoever observes."""

    def __init__(self, start: dict[str, Any], publish: Publish, queue_limit: int, queue_bytes: int) -> None:
        self._start = json.dumps(start).encode()
        self._publish = publish
        self._most, self._most_bytes = 2 * queue_limit, 2 * queue_bytes
        self._kept: deque[Observation] = deque()  # sent or not, but not yet known to be safe
        self._unsent = 0
        self._hurried = False
        self._bytes = 0
        self._dropped = 0
        self._exchanges = 0
        self._given = 0
        self._passed = 0
        self._state: dict[str, Any] = {"spooled": 0, "spooled_bytes": 0, "unlinked": 0, "stored": 0, "problem": ""}
        self._before: dict[str, Any] = dict.fromkeys(COUNTED, 0)  # of writers that are gone
        self._changed = threading.Condition()
        self._closing = False
        self._close_by = 0.0
        self._child: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="ramify-sender", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, seen: Observation) -> int:
        """A number to wait for; 0: it could not be taken."""
        size = weight(seen)
        with self._changed:
            self._exchanges += isinstance(seen, Request)
            if len(self._kept) >= self._most or self._bytes + size > self._most_bytes:
                self._dropped += 1
                return 0
            self._given += 1
            self._kept.append(seen)
            self._unsent += 1
            self._bytes += size
            if self._unsent == 1:
                self._changed.notify_all()
            return self._given

    def wait(self, number: int, seconds: float) -> bool:
        """Until everything up to that number is stored, spooled or given up."""
        with self._changed:
            self._hurried = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._passed >= number, seconds)

    @property
    def lost(self) -> int:
        return self._dropped + int(self._before["given_up"]) + int(self._state.get("lost", 0))

    def state(self) -> dict[str, object]:
        with self._changed:
            told = dict(self._state)
            oldest = min(filter(None, (self._kept[0].at if self._kept else 0, int(told.pop("oldest", 0)))), default=0)
            for name, count in self._before.items():
                told[name] = told.get(name, 0) + count
            del told["given_up"]  # part of those that are lost
            seen = {"captured": self._given + self._dropped, "exchanges": self._exchanges}
        return {**told, **seen, "waiting": len(self._kept), "waiting_bytes": self._bytes, "lost": self.lost, "lag_ms": lag_ms(oldest)}

    def flush(self, seconds: float = 30.0) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not self._kept and not self._state.get("spooled"):
                return True
            time.sleep(0.005)
        return False

    def close(self) -> None:
        """Waits for the writer to store what it has."""
        with self._changed:
            self._close_by = self._close_by or time.monotonic() + CLOSE_SECONDS
            self._closing = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=90)

    # -- one writer after another --------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            why = ""
            try:
                self._serve_one_writer()
            except (OSError, subprocess.TimeoutExpired) as problem:
                why = str(problem)
                log.warning("the writer is gone problem=%r; starting it again", why)
            except Exception as problem:  # it outlives every bug, or nothing would be captured any more
                why = repr(problem)
                log.exception("handing on to the writer failed; starting it again")
            self._note_gone(f"no writer runs, so what is seen waits in memory ({why}; the log may say more)")
            if self._closing and (not self._kept or time.monotonic() > self._close_by):
                if self._kept:
                    log.error("lost observations=%d: no writer would take them", len(self._kept))
                return
            time.sleep(RESTART_SECONDS)
            with self._changed:
                self._unsent = len(self._kept)  # whatever was not acknowledged is sent again

    def _note_gone(self, problem: str) -> None:
        """What a writer that is gone has counted, before another tells its own; and that there is none, until another tells how it is."""
        with self._changed:
            gone = {name: self._state.get(name, 0) for name in COUNTED}
            for name, count in gone.items():
                self._before[name] += count
            self._state = {**self._state, **dict.fromkeys(COUNTED, 0), "lost": self._state.get("lost", 0) - gone["given_up"], "problem": problem}

    def _serve_one_writer(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self._child = subprocess.Popen(
            [sys.executable, "-m", "ramify.writing", str(theirs.fileno())],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True,
        )
        theirs.close()
        hearing = threading.Thread(target=self._hear, args=(ours,), name="ramify-hearing", daemon=True)
        try:
            send_frame(ours, self._start)
            hearing.start()
            self._send(ours)
        finally:
            with suppress(OSError):
                ours.shutdown(socket.SHUT_WR)  # a writer that lives stores what it has, and ends
            if hearing.ident is not None:
                hearing.join(timeout=60)
            ours.close()
            self._child.wait(timeout=60)

    def _send(self, wire: socket.socket) -> None:
        while True:
            with self._changed:
                while not self._unsent and not self._hurried:
                    if self._closing:
                        return
                    if not self._changed.wait(timeout=1.0) and self._child is not None and self._child.poll() is not None:
                        raise OSError("the writer ended")
                seen = self._kept[len(self._kept) - self._unsent] if self._unsent else None
                self._hurried = self._hurried and seen is not None
            if seen is None:
                send_frame(wire, HURRY)
                continue
            parts = written(seen)
            with self._changed:
                if parts is None:
                    self._give_up(seen)
                self._unsent -= 1  # before it goes: its acknowledgement may be here before we get on
            if parts is not None:
                send_frame(wire, *parts)

    def _give_up(self, seen: Observation) -> None:
        log.error("lost observation id=%.100r: it cannot be written down", seen.id)
        del self._kept[len(self._kept) - self._unsent]
        self._bytes -= weight(seen)
        self._dropped += 1
        self._passed += 1
        self._changed.notify_all()

    def _hear(self, wire: socket.socket) -> None:
        try:
            for head, body in read_frames(wire):
                self._take(msgspec.msgpack.decode(head), body)
        except OSError:
            return
        except Exception:
            log.exception("could not understand the writer")

    def _take(self, message: dict[str, Any], body: bytes) -> None:
        match message:
            case {"safe": int(count)}:
                with self._changed:
                    done = min(count, len(self._kept) - self._unsent)
                    for _ in range(done):
                        self._bytes -= weight(self._kept.popleft())
                    self._passed += done
                    self._changed.notify_all()
            case {"state": dict(state)}:
                self._state = state
            case {"seq": int(seq), "after": int() | None as after}:
                self._publish(seq, read_rows(body) if body else None, after)
            case _:
                log.warning("the writer said something unknown keys=%s", sorted(message))


def written(seen: Observation) -> tuple[bytes, bytes] | None:
    """Head and body as they are sent; None for what no store could hold."""
    try:
        if isinstance(seen, Request | Response) and seen.body:
            return _encode(msgspec.structs.replace(seen, body=b"")), seen.body
        return _encode(seen), b""
    except (UnicodeError, msgspec.MsgspecError, OverflowError):
        return None


def read_rows(body: bytes) -> Rows:
    return {
        (table, id): _decoders[table].decode(doc) if doc is not None else None
        for table, id, doc in msgspec.msgpack.decode(body)
    }


class Wire:
    """The writer's side: several threads speak, one frame at a time. A server that is gone is no reason to stop storing."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._lock = threading.Lock()
        self._gone = False

    def send(self, message: dict[str, Any], body: bytes = b"") -> None:
        with self._lock:
            if self._gone:
                return
            try:
                send_frame(self.connection, _encode(message), body)
            except OSError:
                self._gone = True

    def publish(self, seq: int, rows: Rows | None, after: int | None = None, /) -> None:
        if rows is None:
            self.send({"seq": seq, "after": after})
            return
        listed = [(table, id, _encode(row) if row is not None else None) for (table, id), row in rows.items() if table in SHOWN]
        self.send({"seq": seq, "after": after}, _encode(listed))


Make = Callable[[dict[str, Any], Wire | None], tuple[Pipeline, Callable[[], None]]]


def serve_writer(connection: socket.socket, make: Make) -> None:
    """Runs in the child: observations in, acknowledgements, changes and figures out; ends when the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    wire = Wire(connection)
    frames = read_frames(connection)
    pipeline, close = make(json.loads(next(frames)[0]), wire)
    told: dict[str, object] = {}

    def tell(count: int) -> None:
        wire.send({"safe": count})
        tell_state()

    def tell_state() -> None:
        nonlocal told
        state = pipeline.figures()
        if state != told:
            told = state
            wire.send({"state": state})

    pipeline.on_safe = tell
    pipeline.start()
    stop = threading.Event()

    def report() -> None:
        while not stop.wait(STATE_SECONDS):
            tell_state()

    threading.Thread(target=report, daemon=True).start()
    try:
        for head, body in frames:
            if head == HURRY:
                pipeline.hurry()
                continue
            try:
                seen = _heads.decode(head)
            except msgspec.MsgspecError:  # sent again, it would end us again
                log.exception("lost an observation that could not be read on its way")
                pipeline.dropped += 1
                tell(1)
                continue
            pipeline.put(msgspec.structs.replace(seen, body=body) if body else seen)
    finally:
        stop.set()
        ended = pipeline.close()
        tell_state()
        if ended:
            within(END_SECONDS, close)


def within(seconds: float, act: Callable[[], None]) -> None:
    """A store that hangs would keep us for ever; everything that was given to us is safe by now."""
    acting = threading.Thread(target=act, daemon=True)
    acting.start()
    acting.join(timeout=seconds)


def store_all(file: IO[bytes], make: Make) -> int:
    """Runs in the child of a program that is recorded: observations in, until there are no more. How many were lost."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    frames = frames_of(file)
    pipeline, close = made(make, json.loads(next(frames)[0]), time.monotonic() + OPEN_SECONDS)
    pipeline.start()
    try:
        for head, _ in frames:
            pipeline.put(_heads.decode(head))
    finally:
        pipeline.close()
        close()
    return pipeline.lost


def made(make: Make, start: dict[str, Any], until: float) -> tuple[Pipeline, Callable[[], None]]:
    """A store that somebody holds just now is waited for: nobody else has what we are given."""
    while True:
        try:
            return make(start, None)
        except (UserMistake, StoreDown):
            if time.monotonic() > until:
                raise
            time.sleep(RESTART_SECONDS)
