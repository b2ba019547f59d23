"""A real PostgreSQL of one's own: a fresh cluster in a folder, on loopback, as a user that is not root."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from glob import glob
from pathlib import Path

import psycopg

from bench.ports import free_port

SECONDS = 60


def binaries() -> str:
    """The folder of the newest server on this machine; empty where there is none."""
    found = [str(Path(path).parent) for path in sorted(glob("/usr/lib/postgresql/*/bin/postgres"))]
    on_path = shutil.which("postgres")
    return found[-1] if found else str(Path(on_path).parent) if on_path else ""


def missing() -> str:
    """Why there can be none, in one line; empty where there can."""
    if not binaries():
        return "no PostgreSQL on this machine: apt install postgresql"
    if os.getuid() == 0 and not _other_user():
        return "PostgreSQL refuses root, and there is no user postgres or nobody"
    return ""


def _other_user() -> str:
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    return ""


class Cluster:
    """Its data outlives `kill` and `start`, as on any server."""

    def __init__(self, folder: Path, shared_buffers: str = "64MB", fsync: str = "on") -> None:
        self.folder = folder
        self.fsync = fsync
        self.data = folder / "data"
        self.shared_buffers = shared_buffers
        self.port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        if os.getuid() == 0:
            for above in (folder, *folder.parents):
                if above.owner() == "root" and len(above.parts) > 2:
                    above.chmod(0o755)
            shutil.chown(folder, _other_user())
        if not self.data.exists():
            self._run(["initdb", "-D", str(self.data), "-U", "ramify", "--auth=trust", "-E", "UTF8", "--no-sync"])
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://ramify@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.folder} "
        options += f"-c shared_buffers={self.shared_buffers} -c fsync={self.fsync}"
        self._run(["pg_ctl", "-D", str(self.data), "-o", options, "-l", str(self.folder / "log"), "-w", "-t", str(SECONDS), "start"])
        end = time.monotonic() + SECONDS
        while True:
            try:
                psycopg.connect(self.url, connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def kill(self) -> None:
        """As when the machine goes away: nothing is written down."""
        self._run(["pg_ctl", "-D", str(self.data), "-m", "immediate", "-w", "-t", str(SECONDS), "stop"])

    stop = kill

    def pause(self) -> None:
        """It takes connections and bytes, and answers nothing: as on a disk that hangs."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        """The first process before those that it may start meanwhile; awakened in the same order."""
        first = int((self.data / "postmaster.pid").read_text().split()[0])
        os.kill(first, number)
        for child in Path(f"/proc/{first}/task/{first}/children").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(child), number)

    def _run(self, command: Sequence[str]) -> None:
        line = [f"{binaries()}/{command[0]}", *command[1:]]
        user = {"user": _other_user(), "group": pwd.getpwnam(_other_user()).pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
        done = subprocess.run(
            line, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.folder, timeout=2 * SECONDS,
            **user,  # type: ignore[call-overload]
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(line)}: {done.stderr.decode(errors='replace')}")
