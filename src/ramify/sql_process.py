"""SQL that people wrote on a file or in memory, answered by a process that can be ended.

SQLite looks at the clock between the steps of its machine, and not inside one function, one sort or the reading of a query; and
what it holds is bounded for a whole process alone. So a question has a process to itself while it is asked, which ends at its time
by a signal that needs nobody's help. One that is done is kept for the next question.
"""

import os
import select
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO

import msgspec
from msgspec import Struct

from ramify.model.mistake import UserMistake
from ramify.query.direct import sql
from ramify.query.narrowed import narrowed
from ramify.query.service import Answer
from ramify.storage.base import Bounds, Store, StoreDown
from ramify.storage.direct import GRACE, too_long
from ramify.storage.sealing import Sealer, know, without_keys
from ramify.storage.sqlite import Sqlite
from ramify.writer import frame, frames_of

IDLE_SECONDS = 300.0
HEAP = 1 << 30  # bytes that SQLite may hold
MEMORY = 2 << 30  # and the whole process
NICE = 5  # clients come first when the machine is short of cores


class Begin(Struct, frozen=True):
    """By its input: a key stands in no list of processes. Without a path, a copy of what is in memory comes with each question."""

    url: str
    path: str
    key: bytes | None


class Question(Struct, frozen=True):
    query: bytes  # what a person wrote may be no text
    bounds: Bounds
    projects: frozenset[str] | None


class Reply(Struct, frozen=True):
    answer: Answer = {}
    mistake: tuple[str, str] | None = None
    down: str = ""


_encode = msgspec.msgpack.Encoder().encode
_begin = msgspec.msgpack.Decoder(Begin)
_question = msgspec.msgpack.Decoder(Question)
_reply = msgspec.msgpack.Decoder(Reply)


class Ended(Exception):
    """Before it took the question, because nobody had asked for long."""


class SqlProcesses:
    """As many as are asked at once; each is kept for the next question."""

    def __init__(self, store: Sqlite) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._idle: list[SqlProcess] = []
        self._closed = False

    def ask(self, query: str, bounds: Bounds, projects: frozenset[str] | None = None) -> Answer:
        question = Question(query.encode("utf-8", "surrogatepass"), bounds, projects)
        while True:
            process = self._taken()
            try:
                reply = process.ask(question, b"" if self._store.path else self._store.copied())
            except Ended:
                continue
            except BaseException:
                process.end()
                raise
            self._give_back(process)
            return answered(reply)

    def _taken(self) -> "SqlProcess":
        with self._lock:
            if self._idle:
                return self._idle.pop()
        sealer = self._store.sealer
        return SqlProcess(Begin(self._store.url, self._store.path, sealer.data_key if sealer else None))

    def _give_back(self, process: "SqlProcess") -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(process)
                return
        process.end()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()


class SqlProcess:
    def __init__(self, begin: Begin) -> None:
        command = [sys.executable, "-m", "ramify.sql_process"]
        self._child = subprocess.Popen(command, env=without_keys(os.environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._in, self._out = self._child.stdin, self._child.stdout
        self._frames = frames_of(self._out)
        self._send(_encode(begin))
        answered(self._heard(Bounds()))  # it is ready: how long it took to begin is not the question's

    def ask(self, question: Question, copy: bytes) -> Reply:
        self._send(_encode(question), copy)
        return self._heard(question.bounds)

    def _send(self, head: bytes, body: bytes = b"") -> None:
        with suppress(BrokenPipeError):  # its end says why
            self._in.write(frame(head, body))
            self._in.flush()

    def _heard(self, bounds: Bounds) -> Reply:
        for head, _ in self._frames:
            return _reply.decode(head)
        status = self.end()
        if status == 0:
            raise Ended
        if status == -signal.SIGALRM:
            raise too_long(bounds)
        if status == -signal.SIGKILL:  # by the system, which had no memory left
            raise too_large()
        raise RuntimeError(f"the process that answers SQL ended with status {status}")

    def end(self) -> int:
        with suppress(BrokenPipeError):
            self._in.close()
        self._out.close()
        if self._child.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                return self._child.wait(1.0)
            self._child.kill()
        return self._child.wait()


def answered(reply: Reply) -> Answer:
    if reply.mistake is not None:
        raise UserMistake(*reply.mistake)
    if reply.down:
        raise StoreDown(reply.down)
    return reply.answer


def mistaken(mistake: UserMistake) -> Reply:
    return Reply(mistake=(mistake.message, mistake.hint))


def too_large() -> UserMistake:
    return UserMistake(f"the query needs more than {HEAP >> 30} GiB of memory", "ask for fewer rows or columns, for shorter texts, or sort less at once")


# -- the process -------------------------------------------------------------------------------------------------------


def main() -> int:
    wire = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else may be written there
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends when its input does
    frames = frames_of(sys.stdin.buffer)
    begin = _begin.decode(next(frames)[0])
    os.nice(NICE)
    bound_memory()
    store: Store | None = None
    try:
        store = opened(begin) if begin.path else None
    except UserMistake as mistake:
        say(wire, mistaken(mistake))
        return 1
    say(wire, Reply())
    while is_asked():
        head, copy = next(frames, (b"", b""))
        if not head:
            break
        say(wire, reply_to(_question.decode(head), store or in_memory(copy)))
    return 0


def bound_memory() -> None:
    import resource

    sqlite3.connect(":memory:").execute(f"PRAGMA hard_heap_limit = {HEAP}")  # for all connections
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most), most))


def opened(begin: Begin) -> Sqlite:
    store = Sqlite(begin.url, begin.path)
    if begin.key is not None:
        store.sealer = know(Sealer(begin.key))
    return store


def in_memory(copy: bytes) -> Sqlite:
    store = Sqlite("memory:", "")
    store.become(copy)
    return store


def is_asked() -> bool:
    """The input is read by the frames alone, and by nobody ahead: between two questions nothing is left in between."""
    return bool(select.select([sys.stdin.buffer], [], [], IDLE_SECONDS)[0])


def reply_to(question: Question, store: Store) -> Reply:
    seen = store if question.projects is None else narrowed(store, question.projects)
    signal.setitimer(signal.ITIMER_REAL, question.bounds.seconds + GRACE)  # its default is to end the process, wherever that is
    try:
        return Reply(sql(seen, question.query.decode("utf-8", "surrogatepass"), question.bounds))
    except UserMistake as mistake:
        return mistaken(mistake)
    except StoreDown as problem:
        return Reply(down=str(problem))
    except MemoryError:
        return mistaken(too_large())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def say(wire: IO[bytes], reply: Reply) -> None:
    wire.write(frame(_encode(reply)))
    wire.flush()


if __name__ == "__main__":
    raise SystemExit(main())
