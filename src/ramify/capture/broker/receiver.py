"""What a listener needs of a broker: one message at a time, and a word that it is safe."""

from typing import Any, Protocol

from msgspec import Struct


class Delivery(Struct, frozen=True):
    """A message as the broker handed it over. `line`: one that was written down before, and is read again."""

    topic: str = ""
    payload: bytes = b""
    properties: dict[str, Any] | None = None
    redelivered: bool = False
    handle: Any = None  # by which the broker knows it
    line: bytes = b""
    number: int = 0


class Receiver(Protocol):
    """`receive` waits at most so long. What was not acknowledged comes again, to us or to whoever comes after us."""

    name: str
    gaps: int  # times that messages were lost before they came here
    reconnects: int
    ended: bool  # nothing will come any more

    def receive(self, seconds: float) -> Delivery | None: ...
    def ack(self, delivery: Delivery) -> None: ...
    def close(self) -> None: ...


class Away(Exception):
    """The broker cannot be reached, or does not let us in; the words are for people and hold no secret."""
