"""Many streams at once through the proxy, beside the same without it: `python -m bench.streams [--streams 500] [--minutes 5] [--pace 1.0]`.

Every stream is an answer of a model that speaks slowly; one that ends begins anew. Clients, upstream and server share the machine's
cores, so the pace is one that the direct run carries as well. Direct and watched rounds take turns; each byte is counted, and one that is
missing, or a stream that fails, ends it with status 1. The server runs as `ramify serve` does.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.flatness import of_process
from bench.latency import at, process, title
from bench.loops import run
from bench.ports import free_port
from bench.traffic import prose
from bench.traffic import stream as told

ROUNDS = 2  # of each side, in turns
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
ASKED = (
    "POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nx-api-key: sk-ant-dummy\r\nUser-Agent: claude-cli/2.1.325\r\n"
    "X-Claude-Code-Session-Id: {session}\r\nContent-Length: {size}\r\n\r\n"
)
BODY = '{{"model":"claude-sonnet-5","max_tokens":9,"stream":true,"messages":[{{"role":"user","content":"stream {number}: {words}"}}]}}'


def answer() -> list[bytes]:
    """The events of one answer; every stream has the same bytes."""
    raw = told("msg_streams", prose(random.Random(1), 900), "toolu_streams", {"command": "look"})
    return [event + b"\n\n" for event in raw.split(b"\n\n") if event]


EVENTS = answer()
SIZE = sum(map(len, EVENTS))


@dataclass
class Round:
    """What one side did in one turn."""

    first: list[float] = field(default_factory=list)  # milliseconds to the first byte of the answer
    whole: int = 0
    seconds: float = 0.0
    failed: list[str] = field(default_factory=list)
    events: int = 0


async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pace: float) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]))
            writer.write(HEAD)
            for event in EVENTS:
                writer.write(b"%x\r\n%b\r\n" % (len(event), event))
                await writer.drain()
                await asyncio.sleep(pace)
            writer.write(b"0\r\n\r\n")
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    writer.close()


async def serve_model(port: int, pace: float) -> None:
    server = await asyncio.start_server(lambda reader, writer: speak(reader, writer, pace), "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


async def listen(port: int, number: int, end: float, spread: float, round_: Round) -> None:
    """One client: a stream after the other on one connection."""
    await asyncio.sleep(spread)
    body = BODY.format(number=number, words="x" * 400)
    asked = ASKED.format(session=f"streams-{number}", size=len(body)).encode() + body.encode()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.monotonic() < end:
            await one(reader, writer, asked, round_)
        writer.close()
    except (ConnectionError, asyncio.IncompleteReadError, ValueError, TimeoutError) as problem:
        round_.failed.append(f"{number}: {problem!r}")


async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: bytes, round_: Round) -> None:
    began = time.perf_counter()
    writer.write(asked)
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise ValueError(head[:100])
    got = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        if not got:
            round_.first.append((time.perf_counter() - began) * 1000)
        got += (await reader.readexactly(size + 2))[:-2]
        round_.events += 1
    await reader.readexactly(2)
    if got != b"".join(EVENTS):
        raise ValueError(f"{len(got)} of {SIZE} bytes, or other ones")
    round_.whole += 1


async def measure(port: int, streams: int, seconds: float, round_: Round) -> None:
    began = time.monotonic()
    await asyncio.gather(*(listen(port, number, began + seconds, 5.0 * number / streams, round_) for number in range(streams)))
    round_.seconds += time.monotonic() - began


async def bench(sides: dict[str, tuple[int, Round]], streams: int, seconds: float) -> None:
    for _ in range(ROUNDS):
        for port, round_ in sides.values():
            await measure(port, streams, seconds / ROUNDS, round_)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.streams", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=5.0, help="of each side")
    parser.add_argument("--pace", type=float, default=1.0, help="seconds between two events of a stream")
    parser.add_argument("--model", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.model:
        run(serve_model(given.model, given.pace))
        return 0
    direct, watched = free_port(), free_port()
    rounds = {"direct": (direct, Round()), "watched": (watched, Round())}
    with tempfile.TemporaryDirectory(prefix="ramify-streams-") as folder:
        model = [sys.executable, "-m", "bench.streams", "--model", str(direct), "--pace", str(given.pace)]
        serve = [sys.executable, "-m", "ramify", "serve", "--port", str(watched), "--store", f"sqlite:{folder}/streams.db"]
        with process(model, direct), process([*serve, "--anthropic-upstream", f"http://127.0.0.1:{direct}"], watched) as pid:
            run(bench(rounds, given.streams, given.minutes * 60))
            show(rounds, given, pid)
    return int(any(round_.failed for _, round_ in rounds.values()))


def show(rounds: dict[str, tuple[int, Round]], given: argparse.Namespace, pid: int) -> None:
    memory, files, _ = of_process(pid)
    took = sum(map(float, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")
    table = Table("side", "whole streams", "failed", "events/s", "first byte p50", "p95", "p99", "longest (ms)", title=f"{given.streams} streams, {title()}")
    for name, (_, round_) in rounds.items():
        first = sorted(round_.first) or [0.0]
        cells = (f"{at(first, share):.1f}" for share in (0.5, 0.95, 0.99))
        table.add_row(name, str(round_.whole), str(len(round_.failed)), f"{round_.events / max(1.0, round_.seconds):.0f}", *cells, f"{first[-1]:.1f}")
    Console(width=140).print(table)
    print(f"server: {memory:.0f} MiB, {files:.0f} open files at the end, {took:.0f} s of CPU for {rounds['watched'][1].events} events")
    for name, (_, round_) in rounds.items():
        print(*(f"{name} failed: {problem}" for problem in round_.failed[:5]), sep="\n")


if __name__ == "__main__":
    raise SystemExit(main())
