"""The captured program: our terminal, our signals, its own exit status."""

import signal
import subprocess
from collections.abc import Mapping, Sequence
from types import FrameType

from ramify.model.mistake import UserMistake

SIGNALLED = 128
PASSED_ON = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))


class Relay:
    """Signals for a program, also those that come before it has started."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[bytes] | None = None
        self.early: list[int] = []

    def pass_on(self, number: int, frame: FrameType | None) -> None:
        if self.child is None:
            self.early.append(number)
        else:
            self.child.send_signal(number)

    def start(self, command: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        child = subprocess.Popen(command, env=dict(environment))
        self.child = child
        for number in self.early:
            child.send_signal(number)
        return child


def run_child(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Ctrl-C reaches the program from the terminal itself; we only must not die of it first."""
    relay = Relay()
    # Functions, not SIG_IGN: what is ignored stays ignored in the program, what is caught does not.
    before = {number: signal.signal(number, relay.pass_on) for number in PASSED_ON}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, stay)
    try:
        status = relay.start(command, environment).wait()
    except OSError as problem:
        hint = "check that it is a program for this machine"
        raise UserMistake(f"{command[0]!r} cannot be run: {problem.strerror}", hint) from None
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
    return SIGNALLED - status if status < 0 else status


def stay(number: int, frame: FrameType | None) -> None:
    """Caught, and left to the program."""
