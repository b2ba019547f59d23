"""A real pooler between Ramify and PostgreSQL, in transaction mode: every statement may be answered by another session."""

import os
import pwd
import shutil
import subprocess
import time
from pathlib import Path

import psycopg

from bench.ports import free_port
from tests import postgres

SECONDS = 30
CONFIG = """[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
auth_type = any
pool_mode = transaction
default_pool_size = 3
unix_socket_dir =
logfile = {folder}/log
pidfile = {folder}/pid
"""


def program() -> str:
    return shutil.which("pgbouncer") or next((path for path in ("/usr/sbin/pgbouncer",) if Path(path).exists()), "")


def missing() -> str:
    return postgres.missing() or ("" if program() else "no pgbouncer on this machine: apt install pgbouncer")


class Pooler:
    def __init__(self, folder: Path, server: int, user: str) -> None:
        self.port = free_port()
        folder.mkdir(parents=True)
        config = folder / "pgbouncer.ini"
        config.write_text(CONFIG.format(server=server, port=self.port, folder=folder).replace("* = host", f"postgres = user={user} host"))
        other = {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
        if other:
            shutil.chown(folder, "nobody")
        self._process = subprocess.Popen([program(), "-q", str(config)], cwd=folder, **other)  # type: ignore[call-overload]
        self.url = f"postgresql://{user}@127.0.0.1:{self.port}/postgres"
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + SECONDS
        while True:
            try:
                psycopg.connect(self.url, connect_timeout=5, prepare_threshold=None).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > end or self._process.poll() is not None:
                    self.stop()
                    raise
                time.sleep(0.1)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(timeout=SECONDS)
