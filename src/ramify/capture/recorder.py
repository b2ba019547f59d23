"""Messages of an agent's stream, recorded as they pass: the same objects, in the same order, with the same errors.

What is told goes to a sink that never waits and never raises; a message that cannot be told is counted and said once.
"""

import json
import logging
import threading
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from dataclasses import is_dataclass
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from ramify.capture.tee import Sink
from ramify.model.ids import digest, observation_id
from ramify.model.moment import micros
from ramify.model.observation import Record

log = logging.getLogger("ramify")
Message = TypeVar("Message")
Fields = dict[str, Any]
TYPED, RAW = "sdk", "stream-json"
SOURCE = "stream"


class Line(NamedTuple):
    """A message in the form in which it is kept, and what is needed of its content."""

    format: str
    fields: Fields
    body: bytes = b""  # empty: made from the fields


class Tap:
    """Tells of one stream: which session it is of, and which messages were told before."""

    def __init__(self, sink: Sink, project: str, clock: Callable[[], int], name: str, told: "Told | None" = None) -> None:
        self.session = ""
        self.lost = 0
        self._sink = sink
        self._project = project
        self._clock = clock
        self._name = name
        self._told = Told() if told is None else told
        self._number = 0
        self._prompts: list[tuple[int, object]] = []

    def tell(self, message: object) -> None:
        """Whoever reads the stream never learns that this failed."""
        try:
            self._tell(message)
        except Exception as problem:
            self._miss(message, problem)

    def tell_prompt(self, content: object) -> None:
        """What was asked, which no stream says. Its session is not known before the stream begins: it waits for that,
        and where nothing ever came, nothing was asked of anybody."""
        try:
            self._prompts.append((self._clock(), content))
            if self.session:
                self._tell_prompts()
        except Exception as problem:
            self._miss(content, problem)

    def _tell(self, message: object) -> None:
        line = read_line(message)
        uuid = text_of(line.fields, "uuid")
        self.session = text_of(line.fields, "session_id") or self.session
        if self.session and self._prompts:
            self._tell_prompts()
        if uuid and not self._told.add(uuid):
            return
        if line.format == TYPED and self.session and not text_of(line.fields, "session_id"):
            line.fields["session_id"] = self.session  # some classes drop it, and a record is read by itself
        self._put(line, uuid, moment_of(line.fields) or self._clock())

    def _tell_prompts(self) -> None:
        """As the client itself replays prompts when asked to; only that it then gives them an id."""
        prompts, self._prompts = self._prompts, []
        for at, content in prompts:
            said = {"role": "user", "content": content}
            self._put(Line(RAW, {"type": "user", "message": said, "session_id": self.session, "isReplay": True}), "", at)

    def _put(self, line: Line, uuid: str, at: int) -> None:
        self._number += 1
        place = f"{self._name}:{self._number}"
        body = line.body or encode(line.fields)
        identity = observation_id("record", self._project, line.format, uuid or place, digest(body))
        self._sink.put(Record(identity, self._project, at, SOURCE, line.format, place, body))

    def _miss(self, message: object, problem: Exception) -> None:
        self.lost += 1
        if self.lost == 1:
            log.warning("cannot record a message class=%s: %r", type(message).__name__, problem)


class Told:
    """Ids of the last messages that were told: a stream may be recorded in two places, and counts once."""

    MOST = 10_000

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}
        self._lock = threading.Lock()  # loops in several threads may share it

    def add(self, id: str) -> bool:
        """False for one that is known."""
        with self._lock:
            if id in self._ids:
                return False
            if len(self._ids) >= self.MOST:
                self._ids.pop(next(iter(self._ids)))
            self._ids[id] = None
            return True


class Recorded(Generic[Message]):
    """An asynchronous iterator that tells what it passes on. All else is the source's own."""

    def __init__(self, source: AsyncIterable[Message], tap: Tap) -> None:
        self._source = source
        self._tap = tap
        self._messages: AsyncIterator[Message] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def __aiter__(self) -> "Recorded[Message]":
        return self

    async def __anext__(self) -> Message:
        if self._messages is None:
            self._messages = aiter(self._source)
        message = await anext(self._messages)
        self._tap.tell(message)
        return message

    async def asend(self, value: Any) -> Message:
        message = await self._generator.asend(value)
        self._tap.tell(message)
        return message

    async def athrow(
        self,
        kind: type[BaseException] | BaseException,
        value: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> Message:
        given = (kind,) if value is None and trace is None else (kind, value, trace)
        message = await self._generator.athrow(*given)
        self._tap.tell(message)
        return message

    async def aclose(self) -> None:
        """Also for a source that has nothing to close: `aclosing` then works with either."""
        close = getattr(self._messages or self._source, "aclose", None)
        if close is not None:
            await close()

    @property
    def _generator(self) -> AsyncGenerator[Message, Any]:
        if self._messages is None:
            self._messages = aiter(self._source)
        return self._messages  # type: ignore[return-value]  # what is no generator says so itself


def read_line(message: object) -> Line:
    """A class of the SDK, a dictionary of the stream, or a line as the client printed it."""
    if isinstance(message, bytes | str):
        raw = message.encode() if isinstance(message, str) else message
        fields = msgspec.json.decode(raw)
        return Line(RAW, fields if isinstance(fields, dict) else {}, raw.strip())
    if isinstance(message, dict):
        return Line(TYPED if "class" in message else RAW, dict(message))
    if not is_dataclass(message):
        raise TypeError("neither a message class, a dictionary, nor a line")
    fields = msgspec.to_builtins(message, str_keys=True, enc_hook=str)
    return Line(TYPED, {"class": type(message).__name__, **fields})


def text_of(fields: Fields, name: str) -> str:
    """System messages keep what they do not name in `data`."""
    inner = fields.get("data")
    for place in (fields, inner if isinstance(inner, dict) else {}):
        found = place.get(name)
        if isinstance(found, str) and found:
            return found
    return ""


def moment_of(fields: Fields) -> int:
    """The message's own time; 0 where it has none."""
    try:
        return micros(text_of(fields, "timestamp"))
    except (ValueError, OverflowError):
        return 0


def encode(fields: Fields) -> bytes:
    try:
        return msgspec.json.encode(fields, enc_hook=str)
    except UnicodeEncodeError:  # half of a surrogate pair: JSON can say it, UTF-8 cannot
        return json.dumps(fields, default=str).encode()
