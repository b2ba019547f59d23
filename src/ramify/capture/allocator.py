"""How the C library hands out memory for bodies: called once, by a process that does little but proxy."""

import ctypes
import sys

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
LARGEST_FROM_HEAP = 32 * 2**20
"""The most that glibc accepts on 64 bits."""
KEPT_WHEN_FREE = 128 * 2**20


def reuse_memory() -> bool:
    """False where the C library cannot be told (musl, macOS, Windows): then everything is only slower.

    By default glibc maps each larger piece of a body anew and gives it back at once, so that every page of it
    is faulted in again. That was two thirds of the time of a request of 1 MB: 2.6 ms against 0.8 ms.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        tune = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(tune(M_MMAP_THRESHOLD, LARGEST_FROM_HEAP)) and bool(tune(M_TRIM_THRESHOLD, KEPT_WHEN_FREE))
