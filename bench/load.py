"""A client that is only a protocol: it asks, notes when the first and the last byte came, and asks again."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import cast

Times = list[tuple[float, float]]
"""Seconds to the first byte of the body, and to the end."""


@dataclass
class Round:
    """What one measurement asks for."""

    request: bytes
    count: int
    seconds: float
    times: Times = field(default_factory=list)
    asked: int = 0

    def __post_init__(self) -> None:
        self.end = time.perf_counter() + self.seconds

    def more(self) -> bool:
        self.asked += 1
        return self.asked <= self.count and time.perf_counter() < self.end


class Caller(asyncio.Protocol):
    transport: asyncio.Transport

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self._first = 0.0
        self._began = 0.0
        self._got = 0
        self._size = 0
        self._head = b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server closed the connection"))

    def data_received(self, chunk: bytes) -> None:
        if self._first:
            self._got += len(chunk)
        else:
            self._head += chunk
            end = self._head.find(b"\r\n\r\n")
            if end < 0 or len(self._head) == end + 4:
                return
            self._first = time.perf_counter()
            self._got = len(self._head) - end - 4
            lower = self._head[:end].lower()
            at = lower.find(b"content-length:")
            self._size = int(lower[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else -1
        if self._got == self._size or (self._size < 0 and chunk.endswith(b"0\r\n\r\n")):
            self._note()

    def _note(self) -> None:
        now = time.perf_counter()
        self._round.times.append((self._first - self._began, now - self._began))
        self._ask()

    def _ask(self) -> None:
        if not self._round.more():
            self.done.set_result(None)
            return
        self._first = 0.0
        self._got = 0
        self._head = b""
        self._began = time.perf_counter()
        self.transport.write(self._round.request)


async def measure(port: int, request: bytes, connections: int, count: int, seconds: float) -> Times:
    """The first answer on each connection is left out: it pays for connecting."""
    loop = asyncio.get_running_loop()
    round_ = Round(request, count + connections, seconds)
    callers = []
    for _ in range(connections):
        _, caller = await loop.create_connection(lambda: Caller(round_), "127.0.0.1", port)
        callers.append(caller)
    await asyncio.gather(*(caller.done for caller in callers))
    for caller in callers:
        caller.transport.close()
    return round_.times[connections:]
