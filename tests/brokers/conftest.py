"""A real broker and the real clients: installed where that is allowed, left out in one line where not."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.ports import free_port

PATIENCE = 180.0  # seconds, on a machine that does much else
MOSQUITTO = ("mosquitto", "/usr/sbin/mosquitto")


def needed(there: bool, missing: str) -> None:
    if there:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(missing)
    pytest.skip(missing)


def mosquitto() -> str | None:
    return next((path for name in MOSQUITTO if (path := shutil.which(name))), None)


class Broker:
    """Mosquitto with a file of its own, so that it can be ended and started again."""

    def __init__(self, program: str, folder: Path) -> None:
        self.port = free_port()
        self._program = program
        self._settings, self._log = folder / "mosquitto.conf", folder / "mosquitto.log"
        self._settings.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {folder}/\n"
            "autosave_interval 1\nautosave_on_changes true\nmax_queued_messages 0\nmax_inflight_messages 0\nuser root\n"
            f"log_dest file {self._log}\nlog_type all\n"
        )
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._process = subprocess.Popen([self._program, "-c", str(self._settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=0.2).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("mosquitto does not start")

    def subscribed(self) -> None:
        """Until somebody is: what was published before is nobody's."""
        end = time.monotonic() + PATIENCE
        while "Sending SUBACK" not in (self._log.read_text() if self._log.exists() else ""):
            assert time.monotonic() < end, "nobody subscribes"
            time.sleep(0.05)

    def stop(self) -> None:
        """As an operator does: it writes down what it holds."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    needed(find_spec("paho") is not None, "the MQTT client is not here: pip install paho-mqtt")
    program = mosquitto()
    needed(program is not None, "no broker is here: apt-get install mosquitto")
    assert program is not None
    folder = tmp_path / "broker"
    folder.mkdir()
    running = Broker(program, folder)
    running.start()
    yield running
    running.stop()


@pytest.fixture
def solace() -> None:
    needed(find_spec("solace") is not None, "the Solace client is not here: pip install solace-pubsubplus")


PYTHON = sys.executable
