"""The captured program: our terminal, our signals, its own exit status."""

import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

from ramify.model.mistake import UserMistake

SIGNALLED = 128
PASSED_ON = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))


def run_child(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Ctrl-C reaches the program from the terminal itself; we only must not die of it first."""
    # A function, not SIG_IGN: what is ignored stays ignored in the program, what is caught does not.
    before = {signal.SIGINT: signal.signal(signal.SIGINT, stay)}
    try:
        child = subprocess.Popen(command, env=dict(environment))
        before |= {number: signal.signal(number, passing_on(child)) for number in PASSED_ON}
        status = child.wait()
    except OSError as problem:
        hint = "check that it is a program for this machine"
        raise UserMistake(f"{command[0]!r} cannot be run: {problem.strerror}", hint) from None
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
    return SIGNALLED - status if status < 0 else status


def stay(number: int, frame: FrameType | None) -> None:
    """Caught, and left to the program."""


def passing_on(child: "subprocess.Popen[bytes]") -> Callable[[int, FrameType | None], None]:
    def pass_on(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    return pass_on
