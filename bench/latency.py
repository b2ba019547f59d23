"""What the proxy adds to an exchange: direct against proxied, in one run, on this machine.

    python -m bench.latency [--command 'ramify serve --port {port} --anthropic-upstream {upstream}']

Upstream and proxy run in processes of their own. Direct and proxied rounds take turns, so that whatever else
the machine does touches both.
"""

import argparse
import contextlib
import platform
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from bench.load import Times, measure
from bench.loops import run
from bench.ports import free_port

CONNECTIONS = (1, 8, 32)
SIZES = {"2 kB": (2_000, 400), "1 MB": (1_000_000, 60)}
TURNS = 3
SECONDS_A_TURN = 1.0
HEADERS = (
    "Host: 127.0.0.1\r\nAccept: application/json\r\nContent-Type: application/json\r\n"
    "User-Agent: claude-cli/2.1.325 (external, sdk-cli)\r\nx-api-key: sk-ant-dummy\r\n"
    "X-Claude-Code-Session-Id: 4dfa31ea-d069-421e-820f-ca2ab78e8884\r\nX-Stainless-Lang: js\r\n"
    "anthropic-version: 2023-06-01\r\nanthropic-beta: one,two,three\r\nAccept-Encoding: gzip, br\r\n"
)


def request(size: int, *, stream: bool) -> bytes:
    path = "/v1/messages?stream" if stream else "/v1/messages"
    return f"POST {path} HTTP/1.1\r\n{HEADERS}Content-Length: {size}\r\n\r\n".encode() + b"x" * size


async def compare(direct: int, proxied: int, asked: bytes, connections: int, count: int) -> list[Times]:
    times: list[Times] = [[], []]
    for _ in range(TURNS):
        for kept, port in zip(times, (direct, proxied), strict=True):
            kept += await measure(port, asked, connections, count, SECONDS_A_TURN)
    return times


async def bench(direct: int, proxied: int, table: Table) -> None:
    for stream in (False, True):
        for name, (size, count) in SIZES.items():
            for connections in CONNECTIONS:
                asked = request(size, stream=stream)
                times = await compare(direct, proxied, asked, connections, count)
                for part, what in enumerate(("first byte", "whole")):
                    if part or stream:
                        kind = f"stream, {what}" if stream else "answer"
                        parts = [sorted(pair[part] * 1000 for pair in side) for side in times]
                        table.add_row(name, kind, str(connections), *row(*parts))


def row(direct: list[float], proxied: list[float]) -> list[str]:
    cells = [f"{at(side, share):.2f}" for side in (direct, proxied) for share in (0.5, 0.95, 0.99)]
    before, after = at(direct, 0.5), at(proxied, 0.5)
    return [*cells, f"{after - before:+.2f}", f"{100 * (after / before - 1):+.0f} %", str(len(proxied))]


def at(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@contextlib.contextmanager
def process(arguments: list[str], port: int) -> Iterator[int]:
    """Gives its number."""
    child = subprocess.Popen(arguments)
    try:
        wait_for(port)
        yield child.pid
    finally:
        child.terminate()
        child.wait(60)  # a server stores what is still on its way


def wait_for(port: int, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def main(command: list[str] | None = None) -> None:
    """`command` starts a proxy to measure instead of the bare one, with {port}, {upstream} and {folder} in it."""
    direct, proxied = free_port(), free_port()
    upstream = f"http://127.0.0.1:{direct}"
    peers = [sys.executable, "-m", "bench.peers"]
    bare = [*peers, "proxy", str(proxied), upstream]
    table = Table("request", "what", "connections", *(f"{side} {p}" for side in ("direct", "proxied") for p in
                  ("p50", "p95", "p99")), "added p50", "", "count", title=title())  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="ramify-bench-") as folder, process([*peers, "upstream", str(direct)], direct):
        given = [part.format(port=proxied, upstream=upstream, folder=folder) for part in command or []]
        with process(given or bare, proxied):
            run(bench(direct, proxied, table))
    Console(width=150).print(table)


def title() -> str:
    day = time.strftime("%Y-%m-%d")
    return f"milliseconds; {day}, {platform.machine()}, Python {platform.python_version()}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.latency")
    parser.add_argument("--command", help="a proxy to measure instead, with {port} and {upstream} in it")
    main(shlex.split(parser.parse_args().command or "") or None)
