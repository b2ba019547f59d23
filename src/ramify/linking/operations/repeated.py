"""What was told before: of look-up keys that are equal by chance a check says which is meant.

Else what an agent says for the first time could be taken for a repetition, and would have no effect.
"""

import re

from ramify.linking.operations.subject import place
from ramify.linking.operations.turn import Turn
from ramify.model import ids

NEAR = 16
EARLIER = re.compile(r"(?:[0-9a-f]{64})?")  # what stores of earlier versions have noted, without a check


def told_before(turn: Turn, kind: str, what: tuple[str, ...]) -> tuple[int, str] | None:
    """Its number, and what was noted of it."""
    for seq, noted in turn.world.span(place(kind, turn.scope, *what), limit=NEAR):
        check, slash, told = noted.rpartition("/")
        if check == check_of(what) or (not slash and EARLIER.fullmatch(noted)):
            return seq, told
    return None


def note(turn: Turn, kind: str, what: tuple[str, ...], told: str) -> None:
    turn.world.mark(place(kind, turn.scope, *what), turn.logged.seq, f"{check_of(what)}/{told}")


def check_of(what: tuple[str, ...]) -> str:
    return ids.digest(*what).hex()[:8]
