"""An agent on the MCP SDK as a process on this machine."""

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.ports import free_port

SECONDS = 60.0


@contextmanager
def started(program: Path, name: str, *more: str) -> Iterator[str]:
    """Gives its address, as soon as it answers."""
    port = free_port()
    command = [sys.executable, str(program), name, str(port), *more]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/mcp"
    try:
        wait_for(url)
        yield url
    finally:
        process.kill()
        process.wait()


def wait_for(url: str) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(url, timeout=1)
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the agent never answered")
