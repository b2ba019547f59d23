"""A real ClickHouse of one's own: the engine from its Python wheel, which listens on loopback like a server."""

import importlib.util
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from functools import cache
from pathlib import Path

from tests.peers.a2a.environments import Unavailable, environment

REQUIREMENTS = ("chdb==4.4.0",)
SECONDS = 60
CONFIG = """<clickhouse>
  <path>{data}/</path> <http_port>{port}</http_port> <listen_host>127.0.0.1</listen_host>
  <mark_cache_size>67108864</mark_cache_size> <logger><level>none</level></logger>
</clickhouse>
"""
SERVE = """
import sys
from chdb import _chdb
wait = "SELECT sleepEachRow(3) FROM numbers(1000000) SETTINGS function_sleep_max_microseconds_per_block = 0, max_block_size = 1 FORMAT Null"
_chdb.query("SYSTEM START LISTEN HTTP; " + wait, "TabSeparated", path=sys.argv[1])
"""


@cache
def missing() -> str:
    """Why there can be none, in one line; empty where there can."""
    if importlib.util.find_spec("clickhouse_connect") is None:
        return "no driver for ClickHouse: pip install clickhouse-connect"
    try:
        environment("clickhouse", REQUIREMENTS)
    except Unavailable as problem:
        return f"no ClickHouse on this machine: {problem}"
    return ""


def quick_folder() -> str | None:
    """For a server that only a test needs: what it flushes costs nothing in memory."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Server:
    """Its data outlives `kill` and `start`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, folder / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.xml").write_text(CONFIG.format(data=self.data, port=self.port))
        self.start()

    @property
    def url(self) -> str:
        return f"clickhouse://127.0.0.1:{self.port}"

    def start(self) -> None:
        python = environment("clickhouse", REQUIREMENTS)
        plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(python), "-c", SERVE, str(self.data)], cwd=self.folder, env=plain, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        end = time.monotonic() + SECONDS
        while not self._answers():
            if time.monotonic() > end or self.process.poll() is not None:
                self.kill()
                raise RuntimeError(f"ClickHouse does not answer: {(self.folder / 'log').read_text(errors='replace')[-500:]}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ping", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def kill(self) -> None:
        """As when the machine goes away: nothing is written down."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=SECONDS)
