"""What ingest asks of whoever cuts secrets out, and how little of a growing body must be searched for them."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from ramify.model.observation import Observation, Record, Request, Response
from ramify.model.piece import Layout

Sent = TypeVar("Sent", Request, Response)
RULES = "redaction"  # a fact of a store: the version of the oldest rules that anything in it was searched by; none: nobody knows


class Streams(Protocol):
    """What was stored in several observations and reads as one text."""

    def note(self, seen: Observation) -> None:
        """That it is stored; in any order."""
        ...

    def cleaned(self, stored: Callable[[str], Observation | None]) -> Iterator[tuple[Record, Record]]:
        """What changes because of what stands beside it, before and after; of all that was noted since this was last asked."""
        ...


class Search(Protocol):
    """Finds what must not stay, and puts a mark in its place."""

    def piece(self, raw: bytes) -> bytes: ...
    def observation(self, seen: Observation) -> Observation: ...
    def head(self, seen: Sent) -> Sent:
        """With clean headers and a clean address; the body is somebody else's."""
        ...

    def streams(self) -> Streams | None:
        """None where each observation is searched by itself alone."""
        ...


class Redaction(Search, Protocol):
    """Secrets out, before anything is stored."""

    def finds_nothing(self, seen: Response, blocks: list[dict[str, Any]]) -> bool:
        """Whether an answer, in its bytes and put together, holds no secret at all."""
        ...


def is_clean(redaction: Search, layout: Layout) -> bool:
    """Every piece is searched once; what stands between the pieces, unless all of it was in the body before."""
    for piece in layout.pieces[layout.common :]:
        if not piece.clean:
            if redaction.piece(piece.raw) != piece.raw:
                return False
            piece.clean = True
            if piece.bare is not None:
                piece.bare.clean = True
    if layout.common:  # the beginning and the end are those of a body that was clean
        return True
    position = 0
    between: list[bytes] = []
    spans = [(start, start + len(piece.raw)) for start, piece in zip(layout.starts, layout.pieces, strict=True)]
    for start, end, piece in layout.others:
        if not piece.clean and redaction.piece(piece.raw) != piece.raw:
            return False
        piece.clean = True
        spans.append((start, end))
    for start, end in sorted(spans):
        between.append(layout.body[position:start])
        position = end
    rest = b"".join([*between, layout.body[position:]])
    return redaction.piece(rest) == rest
