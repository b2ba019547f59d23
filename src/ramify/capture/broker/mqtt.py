"""MQTT 5 with a persistent session, behind the extra `ramify[mqtt]`: a broker keeps what is not acknowledged."""

import json
import logging
import queue
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from ramify.capture.broker.receiver import Away, Delivery
from ramify.capture.broker.topics import as_mqtt
from ramify.model.mistake import UserMistake

log = logging.getLogger("ramify")
MOST_WAITING = 200  # messages that the broker may hand over before the first of them is acknowledged
FOREVER = 0xFFFFFFFF
CONNECT_SECONDS = 10
PORTS = {"mqtt": 1883, "mqtts": 8883}


def library() -> Any:
    try:
        from paho.mqtt import client

        return client
    except ImportError:
        raise UserMistake("the MQTT client is not installed", "pip install 'ramify[mqtt]'") from None


class Mqtt:
    """`session`: the broker keeps messages under this name from the first time on, also while nobody listens."""

    def __init__(self, host: str, topics: Sequence[str], session: str, username: str = "", password: str = "") -> None:
        self.name = "mqtt"
        self.ended = False
        self.gaps = 0
        self.reconnects = -1  # the first connection is none
        self._topics = [(as_mqtt(topic), 1) for topic in topics]
        self._heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._refused = ""
        self._client = self._made(session, username, password)
        self._connect(host)

    def _made(self, session: str, username: str, password: str) -> Any:
        mqtt = library()
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, session, protocol=mqtt.MQTTv5, manual_ack=True)
        if username:
            client.username_pw_set(username, password or None)
        client.reconnect_delay_set(1, 10)
        client.on_connect, client.on_message = self._connected, self._take
        return client

    def _connect(self, host: str) -> None:
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        place = urlsplit(host)
        if place.scheme not in PORTS or not place.hostname:
            raise UserMistake(f"{host!r} is no MQTT address", "use mqtt://HOST:1883 or mqtts://HOST:8883")
        if place.scheme == "mqtts":
            self._client.tls_set()
        wanted = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        wanted.SessionExpiryInterval, wanted.ReceiveMaximum = FOREVER, MOST_WAITING
        try:
            self._client.connect(place.hostname, place.port or PORTS[place.scheme], clean_start=False, properties=wanted)
        except OSError as problem:
            raise Away(f"{host} cannot be reached: {problem}") from None
        self._client.loop_start()

    def _connected(self, client: Any, own: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self._refused = str(reason)
            return
        self.reconnects += 1
        client.subscribe(self._topics)

    def _take(self, client: Any, own: Any, message: Any) -> None:
        self._heard.put(message)

    def receive(self, seconds: float) -> Delivery | None:
        if self._refused:
            raise Away(f"the broker refuses: {self._refused}")
        try:
            message = self._heard.get(timeout=seconds) if seconds else self._heard.get_nowait()
        except queue.Empty:
            return None
        return Delivery(message.topic, bytes(message.payload), properties_of(message), bool(message.dup), message)

    def ack(self, delivery: Delivery) -> None:
        self._client.ack(delivery.handle.mid, delivery.handle.qos)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def properties_of(message: Any) -> dict[str, Any] | None:
    """Values are texts; what is JSON inside is read, because the mesh's own are nested."""
    pairs = getattr(getattr(message, "properties", None), "UserProperty", None) or []
    return {name: value_of(value) for name, value in pairs} or None


def value_of(text: str) -> Any:
    if text[:1] not in '{["-0123456789tfn':
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
