"""Slices of a stream that follow each other, searched as one text: a secret may begin in one and end in another."""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator

from ramify.capture.a2a.growth import redacted_events
from ramify.capture.a2a.values import written


def runs(numbers: Iterable[int]) -> Iterator[list[int]]:
    """Numbers that follow each other without a gap."""
    run: list[int] = []
    for number in sorted(numbers):
        if run and run[-1] + 1 != number:
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def redact_run(slices: list[bytes]) -> list[bytes]:
    """An event that holds a secret goes to the slice where it begins, without it; all others stay where they are."""
    clean: list[list[bytes]] = [[] for _ in slices]
    ends = list(running_total(len(piece) for piece in slices))
    at, place = 0, 0
    for event, redacted in redacted_events(b"".join(slices)):
        while place < len(ends) - 1 and ends[place] <= at:
            place += 1
        if redacted != event:
            clean[place].append(redacted)
        else:
            share(event, at, place, ends, clean)
        at += len(event)
    return [b"".join(pieces) for pieces in clean]


def share(event: bytes, at: int, place: int, ends: list[int], clean: list[list[bytes]]) -> None:
    """An event as it was, over the slices in which it stood."""
    start = 0
    while start < len(event):
        end = min(len(event), ends[place] - at)
        clean[place].append(event[start:end])
        start, place = end, place + 1


def running_total(sizes: Iterable[int]) -> Iterator[int]:
    total = 0
    for size in sizes:
        total += size
        yield total


def rewritten(line: bytes, raw: bytes) -> bytes:
    frame = json.loads(line)
    if "raw" in frame:
        frame["raw"] = raw.decode("utf-8", "replace")
    else:
        frame["raw_b64"] = b64encode(raw).decode()
    return written(frame)
