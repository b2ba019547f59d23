"""Tokens and money. Money is kept in billionths of a dollar, so that sums are exact."""

from msgspec import Struct


class Usage(Struct, frozen=True, array_like=True, gc=False):
    """What one call reported, or a sum over calls. `input` excludes what the cache read or wrote."""

    calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost_nano: int = 0
    unpriced: int = 0  # calls whose model has no known price: the cost cannot be known

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.cost_nano + other.cost_nano,
            self.unpriced + other.unpriced,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls - other.calls,
            self.input - other.input,
            self.output - other.output,
            self.cache_read - other.cache_read,
            self.cache_write - other.cache_write,
            self.cost_nano - other.cost_nano,
            self.unpriced - other.unpriced,
        )

    @property
    def cost_usd(self) -> float | None:
        """None where some call has no price: no figure is better than a wrong one. A cut answer has its price too."""
        return None if self.unpriced or self == NOTHING else self.cost_nano / 1e9


NOTHING = Usage()
MOST_TOKENS = 2**31
"""Of one call: no model takes so many. Tens of thousands of such calls, and what they cost, still add up within 63 bits."""
MOST_SUM = 2**40
"""Of what a client says of a whole session."""
MOST_NANO = 2**50
"""A million dollars."""


def tokens_in(value: object, most: int = MOST_TOKENS) -> int:
    """None where it is no number of tokens: whatever a stranger writes, sums must stay what every store can hold."""
    return value if type(value) is int and 0 < value <= most else 0


def money_in(nano: int | None) -> int | None:
    """Likewise: what nobody can have paid is not known."""
    return nano if nano is not None and 0 <= nano <= MOST_NANO else None
