"""Solace's real client, without a broker: everything that can be built is built, and a failure says no secret."""

from typing import Any

import pytest

from ramify.capture.broker import solace as own
from ramify.capture.broker.opening import Wanted, open_receiver
from ramify.capture.broker.receiver import Away

SECRET = "hunter2-never-to-be-seen"
pytestmark = pytest.mark.usefixtures("solace")


def test_properties_and_subscriptions_are_those_of_the_client() -> None:
    login = own.Login("tcp://127.0.0.1:1", "vpn", "u", SECRET, "/trust")
    service = own.service_of(login)
    assert not service.is_connected
    service.add_reconnection_listener(own.reconnection_listener(lambda: None))
    assert [topic.get_name() for topic in own.subscribed(["a/>", "b/*"])] == ["a/>", "b/*"]
    assert SECRET not in repr(login)


def test_a_broker_that_is_not_there_is_named_without_the_password(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Wanted(broker="solace", host="tcp://127.0.0.1:1", vpn="v", namespace="n", username="u", password=SECRET)
    with pytest.raises(Away) as away:
        open_receiver(wanted)
    assert "tcp://127.0.0.1:1" in str(away.value)
    assert SECRET not in str(away.value) + caplog.text


class Message:
    """What the client hands over, as it is on the wire of a mesh: bytes, and no text."""

    def __init__(self, text: str | None, raw: bytes) -> None:
        self._text, self._raw = text, raw

    def get_payload_as_string(self) -> str | None:
        return self._text

    def get_payload_as_bytes(self) -> Any:
        return bytearray(self._raw)


def test_bytes_are_taken_where_there_is_no_text() -> None:
    assert own.payload_of(Message(None, b"{}")) == b"{}"
    assert own.payload_of(Message("{}", b"\x1c\x05{}\x00")) == b"{}"


def test_a_message_that_the_client_built_is_read_back() -> None:
    service = own.service_of(own.Login("tcp://127.0.0.1:1", "v", "u", "p"))
    built = service.message_builder().with_property("callDepth", 1).build(bytearray(b'{"id": 1}'))
    assert own.payload_of(built) == b'{"id": 1}'
    assert built.get_properties()["callDepth"] == 1


@pytest.mark.parametrize("build", [own.persistent, own.direct])
def test_receivers_are_built_with_their_subscriptions(build: Any) -> None:
    service = own.service_of(own.Login("tcp://127.0.0.1:1", "v", "u", "p"))
    receiver = build(service, ["n/a2a/v1/>", "sam/feedback/v1"], "ramify", lambda: None)
    assert callable(receiver.receive_message)
    assert callable(receiver.start)
