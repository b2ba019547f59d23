"""What follows from an agent's answer about one task. Pure: the whole table on one screen."""

from msgspec import Struct

from ramify.model.operation_event import ENDED, RANKS

MISSES = 3  # in separate runs, before a task counts as forgotten by its agent


class Known(Struct, frozen=True):
    """A task as the log has it."""

    id: str  # ours
    session: str
    operation: str
    agent: str
    task_type: str
    native: str  # the id to ask for
    of: str  # work, transport
    protocol: str
    status: str
    opened: int
    misses: int = 0
    active: int = 0  # its last sign of life


class Answered(Struct, frozen=True):
    """What the agent says: a status, or that it knows no such task."""

    native: str
    status: str = ""
    word: str = ""  # as the agent writes it
    updated: str = ""
    work: str = ""  # that rides in the transport's task that was asked about; then the status is the work's

    @property
    def is_known(self) -> bool:
        return bool(self.status)


class Verdict(Struct, frozen=True):
    """unchanged, corrected, missing, gone, anomaly; `status` is what is to be stored."""

    kind: str
    status: str = ""


def decide(known: Known, said: Answered) -> Verdict:
    over = RANKS[known.status] == ENDED
    if not said.is_known:
        if over:
            return Verdict("unchanged")
        is_news = known.misses + 1 >= MISSES and known.status != "unknown"
        return Verdict("gone", "unknown") if is_news else Verdict("missing")
    if (said.status == known.status and not said.work) or not RANKS[said.status]:
        return Verdict("unchanged")
    if over and RANKS[said.status] < ENDED:
        return Verdict("anomaly")  # what has ended does not go on: somebody is wrong, and we cannot tell who
    return Verdict("corrected", said.status)
