"""Our own exchanges as frames, like those of the proxy: one connection each, told while the exchange goes on."""

import secrets
from collections.abc import Callable, Mapping

from msgspec import Struct

from ramify.capture.a2a.frame import Frame, Kind, Parts, content_of, moment, record_of, slice_of
from ramify.capture.a2a.secrets import redact_header_fields
from ramify.capture.a2a.slices import Slices
from ramify.capture.a2a.waiting import Waiting
from ramify.capture.tee import Sink
from ramify.model.observation import Record

SOURCE = "follow"
MARK = "x-ramify-follow"
"""On requests that only look: whoever reads the frames knows that no client asked for this."""
LARGEST_EVENT = 64 * 2**20


class Place(Struct, frozen=True):
    """Where frames go, and whose they are."""

    sink: Sink
    project: str
    clock: Callable[[], int]


def new_name() -> str:
    """Of a connection: never said twice, by nobody."""
    return f"{SOURCE}-{secrets.token_hex(12)}"


class Tape:
    """Frames go out as they are made; of an exchange that may turn out to say nothing, when it is let go."""

    def __init__(self, place: Place, agent: str, name: str, secret_names: frozenset[str] = frozenset()) -> None:
        self._place = place
        self._agent = agent
        self._name = name
        self._secret_names = secret_names
        self._next = 0
        self._slices = Slices(LARGEST_EVENT)
        self._waiting = Waiting(lambda at, piece: self._tell("sse", slice_of(piece), at))
        self._held: list[Record] | None = None

    def hold(self) -> None:
        self._held = []

    def let_go(self) -> None:
        held, self._held = self._held or [], None
        for seen in held:
            self._place.sink.put(seen)

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> None:
        self._tell("request", {"method": method, "path": path, "headers": self._fields(headers), **content_of(body)})

    def response(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self._tell("response", {"status": status, "headers": self._fields(headers), **content_of(body)})

    def piece(self, raw: bytes) -> None:
        if whole := self._slices.add(raw):
            self._waiting.add(self._place.clock(), whole)

    def end(self) -> None:
        self._rest()
        self._tell("end", {})

    def abort(self, by: str, error: str) -> None:
        self._rest()
        self._tell("abort", {"by": by, "error": error})

    def _rest(self) -> None:
        if rest := self._slices.rest():
            self._waiting.add(self._place.clock(), rest)
        self._waiting.let_go()

    def _fields(self, headers: Mapping[str, str]) -> dict[str, str]:
        return redact_header_fields({name.lower(): value for name, value in headers.items()}, self._secret_names)

    def _tell(self, kind: Kind, parts: Parts, came: int = 0) -> None:
        at = came or self._place.clock()
        frame = Frame(agent=self._agent, connection=self._name, seq=self._next, time=moment(at), kind=kind, **parts)
        self._next += 1
        seen = record_of(frame, self._place.project, at, SOURCE)
        if self._held is None:
            self._place.sink.put(seen)
        else:
            self._held.append(seen)
