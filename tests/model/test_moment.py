"""Times as they are written: readable again, whatever year they say."""

import pytest

from ramify.model.moment import FIRST, LAST, iso, micros


@pytest.mark.parametrize("at", [FIRST, -1, 1, 1_794_765_569_210_000, LAST])
def test_what_is_written_is_read_again(at: int) -> None:
    written = iso(at)
    assert written is not None
    assert (micros(written), len(written)) == (at, 27)
