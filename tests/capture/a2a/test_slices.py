"""A copy of a stream is cut after whole events, wherever the stream itself was cut."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ramify.capture.a2a.slices import MOST_QUIET, Slices

EVENTS = [b'data: {"a": 1}\n\n', b"data: x\r\n\r\n", b"event: e\rdata: y\r\r", b": ping\n\n", b"data: \xc3\xa9\n\r\n", b"id: 3\ndata\n\n"]


@given(st.lists(st.sampled_from(EVENTS), max_size=8), st.lists(st.integers(0, 200), max_size=10), st.binary(max_size=5))
def test_slices_put_together_are_the_stream_and_each_holds_whole_events(
    events: list[bytes], cuts: list[int], rest: bytes
) -> None:
    stream = b"".join(events) + rest
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    slices = Slices(1000)
    told = [slices.add(stream[start:end]) for start, end in pairwise(places)]
    assert b"".join(told) + slices.rest() == stream
    if b"\r" not in rest and b"\n" not in rest:
        ends = {len(b"".join(events[:count])) for count in range(len(events) + 1)}
        reached = 0
        for piece in told:
            reached += len(piece)
            # Half of a line end may fall to the next slice, where it means nothing.
            assert {reached, reached + 1} & ends


def test_comments_wait_for_an_event_but_not_for_ever() -> None:
    slices = Slices(1000)
    assert slices.add(b": ping\n\n") == b""
    assert slices.add(b"data: 1\n\n") == b": ping\n\ndata: 1\n\n"
    pings = b": ping\n\n" * (MOST_QUIET // 8)
    assert slices.add(pings) == pings


def test_an_event_that_never_ends_is_cut_at_the_limit() -> None:
    slices = Slices(10)
    assert slices.add(b"data: 1234") == b""
    assert slices.add(b"5") == b"data: 12345"
    assert slices.add(b"6\n\n") == b""
    assert slices.add(b"data: 7\n\n") == b"6\n\ndata: 7\n\n"
