"""Pieces of bodies that repeat: read once, kept once. Requests that share a piece share the very object."""

from ramify.model.event import Part


class Piece:
    """`blob` is where the store keeps it, valid while the store's `epoch` is the same.

    A message with a mark for the cache knows its `bare` self and the bytes that were `cut` out, and where.
    """

    __slots__ = ("bare", "blob", "clean", "cut", "cut_at", "epoch", "part", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.part: Part | None = None
        self.clean = False  # searched for secrets, none found
        self.blob = 0
        self.epoch = -1
        self.bare: Piece | None = None
        self.cut = b""
        self.cut_at = 0


Span = tuple[int, int, Piece]


class Layout:
    """A body as a row of pieces, and how much of it stands as it stood in the body before it.

    `common` pieces, and every byte before the end of the last of them, are those of `before`. What the store made
    of those is taken over from there: `folded`, with the length and the last reference after each piece.
    """

    __slots__ = ("before", "body", "common", "epoch", "folded", "near", "others", "pieces", "starts", "states")

    def __init__(self, body: bytes, starts: list[int], pieces: list[Piece], others: list[Span]) -> None:
        self.body = body
        self.starts = starts
        self.pieces = pieces
        self.others = others  # pieces that are no messages: the system prompt, the tools
        self.common = 0
        self.before: Layout | None = None
        self.folded = b""
        self.states: list[tuple[int, int]] = []
        self.epoch = -1
        self.near = b""  # of its first message: what follows from one beginning is kept close together

    def forget_before(self) -> None:
        """Once it was stored it needs nobody: else each body would keep all bodies before it alive."""
        self.before = None
