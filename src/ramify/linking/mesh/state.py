"""What a fold remembers of a task between two messages; kept in its sheet."""

from typing import Any

import msgspec
from msgspec import Struct, field

from ramify.linking.world import World
from ramify.model.entity import Sheet
from ramify.model.usage import NOTHING, Usage

KIND = "sam"
TERMINAL = ("completed", "failed", "canceled", "rejected")


class Given(Struct, array_like=True):
    """The request with which a task began."""

    at: int = 0
    received: int = 0
    observation: str = ""
    agent: str = ""
    prompt: str = ""
    parent: str = ""
    call: str = ""
    told: bool = False  # it came with properties
    native: dict[str, Any] = field(default_factory=dict)


class State(Struct, array_like=True):
    # of every message, in any order
    messages: int = 0
    first: int = 0
    active: int = 0
    context: str = ""
    speaker: str = ""
    speaker_at: tuple[int, str] = (0, "")
    guessed: bool = False
    word: str = ""  # the mesh's own for how it stands
    moved: tuple[int, str] = (0, "")
    # of those whose order matters
    given: Given | None = None
    ended: int = 0
    outcome: str = ""
    last_words: str = ""
    error: str = ""
    end: dict[str, Any] = field(default_factory=dict)
    usage: Usage = NOTHING
    calls: int = 0
    tools: int = 0
    repeated: dict[str, int] = field(default_factory=dict)  # how often a call id was used, where more than once
    open_tools: list[str] = field(default_factory=list)  # that lack their start or their result
    open_call: str = ""
    thought: str = ""
    unasked: list[str] = field(default_factory=list)  # thoughts of a turn whose beginning nobody saw
    place: str = ""  # conversation and line for which its calls were written

    @property
    def is_over(self) -> bool:
        return self.ended > 0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(State).decode


def load(world: World, task: str) -> tuple[State, tuple[int, str]]:
    """And the last entry that it rests on."""
    sheet = world.get("sheets", task)
    return (_decode(sheet.state), (sheet.at, sheet.ref)) if isinstance(sheet, Sheet) else (State(), (0, ""))


def save(world: World, task: str, state: State, last: tuple[int, str]) -> None:
    world.save("sheets", Sheet(task, KIND, *last, _encode(state)))
