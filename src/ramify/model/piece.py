"""A piece of a body that repeats: read once, kept once. Requests that share it share this very object."""

from ramify.model.event import Part


class Piece:
    """`blob` is where the store keeps it, valid while the store's `epoch` is the same."""

    __slots__ = ("blob", "clean", "epoch", "part", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.part: Part | None = None
        self.clean = False  # searched for secrets, none found
        self.blob = 0
        self.epoch = -1


Span = tuple[int, int, Piece]
