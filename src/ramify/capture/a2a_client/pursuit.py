"""What to do next about one task that is followed: pure, decided by its state and by what came of the last step.

- A task that is over is read once more, for what its stream left out; then it is done.
- Where watching is harmless (1.0) it is watched; elsewhere it is read again and again, slower while nothing changes.
- Whatever fails is tried again with growing pauses; after three times in vain the task counts as stalled.
"""

from typing import Literal, NamedTuple

from ramify.capture.a2a_client.heard import is_over, waits

Act = Literal["read", "watch", "done"]
FIRST_LOOK, LONGEST_LOOK, LOOK_GROWS = 0.2, 2.0, 1.5
FIRST_PAUSE, LONGEST_PAUSE, PAUSE_GROWS = 0.5, 30.0, 2.0
IN_VAIN = 3


class Step(NamedTuple):
    act: Act
    after: float = 0.0


class Pursuit:
    """`watches`: the task may be watched without harm, or somebody has asked for it."""

    def __init__(self, watches: bool) -> None:
        self.state = ""
        self._watches = watches
        self._failures = 0
        self._attached = False
        self._complete = False  # read since it was over
        self._unsure = False  # a stream ended before the task did: how do things stand?
        self._at_once = False  # that is asked without a pause
        self._alone = False  # it waits for somebody, and the agent holds no stream open for that
        self._cut = False  # its stream broke off, and nothing has been heard since
        self._look = FIRST_LOOK

    @property
    def stalled(self) -> bool:
        rests = is_over(self.state) or waits(self.state)
        return self._failures >= IN_VAIN and not rests and not self._attached

    # -- what is next -------------------------------------------------------------------------------------------------

    def next(self) -> Step:
        if is_over(self.state):
            done = self._complete or self._failures >= IN_VAIN
            return Step("done") if done else Step("read", self._pause())
        if not self._watches or self._alone:
            return Step("read", max(self._look, self._pause()))
        if self._unsure:
            return Step("read", 0.0 if self._at_once else self._pause())
        return Step("watch", self._pause())

    def _pause(self) -> float:
        return min(FIRST_PAUSE * PAUSE_GROWS ** (self._failures - 1), LONGEST_PAUSE) if self._failures else 0.0

    # -- what came of it ----------------------------------------------------------------------------------------------

    def move(self, state: str) -> None:
        """The agent says so, by whichever way. An end is never left again."""
        if not state or state == self.state or is_over(self.state):
            return
        self.state = state
        self._alone = self._cut = False
        self._failures = 0
        self._look = FIRST_LOOK

    def attached(self) -> None:
        """A stream has begun to speak."""
        self._attached = True

    def read(self, changed: bool) -> None:
        """The agent has shown the task as it keeps it."""
        self._complete = is_over(self.state)
        self._unsure = False
        self._look = FIRST_LOOK if changed else min(self._look * LOOK_GROWS, LONGEST_LOOK)
        if changed:
            self._failures, self._cut = 0, False
        elif not self._watches:
            self._failures = self._failures + 1 if self._cut else 0

    def watched(self, changed: bool) -> None:
        """A stream has ended, in whichever way."""
        self._attached = False
        if is_over(self.state):
            return
        resting = waits(self.state)
        self._alone, self._cut = resting and not changed, not resting
        self._ask_again()
        if changed:
            self._failures = 0
        elif not resting:
            self._failures += 1

    def refused(self) -> None:
        """A stream was asked for, and the answer was an error: perhaps there is nothing left to watch."""
        self._attached = False
        self._alone = waits(self.state)
        self._failures += not self._alone
        self._ask_again()

    def failed(self) -> None:
        """Nobody answers, or not with the task."""
        self._attached = False
        self._failures += 1
        self._unsure, self._at_once = not waits(self.state), False

    def _ask_again(self) -> None:
        self._unsure = self._at_once = not waits(self.state)
