"""What one exchange leaves behind: pieces are kept as they pass, observations are made at the two ends.

Nothing here parses, hashes or waits while bytes are under way: a list grows, and that is all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from ramify.model.observation import Headers, Observation, Outcome, Request, Response

RawHeaders = tuple[tuple[bytes, bytes], ...]
NO_HEADERS: RawHeaders = ()


class Sink(Protocol):
    """Where observations go. `put` may be called from any thread, never waits and never raises."""

    def put(self, observation: Observation) -> object: ...


class Kept:
    """The pieces of one body, up to a limit; what lies beyond it is only counted."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        room = self._limit - self.size
        self.size += len(piece)
        if room > 0:
            self._pieces.append(piece if len(piece) <= room else piece[:room])

    def take(self) -> bytes:
        body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces = []
        return body

    def shortfall(self, what: str) -> str:
        if self.size <= self._limit:
            return ""
        return f"only the first {self._limit} of {self.size} bytes of the {what} were kept"


Clock = Callable[[], int]
"""Microseconds."""


class Watch:
    """What all exchanges of one place of capture share."""

    def __init__(
        self, sink: Sink, clock: Clock, fingerprint: Callable[[str], str], body_limit: int, ticks: Clock | None = None
    ) -> None:
        self.sink = sink
        self._clock = clock
        self._ticks = ticks or clock
        self.fingerprint = fingerprint
        self.body_limit = body_limit
        self.lost = 0

    def begin(self) -> Clock:
        """The clock of one exchange: by the wall when it begins, and from there on by ticks, which nobody sets back or forth."""
        began, start, ticks = self._clock(), self._ticks(), self._ticks
        return lambda: began + ticks() - start

    def tell(self, observe: Callable[[], Observation]) -> None:
        """A sink should never raise. If one does, that is counted, and the client does not notice."""
        try:
            self.sink.put(observe())
        except Exception:
            self.lost += 1


@dataclass(frozen=True, slots=True)
class Asked:
    """The head of a request as it arrived."""

    identity: str
    project: str
    method: str
    path: str
    headers: RawHeaders


class Watched(Protocol):
    """What carries an exchange across tells this about it. Called while bytes are under way: nothing may take time."""

    @property
    def request_body(self) -> Kept: ...
    def answer(self, status: int, headers: RawHeaders) -> None:
        """The head of the answer is here."""

    def receive(self, piece: bytes) -> None: ...
    def tell_request(self) -> None:
        """The request is out."""

    def tell_response(self, outcome: Outcome, error: str = "") -> None:
        """It is over."""


class Exchange:
    """One request and what came back. Each end is told once; telling it again is harmless."""

    def __init__(self, asked: Asked, watch: Watch) -> None:
        self._asked = asked
        self._watch = watch
        self._clock = watch.begin()
        self._began = self._clock()
        self._first_byte = 0
        self._request_told = False
        self._response_told = False
        self.request_body = Kept(watch.body_limit)
        self.response_body = Kept(watch.body_limit)
        self.status = 0
        self.answered: RawHeaders = NO_HEADERS

    def answer(self, status: int, headers: RawHeaders) -> None:
        self.status = status
        self.answered = headers

    def receive(self, piece: bytes) -> None:
        if not self._first_byte:
            self._first_byte = self._clock()
        self.response_body.add(piece)

    def tell_request(self) -> None:
        if not self._request_told:
            self._request_told = True
            self._watch.tell(self._request)

    def tell_response(self, outcome: Outcome, error: str = "") -> None:
        """The request goes first even when it never became whole: an answer must have something to answer."""
        if not self._response_told:
            self._response_told = True
            self.tell_request()
            self._watch.tell(lambda: self._response(outcome, error))

    def _request(self) -> Request:
        asked = self._asked
        key = find(asked.headers, b"x-api-key") or find(asked.headers, b"authorization")
        return Request(
            id=asked.identity,
            project=asked.project,
            at=self._began,
            source="proxy",
            exchange=asked.identity,
            method=asked.method,
            path=asked.path,
            headers=texts(asked.headers),
            body=self.request_body.take(),
            credential=self._watch.fingerprint(text(key)) if key else "",
        )

    def _response(self, outcome: Outcome, error: str) -> Response:
        asked = self._asked
        notes = (error, self.request_body.shortfall("request"), self.response_body.shortfall("response"))
        return Response(
            id=f"{asked.identity}-end",
            project=asked.project,
            at=self._clock(),
            source="proxy",
            request=asked.identity,
            path=asked.path,
            status=self.status,
            headers=texts(self.answered),
            body=self.response_body.take(),
            outcome=outcome,
            first_byte=self._first_byte,
            error="; ".join(note for note in notes if note),
        )


def find(headers: RawHeaders, name: bytes) -> bytes:
    """The first value of a field, or nothing. The name is given in lower case."""
    for key, value in headers:
        if key.lower() == name:
            return value
    return b""


def texts(headers: RawHeaders) -> Headers:
    """Decoded in one go, as no field holds a line break: thirty small steps would cost ten times as much."""
    try:
        flat = b"\n".join(chain.from_iterable(headers)).decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return tuple((text(name), text(value)) for name, value in headers)
    return tuple(zip(flat[::2], flat[1::2], strict=True)) if headers else ()


def text(raw: bytes) -> str:
    """RFC 9110 5.5 leaves bytes above 0x7f opaque; Latin-1 takes any of them, so nothing is ever refused."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
