"""One call, or what is known of one before its call is: state in a sheet, found by its ids."""

import msgspec
from msgspec import Struct, field

from ramify.linking.operations.evidence import Claim, Evidence
from ramify.linking.world import World, key
from ramify.model import ids
from ramify.model.entity import Sheet


class Subject(Struct, array_like=True):
    id: str
    project: str
    scope: str  # the session, and how often it was emptied
    operation: str = ""
    agent: str = ""
    task_type: str = ""
    shape: str = "call"
    call: str = ""
    seq: int = 0  # of its first event
    opened: int = 0
    active: int = 0
    into: str = ""
    work: str = ""
    transport: str = ""
    context: str = ""
    protocol: str = ""
    parent: str = ""  # as its protocol names the task that gave it
    own: Evidence = field(default_factory=Evidence)  # about the work
    wire: Evidence = field(default_factory=Evidence)  # about the transport's task
    bare: Claim | None = None  # what the client said when it came back, without having looked
    asked: int = 0  # the caller's clock at the request
    paired: bool = False
    lost: bool = False  # it broke, the agent may have heard of it, and nobody knows its id
    twin: str = ""  # taken for the same, because nothing else fits
    above: str = ""  # of a part: the call
    milliseconds: float | None = None
    skew: int = 0
    flags: tuple[str, ...] = ()
    # as its operation and its session have counted it
    counted: bool = False
    is_root: bool = True
    status: str = ""
    shown: tuple[str, ...] = ()
    evidence: str = ""  # the observation that opened it


class Alias(Struct, array_like=True):
    """What is claimed about an id of an agent, whoever's task it is."""

    work: Evidence = field(default_factory=Evidence)
    wire: Evidence = field(default_factory=Evidence)
    carries: str = ""  # of a transport's task: the work that rides in it


_subjects = msgspec.msgpack.Decoder(Subject)
_aliases = msgspec.msgpack.Decoder(Alias)
_encode = msgspec.msgpack.Encoder().encode


def call_subject_id(project: str, scope: str, operation: str, agent: str, call: str) -> str:
    return ids.short("task", project, "adcp", scope, "call", operation, agent, call)


def shell_id(project: str, scope: str, operation: str, agent: str, native: str) -> str:
    return ids.short("task", project, "adcp", scope, "id", operation, agent, native)


def subject_of(sheet: Sheet) -> Subject:
    return _subjects.decode(sheet.state)


def read(world: World, id: str) -> Subject | None:
    row = world.get("sheets", id)
    return subject_of(row) if isinstance(row, Sheet) and row.kind == "subject" else None


def save(world: World, subject: Subject) -> None:
    world.save("sheets", Sheet(subject.id, "subject", subject.opened, subject.operation, _encode(subject)))


# -- ids ---------------------------------------------------------------------------------------------------------------


def place(kind: str, scope: str, *parts: str) -> int:
    """Keys of one session stand together, so that all of them can go at once."""
    return key(kind, "adcp", scope, "/".join(escaped(part) for part in parts) if len(parts) > 1 else "".join(parts))


def escaped(part: str) -> str:
    """Ids may hold anything: `a/b` with `c` is not `a` with `b/c`."""
    return part.replace("\\", "\\\\").replace("/", "\\/") if "/" in part or "\\" in part else part


def alias_id(scope: str, agent: str, native: str) -> str:
    return ids.short("alias", scope, agent, native)


def alias(world: World, scope: str, agent: str, native: str) -> Alias:
    row = world.get("sheets", alias_id(scope, agent, native))
    return _aliases.decode(row.state) if isinstance(row, Sheet) else Alias()


def save_alias(world: World, scope: str, agent: str, native: str, found: Alias) -> None:
    id = alias_id(scope, agent, native)
    if world.get("sheets", id) is None:
        world.mark(place("sheets", scope), 0, id)
    world.save("sheets", Sheet(id, "alias", state=_encode(found)))
