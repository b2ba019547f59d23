"""What one exchange with an agent leaves behind: frames, told in order while the exchange goes on."""

import asyncio
from collections.abc import Callable

from ramify.capture.a2a.frame import Frame, Kind, Parts, content_of, moment, record_of, slice_of
from ramify.capture.a2a.secrets import redact_header_fields
from ramify.capture.a2a.slices import Slices
from ramify.capture.a2a.values import redact_path
from ramify.capture.a2a.waiting import Waiting
from ramify.capture.head import OURS
from ramify.capture.tee import NO_HEADERS, Asked, Kept, RawHeaders, Watch, find, text, texts
from ramify.model.observation import Outcome, Record
from ramify.protocols.wire.coding import decode, encodings_of

EVENT_STREAM = b"text/event-stream"
LOOK = b"x-ramify-follow"
"""On requests of our own that only look, wherever they pass."""


class FramedExchange:
    """A connection of its own, by name. Pieces are only noted while they pass; frames are made a turn later."""

    def __init__(self, asked: Asked, agent: str, secret_names: frozenset[str], watch: Watch) -> None:
        self._asked = asked
        self._agent = agent
        self._secret_names = secret_names
        self._watch = watch
        self._clock = watch.begin()
        self._began = self._clock()
        self._next = 0
        self._request_told = self._head_told = self._over = False
        self._planned = False
        self._pieces: list[tuple[int, bytes]] = []
        self._slices: Slices | None = None  # of an event stream that can be read as it comes
        self._waiting = Waiting(self._tell_slice)
        self._streams = False
        self._status = 0
        self._answered = 0
        self._headers: RawHeaders = NO_HEADERS
        self.request_body = Kept(watch.body_limit)
        self._response_body = Kept(watch.body_limit)

    # -- while bytes are under way ------------------------------------------------------------------------------------

    def answer(self, status: int, headers: RawHeaders) -> None:
        self._status, self._headers, self._answered = status, headers, self._clock()
        self._streams = find(headers, b"content-type").lower().startswith(EVENT_STREAM)
        if self._streams and not encodings_of(text(find(headers, b"content-encoding"))):
            self._slices = Slices(self._watch.body_limit)
        self._plan()

    def receive(self, piece: bytes) -> None:
        if self._slices is None:
            self._response_body.add(piece)
            return
        self._pieces.append((self._clock(), piece))
        self._plan()

    def _plan(self) -> None:
        """In the loop's next turn: the client has its bytes by then."""
        if not self._planned:
            self._planned = True
            asyncio.get_running_loop().call_soon(self._catch_up)

    # -- afterwards ---------------------------------------------------------------------------------------------------

    def tell_request(self) -> None:
        if self._request_told:
            return
        self._request_told = True
        self._tell("request", self._began, self._request)
        self._catch_up()

    def tell_response(self, outcome: Outcome, error: str = "") -> None:
        if self._over:
            return
        self.tell_request()
        self._catch_up()
        self._over = True
        at = self._clock()
        if self._streams and outcome != "failed":
            self._tell_rest(at)
            self._tell_end(outcome, at, error)
        elif self._status and outcome != "failed":
            self._tell("response", at, lambda: self._response(outcome, error))
        else:
            self._tell_end(outcome, at, error)

    def _catch_up(self) -> None:
        """Nothing before its request: an agent may answer while it is still being asked."""
        self._planned = False
        if not self._request_told or self._over:
            return
        if self._streams and not self._head_told:
            self._head_told = True
            self._tell("response", self._answered, lambda: {"status": self._status, "headers": self._fields(self._headers)})
        pieces, self._pieces = self._pieces, []
        for at, piece in pieces:
            if self._slices is not None and (whole := self._slices.add(piece)):
                self._waiting.add(at, whole)

    def _tell_rest(self, at: int) -> None:
        if self._slices is not None:
            rest = self._slices.rest()
        else:
            raw = self._response_body.take()
            unpacked = decode(raw, encodings_of(text(find(self._headers, b"content-encoding"))))
            rest = raw if unpacked is None else unpacked
        if rest:
            self._waiting.add(at, rest)
        self._waiting.let_go()

    def _tell_slice(self, at: int, piece: bytes) -> None:
        self._tell("sse", at, lambda: slice_of(piece))

    def _tell_end(self, outcome: Outcome, at: int, error: str) -> None:
        """When it was we who failed, the agent sees a client that left."""
        if outcome == "complete":
            self._tell("end", at, dict)
            return
        unreached = outcome == "failed" and self._status == 502
        by = "agent" if outcome == "cut" or unreached else "client"
        self._tell("abort", at, lambda: {"by": by, "error": error})

    # -- parts of frames ----------------------------------------------------------------------------------------------

    def _request(self) -> Parts:
        path = redact_path(self._asked.path, self._secret_names)
        content = self._content(self._asked.headers, self.request_body, "request")
        return {"method": self._asked.method, "path": path, **content}

    def _response(self, outcome: Outcome, error: str) -> Parts:
        content = self._content(self._headers, self._response_body, "response")
        return {"status": self._status, "aborted": outcome != "complete", "error": error, **content}

    def _content(self, fields: RawHeaders, kept: Kept, what: str) -> Parts:
        """A body that was packed is unpacked, and does not claim otherwise."""
        note = kept.shortfall(what)
        raw = kept.take()
        headers = self._fields(fields)
        encodings = encodings_of(text(find(fields, b"content-encoding")))
        unpacked = decode(raw, encodings) if encodings and raw else None
        if unpacked is not None:
            headers.pop("content-encoding", None)
            raw = unpacked
        return {"headers": headers, "note": note, **content_of(raw)}

    def _fields(self, fields: RawHeaders) -> dict[str, str]:
        joined: dict[str, str] = {}
        shown = tuple(pair for pair in fields if pair[0].lower() == LOOK or not pair[0].lower().startswith(OURS))
        for name, value in texts(shown):
            key = name.lower()
            joined[key] = f"{joined[key]}, {value}" if key in joined else value
        return redact_header_fields(joined, self._secret_names)

    def _tell(self, kind: Kind, at: int, parts: Callable[[], Parts]) -> None:
        seq, self._next = self._next, self._next + 1
        asked = self._asked

        def observe() -> Record:
            time = moment(at)
            frame = Frame(agent=self._agent, connection=asked.identity, seq=seq, time=time, kind=kind, **parts())
            return record_of(frame, asked.project, at, "proxy")

        self._watch.tell(observe)
