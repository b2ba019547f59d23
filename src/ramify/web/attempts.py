"""How often somebody tried in vain, by their address: a few more times a minute, and no more. Bounded, however many try."""

from collections import OrderedDict
from collections.abc import Callable

from aiohttp import web

SECONDS = 60
MOST = 10  # of one address in that time
ADDRESSES = 10_000


class Attempts:
    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._failed: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def count(self, address: str) -> int:
        """In vain, in the minute that began with the first of them."""
        began, times = self._failed.get(address, (0, 0))
        return times if self._clock() - began < SECONDS * 1_000_000 else 0

    def failed(self, address: str) -> int:
        """One more; the first of a minute is 1."""
        times = self.count(address)
        began = self._failed[address][0] if times else self._clock()
        self._failed[address] = (began, times + 1)
        self._failed.move_to_end(address)
        while len(self._failed) > ADDRESSES:
            self._failed.popitem(last=False)
        return times + 1


LOGINS: web.AppKey[Attempts] = web.AppKey("logins")
PUSHES: web.AppKey[Attempts] = web.AppKey("pushes")
REFUSALS: web.AppKey[Attempts] = web.AppKey("refusals")
