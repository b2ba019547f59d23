"""Work that goes on beside a store until it is told to end."""

import threading
from collections.abc import Callable

PATIENCE = 5.0  # seconds: one that hangs on a dead connection ends with the process


def in_background(work: Callable[[threading.Event], None]) -> Callable[[], None]:
    """Gives what ends it."""
    ended = threading.Event()
    thread = threading.Thread(target=work, args=(ended,), name="ramify-news", daemon=True)
    thread.start()

    def end() -> None:
        ended.set()
        thread.join(timeout=PATIENCE)

    return end
