"""httpx (here its successor, of the same shape): what a call was on the wire, without touching streams or other requests."""

from collections.abc import Iterator
from typing import Any

import pytest

import ramify
from ramify.emit import Emitter, Memory

httpx = pytest.importorskip("httpx2")


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):  # type: ignore[misc, name-defined]
    read = False

    def __iter__(self) -> Iterator[bytes]:
        self.read = True
        yield b"piece"

    async def __aiter__(self) -> Any:
        self.read = True
        yield b"piece"


def transport(seen: list[Any], body: Body) -> Any:
    def answer(request: Any) -> Any:
        seen.append(request)
        return httpx.Response(202, stream=body)

    return httpx.MockTransport(answer)


@pytest.fixture
def emitter() -> Iterator[Emitter]:
    found = Emitter()
    with ramify.instrument(emitter=found):
        yield found


def test_a_request_inside_a_call_is_noted_and_its_stream_left_alone(emitter: Emitter) -> None:
    memory = emitter.subscribe(Memory())
    seen: list[Any] = []
    body = Body()
    address = "http://user:secret@agent.test/a2a?key=secret"
    client = httpx.Client(transport=transport(seen, body))
    with client, emitter.call("seller", "sync"), client.stream("GET", address) as response:
        assert not body.read
        assert list(response.iter_raw()) == [b"piece"]
    response_event = memory.events[1]
    assert (response_event["httpUrl"], response_event["httpStatus"]) == ("http://agent.test/a2a", 202)
    assert seen[0].headers["traceparent"] == response_event["traceparent"]
    assert b"secret" not in memory.items[1].body


async def test_an_async_client_is_noted_as_well_and_a_trace_of_the_caller_stays(emitter: Emitter) -> None:
    memory = emitter.subscribe(Memory())
    seen: list[Any] = []
    async with httpx.AsyncClient(transport=transport(seen, Body())) as client, emitter.call("seller", "sync"):
        assert (await client.post("http://agent.test/", json={}, headers={"traceparent": "own"})).text == "piece"
    assert seen[0].headers["traceparent"] == "own"
    assert memory.events[1]["httpStatus"] == 202


def test_what_breaks_is_raised_and_the_address_is_known(emitter: Emitter) -> None:
    memory = emitter.subscribe(Memory())

    def broken(request: Any) -> Any:
        raise httpx.ConnectError("refused")

    client = httpx.Client(transport=httpx.MockTransport(broken))
    with client, pytest.raises(httpx.ConnectError, match="refused"), emitter.call("seller", "sync"):
        client.get("http://agent.test/a")
    assert memory.events[1].items() >= {"raised": "ConnectError", "httpUrl": "http://agent.test/a"}.items()


def test_requests_outside_of_calls_are_left_alone(emitter: Emitter) -> None:
    memory = emitter.subscribe(Memory())
    seen: list[Any] = []
    with httpx.Client(transport=transport(seen, Body())) as client:
        client.get("http://agent.test/")
    assert "traceparent" not in seen[0].headers
    assert len(memory) == 0
