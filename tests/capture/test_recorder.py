"""Who reads a recorded stream cannot tell that it is recorded; who reads the records sees every message once."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest

from ramify.capture.recorder import Recorded, Tap, Told
from ramify.model.observation import Observation, Record

NOON = 1_800_000_000_000_000


@dataclass
class TextBlock:
    text: str


@dataclass
class AssistantMessage:
    content: list[TextBlock]
    message_id: str
    session_id: str | None = None
    uuid: str | None = None


@dataclass
class UserMessage:
    """As the SDK has it: no session."""

    content: Any
    uuid: str | None = None


@dataclass
class SystemMessage:
    subtype: str
    data: dict[str, Any] = field(default_factory=dict)


INIT = SystemMessage("init", {"type": "system", "session_id": "s1", "uuid": "u0"})
HELLO = AssistantMessage([TextBlock("Hello.")], "msg_1", "s1", "u1")
RESULT = UserMessage([{"tool_use_id": "toolu_1", "content": "ok"}], "u2")


class Kept:
    def __init__(self) -> None:
        self.records: list[Record] = []

    def put(self, observation: Observation) -> None:
        assert isinstance(observation, Record)
        self.records.append(observation)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(seen.body) for seen in self.records]


class Broken:
    def put(self, observation: Observation) -> None:
        raise OSError("no room")


def tap(sink: Any, told: Told | None = None) -> Tap:
    return Tap(sink, "default", lambda: NOON, "sdk-1", told)


async def source(*messages: Any) -> AsyncGenerator[Any, Any]:
    for message in messages:
        yield message


async def test_the_same_objects_come_in_the_same_order() -> None:
    given = (INIT, HELLO, RESULT)
    got = [message async for message in Recorded(source(*given), tap(Kept()))]
    assert len(got) == 3
    assert all(one is other for one, other in zip(got, given, strict=True))


async def test_every_message_is_told_with_its_class() -> None:
    kept = Kept()
    async for _ in Recorded(source(INIT, HELLO), tap(kept)):
        pass
    assert kept.bodies[1] == {
        "class": "AssistantMessage", "content": [{"text": "Hello."}], "message_id": "msg_1", "session_id": "s1", "uuid": "u1",
    }  # fmt: skip
    assert [(seen.format, seen.source, seen.place, seen.at) for seen in kept.records] == [
        ("sdk", "stream", "sdk-1:1", NOON), ("sdk", "stream", "sdk-1:2", NOON),
    ]  # fmt: skip


async def test_a_class_that_drops_the_session_gets_that_of_its_stream() -> None:
    kept = Kept()
    async for _ in Recorded(source(INIT, RESULT), tap(kept)):
        pass
    assert [body.get("session_id") for body in kept.bodies] == [None, "s1"]


async def test_what_a_reader_does_to_a_message_later_does_not_change_the_record() -> None:
    kept = Kept()
    message = AssistantMessage([TextBlock("Before.")], "msg_1")
    async for got in Recorded(source(message), tap(kept)):
        got.content[0].text = "After."
    assert kept.bodies[0]["content"] == [{"text": "Before."}]


async def test_lines_and_dictionaries_of_the_client_are_kept_as_they_are() -> None:
    kept = Kept()
    line = b'{"type":"assistant",  "uuid":"u1","timestamp":"2027-01-15T08:00:00.000001Z"}'
    async for _ in Recorded(source(line + b"\n", {"type": "result", "uuid": "u2"}), tap(kept)):
        pass
    assert [seen.format for seen in kept.records] == ["stream-json", "stream-json"]
    assert kept.records[0].body == line
    assert kept.records[0].at == 1_800_000_000_000_001  # its own time
    assert kept.bodies[1] == {"type": "result", "uuid": "u2"}


async def test_a_message_that_two_places_tell_of_is_told_once() -> None:
    kept, told = Kept(), Told()
    inner = Recorded(source({"type": "assistant", "uuid": "u1"}), tap(kept, told))
    assert [message async for message in Recorded(inner, tap(kept, told))] == [{"type": "assistant", "uuid": "u1"}]
    assert len(kept.records) == 1


def test_the_last_messages_are_remembered_and_older_ones_forgotten() -> None:
    told = Told()
    assert told.add("first")
    assert not told.add("first")
    assert all(told.add(str(number)) for number in range(Told.MOST))
    assert told.add("first")


async def test_equal_messages_without_an_id_are_two_and_with_one_the_same_observation() -> None:
    kept = Kept()
    async for _ in Recorded(source({"type": "ping"}, {"type": "ping"}), tap(kept)):
        pass
    assert len({seen.id for seen in kept.records}) == 2
    one, other = Kept(), Kept()
    for sink, name in ((one, "a"), (other, "b")):
        Tap(sink, "default", lambda: NOON, name).tell(HELLO)
    assert one.records[0].id == other.records[0].id


async def test_the_prompt_waits_for_the_session_and_keeps_its_time() -> None:
    kept = Kept()
    times = iter(range(NOON, NOON + 100))
    recording = Tap(kept, "default", lambda: next(times), "sdk-1")
    recording.tell_prompt("Please do.")
    assert kept.records == []
    async for _ in Recorded(source(INIT), recording):
        pass
    said = {"role": "user", "content": "Please do."}
    assert kept.bodies[0] == {"type": "user", "message": said, "session_id": "s1", "isReplay": True}
    assert (kept.records[0].at, kept.records[0].format) == (NOON, "stream-json")
    recording.tell_prompt("And more.")
    assert kept.bodies[-1]["message"]["content"] == "And more."


async def test_an_error_of_the_source_comes_through_after_what_came_before() -> None:
    problem = ConnectionError("gone")

    async def failing() -> AsyncIterator[Any]:
        yield HELLO
        raise problem

    kept = Kept()
    stream = Recorded(failing(), tap(kept))
    assert await anext(stream) is HELLO
    with pytest.raises(ConnectionError) as raised:
        await anext(stream)
    assert raised.value is problem
    assert len(kept.records) == 1


async def test_a_cancelled_reader_cancels_the_source() -> None:
    ended = asyncio.Event()
    waits = asyncio.Event()

    async def endless() -> AsyncIterator[Any]:
        try:
            yield HELLO
            waits.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def read() -> None:
        async for _ in Recorded(endless(), tap(Kept())):
            pass

    reading = asyncio.create_task(read())
    await waits.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert ended.is_set()


async def test_nothing_is_asked_of_the_source_before_the_reader_asks() -> None:
    asked: list[int] = []

    async def counted() -> AsyncIterator[Any]:
        for number in range(3):
            asked.append(number)
            yield {"number": number}

    stream = Recorded(counted(), tap(Kept()))
    await asyncio.sleep(0)
    assert asked == []
    await anext(stream)
    await asyncio.sleep(0)
    assert asked == [0]


async def test_leaving_early_closes_the_source_as_it_would_be_without_us() -> None:
    closed = asyncio.Event()

    async def generator() -> AsyncGenerator[Any, Any]:
        try:
            while True:
                yield HELLO
        finally:
            closed.set()

    async with aclosing(Recorded(generator(), tap(Kept()))) as stream:
        async for _ in stream:
            break
    assert closed.is_set()
    closed.clear()
    stream = Recorded(generator(), tap(Kept()))
    async for _ in stream:
        break
    del stream  # nobody holds it: the loop closes what it held
    await asyncio.wait_for(closed.wait(), 5)


async def test_a_source_that_is_no_generator_can_be_closed_too() -> None:
    class Plain:
        def __aiter__(self) -> "Plain":
            return self

        async def __anext__(self) -> Any:
            raise StopAsyncIteration

    async with aclosing(Recorded(Plain(), tap(Kept()))) as stream:
        assert [message async for message in stream] == []


async def test_what_is_sent_and_thrown_reaches_the_generator() -> None:
    async def answering() -> AsyncGenerator[Any, Any]:
        got = yield {"uuid": "u1"}
        try:
            yield {"uuid": "u2", "got": got}
        except KeyError as problem:
            yield {"uuid": "u3", "caught": str(problem)}

    kept = Kept()
    stream = Recorded(answering(), tap(kept))
    assert await stream.asend(None) == {"uuid": "u1"}
    assert await stream.asend("value") == {"uuid": "u2", "got": "value"}
    assert await stream.athrow(KeyError("x")) == {"uuid": "u3", "caught": "'x'"}
    assert [body["uuid"] for body in kept.bodies] == ["u1", "u2", "u3"]


async def test_a_source_keeps_its_own_attributes() -> None:
    generator = source(HELLO)
    assert Recorded(generator, tap(Kept())).ag_code is generator.ag_code


@pytest.mark.parametrize("message", [object(), b"no json", b"\xff", 7, None, {"uuid": {1, 2}}, {"text": "\ud800"}, "[1]"])
async def test_no_message_is_held_back_because_it_cannot_be_told(message: Any, caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()
    recording = tap(kept)
    assert [got async for got in Recorded(source(message, HELLO), recording)] == [message, HELLO]
    assert len(kept.records) + recording.lost == 2
    assert len(caplog.records) == recording.lost


async def test_a_sink_that_fails_is_said_once_and_the_stream_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    recording = tap(Broken())
    assert len([message async for message in Recorded(source(INIT, HELLO, RESULT), recording)]) == 3
    assert recording.lost == 3
    assert len(caplog.records) == 1
