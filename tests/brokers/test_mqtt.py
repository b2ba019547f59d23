"""A real broker with a persistent session: ended and started under load, its listener killed at the worst moment."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ramify.query.service import Questions
from ramify.storage.sqlite import open_sqlite
from tests import mesh_verdicts, story
from tests.brokers.conftest import PATIENCE, Broker

CASES = sorted(path.name for path in (story.CASES / "sam").iterdir() if path.is_dir())
LISTENER = """
import os, signal, sys, threading
from ramify.app import Ramify, hearing
from ramify.capture.broker import mqtt

left = int(sys.argv[3])
acknowledge = mqtt.Mqtt.ack

def ack(self, delivery):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)  # stored, and not acknowledged
    acknowledge(self, delivery)

mqtt.Mqtt.ack = ack
stopping = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stopping.set())
wanted = {"broker": "mqtt", "host": sys.argv[2], "namespace": "demo/mesh", "queue": "ramify-test"}
with hearing(wanted) as broker:
    store = Ramify.open(sys.argv[1], write=True)
    store.listen(broker, (), "UTC", lambda heard: None, stopping)
    store.close()
"""


def messages() -> list[dict[str, Any]]:
    files = [story.CASES / "sam" / case / "messages.jsonl" for case in CASES]
    return [json.loads(line) for file in files for line in file.read_bytes().splitlines()]


def publish(broker: Broker, every: list[dict[str, Any]], pause: float) -> None:
    """Until the broker has said of each that it has it, over however many connections that takes."""
    from paho.mqtt import client as mqtt
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, "mesh", protocol=mqtt.MQTTv5)
    client.reconnect_delay_set(1, 1)
    taken: set[int] = set()
    client.on_publish = lambda client, own, mid, reason, properties: taken.add(mid)
    client.connect("127.0.0.1", broker.port, clean_start=False)
    client.loop_start()
    sent: set[int] = set()
    for one in every:
        beside = Properties(PacketTypes.PUBLISH)
        beside.UserProperty = [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in one["user_properties"].items()]
        sent.add(client.publish(one["topic"], json.dumps(one["payload"]), qos=1, properties=beside).mid)
        time.sleep(pause)
    end = time.monotonic() + PATIENCE
    while sent - taken:
        assert time.monotonic() < end, "the broker never took everything"
        time.sleep(0.05)
    client.disconnect()
    client.loop_stop()


def start(store: str, broker: Broker, acks: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", LISTENER, store, broker.url, str(acks)], stderr=subprocess.DEVNULL)


def stored(path: Path) -> int:
    if not path.exists():
        return 0
    store = open_sqlite(f"sqlite:{path}")
    try:
        return len(list(store.observations()))
    finally:
        store.close()


def wait_for(path: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while stored(path) < count:
        assert time.monotonic() < end, f"{stored(path)} of {count}"
        assert process.poll() is None, "the listener has ended"
        time.sleep(0.2)


def test_nothing_is_lost_and_nothing_is_there_twice(broker: Broker, tmp_path: Path) -> None:
    every, path = messages(), tmp_path / "heard.db"
    first = start(f"sqlite:{path}", broker, 40)
    broker.subscribed()  # its session exists from its first connection on
    mesh = threading.Thread(target=publish, args=(broker, every, 0.02))
    mesh.start()
    process = first
    for kills in (1, 2, 3):
        assert process.wait(60) == -signal.SIGKILL
        if kills == 2:
            broker.stop()
            time.sleep(0.5)
            broker.start()
        process = start(f"sqlite:{path}", broker, 30 if kills < 3 else 10**9)
    mesh.join(90)
    wait_for(path, len(every), process)
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    process.wait(20)
    assert stored(path) == len(every)
    store = open_sqlite(f"sqlite:{path}")
    for case in CASES:
        assert mesh_verdicts.differences(OneRun(store, case), story.expected("sam", case)) == []
    store.close()


class OneRun(Questions):
    """As if the store held one run alone."""

    def __init__(self, store: Any, case: str) -> None:
        super().__init__(store)
        self._context = story.expected("sam", case)["context_id"]

    def tasks(self, **asked: Any) -> Any:
        return super().tasks(conversation=self._context, **asked)

    def conversations(self, **asked: Any) -> Any:
        return {"items": [self.conversation(self._context)], "next": None}


def test_the_command_hears_a_broker_and_says_what_it_heard(broker: Broker, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ramify", "listen", "mqtt", "--host", broker.url, "--namespace", "demo/mesh", "--store", f"sqlite:{tmp_path}/heard.db", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "MQTT_PASSWORD": "never-shown"})
    broker.subscribed()
    publish(broker, messages()[:20], 0)
    wait_for(tmp_path / "heard.db", 20, process)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    heard = json.loads(out)
    assert (heard["received"], heard["stored"], heard["duplicates"]) == (20, 20, 0)
    assert b"never-shown" not in out + errors
