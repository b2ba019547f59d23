"""Waiting for what a program did last: it reaches the log a moment after the program has ended."""

import time
from collections.abc import Callable

from ramify.cli.client import Server, Unreachable

PAUSE, LONGEST, QUIET = 0.1, 15.0, 2


def wait_until_settled(server: Server, pause: Callable[[float], None] = time.sleep) -> int:
    """The log's place once nothing waits and it has stood still for a few looks; the longest wait is for a slow disk."""
    last, same = -1, 0
    for _ in range(round(LONGEST / PAUSE)):
        health = server.health()
        if health is None:
            raise Unreachable(f"the server at {server.address} went away")
        waiting = (health.get("capture") or {}).get("waiting")
        same = same + 1 if health["seq"] == last and not waiting else 0
        last = int(health["seq"])
        if same >= QUIET:
            break
        pause(PAUSE)
    return last
