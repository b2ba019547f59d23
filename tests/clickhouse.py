"""A real ClickHouse of one's own: the engine from its Python wheel, which listens on loopback like a server."""

import importlib.util
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from bench.ports import free_port
from tests.peers.a2a.environments import Unavailable, environment

REQUIREMENTS = ("chdb==4.4.0",)
SECONDS = 60
CONFIG = """<clickhouse>
  <path>{data}/</path> <http_port>{port}</http_port> <listen_host>127.0.0.1</listen_host>
  <mark_cache_size>67108864</mark_cache_size> <logger><level>none</level></logger> {more}
</clickhouse>
"""
SHARD = "<shard><internal_replication>false</internal_replication>{replicas}</shard>"
REPLICA = "<replica><host>127.0.0.1</host><port>{port}</port></replica>"
SERVE = """
import sys
from chdb import _chdb
wait = "SELECT sleepEachRow(3) FROM numbers(1000000) SETTINGS function_sleep_max_microseconds_per_block = 0, max_block_size = 1 FORMAT Null"
_chdb.query(sys.argv[2] + wait, "TabSeparated", path=sys.argv[1])
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

    def __init__(self, folder: Path, more: str = "", listen: str = "SYSTEM START LISTEN HTTP; ") -> None:
        self.folder, self.data, self._listen = folder, folder / "data", listen
        self.port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.xml").write_text(CONFIG.format(data=self.data, port=self.port, more=more))
        self.start()

    @property
    def url(self) -> str:
        return f"clickhouse://127.0.0.1:{self.port}"

    def start(self) -> None:
        python = environment("clickhouse", REQUIREMENTS)
        plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(python), "-c", SERVE, str(self.data), self._listen], cwd=self.folder, env=plain, stdin=subprocess.DEVNULL, stdout=log, stderr=log
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

    def pause(self) -> None:
        """It takes connections and bytes, and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """As when the machine goes away: nothing is written down."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=SECONDS)


class Cluster:
    """Four nodes: two hold a copy each of the first shard, one holds the second, the last only passes on. Without a Keeper, so that
    tables are made on each node by itself, and it is the `Distributed` table that writes both copies."""

    NAME = "trial"

    def __init__(self, folder: Path) -> None:
        ports = [free_port() for _ in range(4)]
        shards = "".join(SHARD.format(replicas="".join(REPLICA.format(port=port) for port in some)) for some in (ports[:2], ports[2:3]))
        known = f"<remote_servers><{self.NAME}>{shards}</{self.NAME}></remote_servers>"
        listen = "SYSTEM START LISTEN HTTP; SYSTEM START LISTEN TCP; "
        self.nodes = [Server(folder / f"node{number}", f"<tcp_port>{port}</tcp_port> {known}", listen) for number, port in enumerate(ports)]

    @property
    def front(self) -> Server:
        return self.nodes[-1]

    def prepare(self, database: str) -> None:
        from ramify.storage import clickhouse_schema, clickhouse_views

        for statement in [*clickhouse_schema.statements(database, self.NAME), *clickhouse_views.statements(database, self.NAME)]:
            self.everywhere(statement)

    def everywhere(self, statement: str, settings: dict[str, Any] | None = None) -> None:
        """What ON CLUSTER would do."""
        import clickhouse_connect

        for node in self.nodes:
            with closing(clickhouse_connect.get_client(host="127.0.0.1", port=node.port)) as client:
                client.command(alone(statement, self.NAME), settings=settings)

    def url(self, database: str) -> str:
        return f"{self.front.url}/{database}?cluster={self.NAME}"

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()


def alone(statement: str, cluster: str) -> str:
    """The same for one node that has no Keeper."""
    plain = statement.replace(f" ON CLUSTER `{cluster}`", "").replace("replicated_deduplication_window", "non_replicated_deduplication_window")
    return re.sub(r"ReplicatedReplacingMergeTree\('[^']*', '[^']*'(?:, )?", "ReplacingMergeTree(", plain)
