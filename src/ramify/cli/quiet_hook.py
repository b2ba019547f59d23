"""`ramify hook` as a client runs it: nothing that happens here may hold it up, stop it or say a word to it.

The client waits for the process that it started, and reads exit status 2 as a veto. So that process only reads its
input and ends; a child of it does the rest. Little is imported here: the client waits for that, too.
"""

import io
import os
import sys
import time
from collections.abc import Callable, Sequence

CarryOut = Callable[[Sequence[str]], int]
LOUD = {"-h", "--help", "--wait"}


def report(words: Sequence[str], carry_out: CarryOut) -> int:
    if LOUD & set(words):
        return carry_out(["hook", *words])
    try:
        at, body = time.time_ns() // 1000, sys.stdin.buffer.read()
        if not hasattr(os, "fork"):
            report_silently(words, at, body, carry_out)
        elif os.fork() == 0:
            leave_the_client()
            report_silently(words, at, body, carry_out)
            os._exit(0)
    except BaseException:  # whatever it is, the client must not notice; `--wait` shows it
        pass
    return 0


def leave_the_client() -> None:
    """It waits until nobody holds what it gave us to write to."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)


def report_silently(words: Sequence[str], at: int, body: bytes, carry_out: CarryOut) -> None:
    said, sys.stderr = sys.stderr, io.StringIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(body))
    try:
        carry_out(["hook", "--wait", "--at", str(at), *words])
    finally:
        sys.stderr = said
