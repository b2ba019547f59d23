"""What the proxy of A2A agents adds to a frame of a stream: direct against watched, in one run, on this machine.

    python -m bench.a2a [--open SECONDS]

Every event tells when it was sent, so its delay is known to the reader. Agent and server run in processes of their own;
direct and watched rounds take turns, so that whatever else the machine does touches both. `--open` instead keeps streams
open for so long, with a ping now and then, and ends with status 1 if one of them is cut.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time

from rich.console import Console
from rich.table import Table

from bench.latency import at, process, title
from bench.loops import run
from bench.ports import free_port

STREAMS = (1, 32, 200)
EVENTS = 25
EVENTS_A_SECOND = 800
"""Of all streams together: two hundred agents at once, each with a word every quarter of a second."""
SPREAD_SECONDS = 1.0
"""Streams do not begin in the same instant."""
TURNS = 3
PING_SECONDS = 15.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {"message": {"messageId": "m", "parts": [{"text": "go"}]}}}
Delays = tuple[list[float], list[float]]
"""Milliseconds: from asking to the first event, and from sending to receiving of each later event."""


def event(number: int) -> bytes:
    status = {"state": "TASK_STATE_WORKING", "message": {"parts": [{"text": "x" * 120}]}}
    body = {"result": {"statusUpdate": {"taskId": "t", "n": number, "status": status}}, "at": time.time()}
    return chunk(b"data: %b\r\n\r\n" % json.dumps(body).encode())


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def number_after(head: bytes, name: bytes) -> float:
    return float(head.partition(name)[2].partition(b"&")[0].partition(b" ")[0] or 0)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """An agent that is only bytes. The query says how fast it speaks, and how long its stream then stays open."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        seconds = number_after(head, b"open=")
        pace = number_after(head, b"pace=")
        writer.write(HEAD + event(0))
        for number in range(1, EVENTS):
            await asyncio.sleep(pace)
            writer.write(event(number))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.sleep(min(PING_SECONDS, end - time.monotonic()))
            writer.write(chunk(b": ping\r\n\r\n"))
        writer.write(event(EVENTS) + LAST)
        await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    writer.close()


async def serve_agent(port: int) -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


async def stream(port: int, path: str) -> Delays:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps(CALL).encode()
    began = time.time()
    writer.write(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nA2A-Version: 1.0\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    first: list[float] = []
    later: list[float] = []
    while (line := await reader.readline()) != b"0\r\n":
        if not line:
            raise ConnectionError("the stream was cut")
        if line.startswith(b"data: "):
            now = time.time()
            if first:
                later.append((now - json.loads(line[6:])["at"]) * 1000)
            else:
                first.append((now - began) * 1000)
    writer.close()
    return first, later


async def measure(port: int, path: str, streams: int) -> Delays:
    async def later(number: int) -> Delays:
        await asyncio.sleep(SPREAD_SECONDS * number / streams)
        return await stream(port, f"{path}?pace={max(0.02, streams / EVENTS_A_SECOND)}")

    rounds = await asyncio.gather(*(later(number) for number in range(streams)))
    return [value for first, _ in rounds for value in first], [value for _, later in rounds for value in later]


async def bench(direct: int, watched: int, table: Table) -> None:
    for streams in STREAMS:
        kept: list[Delays] = [([], []), ([], [])]
        for _ in range(TURNS * (6 if streams == 1 else 1)):
            for side, (port, path) in zip(kept, ((direct, "/"), (watched, "/a2a/bench/")), strict=True):
                for part, values in zip(side, await measure(port, path, streams), strict=True):
                    part += values
        for part, what in enumerate(("first event", "later events")):
            sides = [sorted(side[part]) for side in kept]
            cells = [f"{at(side, share):.2f}" for side in sides for share in (0.5, 0.95, 0.99)]
            table.add_row(what, str(streams), *cells, f"{at(sides[1], 0.5) - at(sides[0], 0.5):+.2f}", str(len(sides[1])))


async def stay_open(watched: int, seconds: float, streams: int = 50) -> None:
    await asyncio.gather(*(stream(watched, f"/a2a/bench/?open={seconds}") for _ in range(streams)))
    print(f"{streams} streams stayed open for {seconds:.0f} s, none was cut")


def main(open_seconds: float = 0.0) -> None:
    direct, watched = free_port(), free_port()
    agent = [sys.executable, "-m", "bench.a2a", "--agent", str(direct)]
    server = [sys.executable, "-m", "ramify", "serve", "--port", str(watched), "--a2a", f"bench=http://127.0.0.1:{direct}"]
    with (
        tempfile.TemporaryDirectory(prefix="ramify-bench-") as folder,
        process(agent, direct),
        process([*server, "--store", f"sqlite:{folder}/bench.db"], watched),
    ):
        if open_seconds:
            run(stay_open(watched, open_seconds))
            return
        columns = (f"{side} {share}" for side in ("direct", "watched") for share in ("p50", "p95", "p99"))
        table = Table("what", "streams", *columns, "added p50", "count", title=title())
        run(bench(direct, watched, table))
    Console(width=150).print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.a2a")
    parser.add_argument("--open", type=float, default=0.0, metavar="SECONDS", help="only keep streams open for so long")
    parser.add_argument("--agent", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.agent:
        run(serve_agent(given.agent))
    else:
        main(given.open)
