"""Questions are asked in several threads at once; each gets its own bytes back."""

import random
from concurrent.futures import ThreadPoolExecutor

from ramify.storage.fold import PACKED, RAW, pack, unpack


def test_pieces_are_unpacked_by_many_threads_at_the_same_time() -> None:
    rng = random.Random(7)
    texts = [" ".join(rng.choices(["tea", "pot", "cup", "leaf", "water"], k=60_000)).encode() for _ in range(8)]
    packed = [pack(text, RAW, PACKED) for text in texts]
    assert {kind for kind, _ in packed} == {PACKED}
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda number: unpack(*packed[number % 8]) == texts[number % 8], range(400)))
    assert all(found)
