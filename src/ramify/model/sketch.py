"""A task with what a tree is drawn from: the same row as `Task`, of which the long texts are passed over."""

from msgspec import Raw, Struct

from ramify.model.entity import Stated
from ramify.model.usage import NOTHING, Usage

PASSED = Raw()


class Tie(Struct, frozen=True, array_like=True, gc=False):
    """The beginning of a `Link`."""

    kind: str
    parent: str
    rule: str
    certainty: float


class Sketch(Struct, array_like=True, gc=False):
    """Fields stand where `Task` has them. Nothing here can lead back to itself, so the collector need not look."""

    id: str
    project: Raw = PASSED
    conversation: str = ""
    line: Raw = PASSED
    kind: str = "root"
    first: Raw = PASSED
    opened: int = 0
    agent: str = ""
    agent_type: str = ""
    title: str = ""
    prompt: Raw = PASSED
    prompt_author: Raw = PASSED
    parent: str = ""
    caller: Raw = PASSED
    link: Tie | None = None
    calls: Raw = PASSED
    usage: Usage = NOTHING
    tool_calls: int = 0
    last: Raw = PASSED
    last_started: int = 0
    last_status: str = ""
    last_stop: str = ""
    last_ended: int = 0
    outcome: str = ""
    outcome_at: int = 0
    session: Raw = PASSED
    stated: Stated | None = None
    extra: Raw = PASSED
    loops: int = 0
    tail: Raw = PASSED
    tail_run: Raw = PASSED
    protocol: Raw = PASSED
    status: str = ""
    closed: int = 0
    flags: tuple[str, ...] = ()
    native_status: Raw = PASSED
    refs: Raw = PASSED
    native: Raw = PASSED
    operation: Raw = PASSED
    home: Raw = PASSED
    refers: Raw = PASSED
    named: Raw = PASSED
    active: int = 0
