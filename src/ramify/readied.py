"""What an observation says by itself: without secrets, cut into pieces, decoded.

None of it takes a look at the store, so it is done before a writer takes its turn: others on the same store do not wait for it.
"""

from msgspec import Struct

from ramify.model.event import Event
from ramify.model.observation import Observation, Record, Request, Response
from ramify.model.piece import Layout
from ramify.protocols import model_api
from ramify.protocols.anthropic.answer import Answer
from ramify.protocols.anthropic.bodies import Reading
from ramify.protocols.sam import decode as sam
from ramify.protocols.sam.layout import Pieces
from ramify.reader import Reader
from ramify.redaction import Redaction, is_clean


class Readied(Struct, frozen=True):
    seen: Observation
    layout: Layout | None = None
    said: tuple[Event, ...] = ()  # by a call to a model, or its answer


class Readying:
    def __init__(self, reader: Reader, redaction: Redaction | None) -> None:
        self._reader, self._redaction = reader, redaction
        self._pieces = Pieces()

    def ready(self, seen: Observation) -> Readied:
        if isinstance(seen, Request) and model_api.is_model_call(seen.method, seen.path):
            return self._request(seen)
        if isinstance(seen, Response) and model_api.is_model_call("POST", seen.path):
            return self._response(seen)
        clean = self._redaction.observation(seen) if self._redaction is not None else seen
        return Readied(clean, self._pieces.layout(clean.body) if isinstance(clean, Record) and clean.format == sam.FORMAT else None)

    def _request(self, seen: Request) -> Readied:
        reading = self._reader.read_body(seen)
        if self._redaction is not None:
            seen, reading = self._redacted(self._redaction, seen, reading)
        event, problem = self._reader.read_call(seen, reading)
        return Readied(seen, layout_of(seen, reading), (event,) if problem is None else (event, problem))

    def _redacted(self, redaction: Redaction, seen: Request, reading: Reading | str) -> tuple[Request, Reading | str]:
        """Each piece is searched once; where a secret is found, the body is cleaned as a whole and read again."""
        if isinstance(reading, Reading) and reading.layout.body is seen.body and is_clean(redaction, reading.layout):
            return redaction.head(seen), reading
        clean = redaction.observation(seen)
        assert isinstance(clean, Request)
        return clean, self._reader.read_body(clean)

    def _response(self, seen: Response) -> Readied:
        answer: Answer | None = model_api.read_answer(seen)
        if self._redaction is not None:
            if answer is not None and answer.complete and self._redaction.finds_nothing(seen, answer.blocks):
                seen = self._redaction.head(seen)
            else:
                clean = self._redaction.observation(seen)
                assert isinstance(clean, Response)
                seen, answer = clean, None
        return Readied(seen, None, tuple(model_api.decode_response(seen, answer)))


def layout_of(seen: Request, reading: Reading | str) -> Layout | None:
    """Where the bytes that are kept are those that were read: packed ones are not cut."""
    return reading.layout if isinstance(reading, Reading) and reading.layout.body is seen.body else None
