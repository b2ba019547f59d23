"""What a reader knows of the exchange at hand: the request, and what its answer has said so far."""

from msgspec import Struct, field

from ramify.model.a2a_event import Sign, Spoken
from ramify.protocols.a2a.stream import Stream


class Known(Struct):
    """What one stream has said of a task."""

    state: str = ""
    time: int = 0


class Exchange(Struct):
    sign: Sign
    method: str = ""
    task: str = ""
    context: str = ""
    message: Spoken | None = None
    parent: str = ""
    span: str = ""
    pushed: bool = False
    own: bool = False
    old: bool = False
    streams: bool = False
    answered: bool = False
    said: int = 0  # events so far
    made: str = ""  # the task that became of its message
    tasks: dict[str, Known] = field(default_factory=dict)


class State(Struct):
    following: int = 0  # the number that the next frame should have
    clock: int = 0  # of the frames so far: their numbers count, whatever the clock did meanwhile
    exchange: Exchange | None = None
    stream: Stream = field(default_factory=Stream)
