"""Solace's own client, behind the extra `ramify[solace]`. A durable queue keeps everything while nobody listens."""

import logging
import threading
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ramify.capture.broker.receiver import Away, Delivery
from ramify.model.mistake import UserMistake

log = logging.getLogger("ramify")
LEAD = "solace.messaging."
RETRY_MILLISECONDS = 3000


class Login(Struct, frozen=True):
    """Where and as whom. It is never printed, logged or stored."""

    host: str
    vpn: str
    username: str
    password: str
    trust_store: str = ""

    def __repr__(self) -> str:
        return f"Login({self.host!r}, {self.vpn!r})"

    def properties(self) -> dict[str, str]:
        found = {
            "transport.host": self.host,
            "service.vpn-name": self.vpn,
            "authentication.basic.username": self.username,
            "authentication.basic.password": self.password,
            "tls.trust-store-path": self.trust_store,
        }
        return {LEAD + name: value for name, value in found.items() if value}


def library() -> Any:
    try:
        from solace.messaging import messaging_service

        return messaging_service
    except ImportError:
        raise UserMistake("the Solace client is not installed", "pip install 'ramify[solace]'") from None


class Solace:
    """`queue`: its messages wait there; empty: only what is said while we listen."""

    def __init__(self, login: Login, topics: Sequence[str], queue: str) -> None:
        self.name = "solace"
        self.ended = False
        self.gaps = 0
        self.reconnects = 0
        self._turn = threading.Lock()
        self._service = service_of(login)
        self._service.add_reconnection_listener(reconnection_listener(self._reconnected))
        try:
            self._service.connect()
            build = persistent if queue else direct
            self._receiver = build(self._service, topics, queue, self._lost)
            self._receiver.start()
        except Exception as problem:
            self._service.disconnect()
            raise Away(f"{login.host} (VPN {login.vpn}) cannot be listened to: {words_of(problem, login)}") from None

    def receive(self, seconds: float) -> Delivery | None:
        message = self._receiver.receive_message(max(1, int(seconds * 1000)))
        if message is None:
            return None
        return Delivery(
            message.get_destination_name() or "",
            payload_of(message),
            dict(message.get_properties() or {}) or None,
            bool(message.is_redelivered()) if hasattr(message, "is_redelivered") else False,
            message,
        )

    def ack(self, delivery: Delivery) -> None:
        if hasattr(self._receiver, "ack"):
            self._receiver.ack(delivery.handle)

    def close(self) -> None:
        self._receiver.terminate(grace_period=1000)
        self._service.disconnect()

    def _reconnected(self) -> None:
        with self._turn:
            self.reconnects += 1

    def _lost(self) -> None:
        with self._turn:
            self.gaps += 1


def reconnection_listener(act: Any) -> Any:
    """The client takes only listeners of its own kind."""
    from solace.messaging.messaging_service import ReconnectionListener

    return type("Reconnected", (ReconnectionListener,), {"on_reconnected": lambda self, event: act()})()


def service_of(login: Login) -> Any:
    from_library = library()
    from solace.messaging.config.retry_strategy import RetryStrategy

    builder = from_library.MessagingService.builder().from_properties(login.properties())
    return builder.with_reconnection_retry_strategy(RetryStrategy.forever_retry(RETRY_MILLISECONDS)).build()


def persistent(service: Any, topics: Sequence[str], queue: str, lost: Any) -> Any:
    """Exclusive: order is kept, and a second listener stands by."""
    from solace.messaging.config.missing_resources_creation_configuration import MissingResourcesCreationStrategy
    from solace.messaging.resources.queue import Queue

    builder = service.create_persistent_message_receiver_builder()
    builder = builder.with_missing_resources_creation_strategy(MissingResourcesCreationStrategy.CREATE_ON_START)
    return builder.with_subscriptions(subscribed(topics)).build(Queue.durable_exclusive_queue(queue))


def direct(service: Any, topics: Sequence[str], queue: str, lost: Any) -> Any:
    builder = service.create_direct_message_receiver_builder().with_subscriptions(subscribed(topics))
    return Noticing(builder.on_back_pressure_elastic().build(), lost)


def subscribed(topics: Sequence[str]) -> list[Any]:
    from solace.messaging.resources.topic_subscription import TopicSubscription

    return [TopicSubscription.of(topic) for topic in topics]


class Noticing:
    """A direct receiver: there is nothing to acknowledge, but the client says when messages were dropped on the way."""

    def __init__(self, receiver: Any, lost: Any) -> None:
        self._receiver = receiver
        self._lost = lost
        self.start, self.terminate = receiver.start, receiver.terminate

    def receive_message(self, milliseconds: int) -> Any:
        message = self._receiver.receive_message(milliseconds)
        notice = message.get_message_discard_notification() if message is not None else None
        if notice is not None and (notice.has_broker_discard_indication() or notice.has_internal_discard_indication()):
            self._lost()
        return message


def payload_of(message: Any) -> bytes:
    """Agents publish bytes. Of a text message the bytes carry a header of their own, so the text is asked for first."""
    text = message.get_payload_as_string()
    if text is not None:
        return str(text).encode("utf-8", "surrogatepass")
    return bytes(message.get_payload_as_bytes() or b"")


def words_of(problem: Exception, login: Login) -> str:
    """The client's own words, should they ever repeat what it was given."""
    words = " ".join(str(problem).split())[:300]
    return words.replace(login.password, "[redacted]") if login.password else words
