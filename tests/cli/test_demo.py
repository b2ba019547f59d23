"""`ramify demo`: the whole of it on a throw-away store, without a terminal and beside another server."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from ramify.cli.serving import has_screen
from ramify.demo.agents import listen
from tests.cli.test_main import environment

FAST = """
import sys
from functools import partial
from ramify import app
app.demo = partial(app.demo, pace=0.0)
from ramify.cli.main import main
sys.exit(main(["demo"]))
"""


def test_without_a_terminal_the_tree_is_drawn_once_and_the_server_stays(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        busy = str(other.getsockname()[1])
        child = subprocess.Popen(
            [sys.executable, "-c", FAST],
            env=environment(tmp_path, RAMIFY_PORT=busy, COLUMNS="100"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert child.stderr is not None
            said = [child.stderr.readline() for _ in range(13)]
            assert child.poll() is None
        finally:
            os.kill(child.pid, signal.SIGINT)
            drawn, rest = child.communicate(timeout=30)
    assert child.returncode == 0, rest
    assert f"127.0.0.1:{busy}" not in said[0]
    assert sum("watches an A2A agent" in line for line in said) == 3
    assert "the server stays up" in said[9]
    assert "export RAMIFY_STORE=sqlite:" in said[10]
    assert drawn.count("─ ✓ general-purpose") == 5
    assert drawn.count("conversation conv_") == 1


def test_the_throw_away_store_is_thrown_away(tmp_path: Path) -> None:
    """Here the demonstration is stopped before it has shown anything."""
    child = subprocess.Popen(
        [sys.executable, "-c", FAST], env=environment(tmp_path, TMPDIR=str(tmp_path)), stderr=subprocess.PIPE, text=True
    )
    assert child.stderr is not None
    assert "listens on" in child.stderr.readline()
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)
    assert child.returncode == 0
    assert not list(tmp_path.glob("ramify-demo-*"))


def test_a_browser_is_opened_only_where_it_can_show_itself() -> None:
    assert has_screen({}, "darwin")
    assert has_screen({"DISPLAY": ":0"}, "linux")
    assert has_screen({"WAYLAND_DISPLAY": "wayland-0"}, "linux")
    assert not has_screen({}, "linux")
    assert not has_screen({"DISPLAY": ":10", "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, "linux")


async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    line = b'data: {"result": {"task": {"id": "t1"}}}\r\n'
    writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(line), line))
    await writer.drain()
    writer.close()


def test_an_agent_of_the_demo_that_goes_in_the_middle_leaves_no_trace_of_errors() -> None:
    async def hear() -> Any:
        server = await asyncio.start_server(cut, "127.0.0.1", 0)
        async with server:
            return await listen(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", "Go", "m1")

    assert asyncio.run(hear()) == {"task": {"id": "t1"}}
