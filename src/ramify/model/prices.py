"""What tokens cost: one dated table, and the sum for one call. A model that is not in the table has no cost.

The figures are the vendor's public list prices. Another model's price is never used in place of a missing
one: no figure is better than a wrong one. People add or override prices with a file (`own_prices.py`).
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import replace

from ramify.model.moment import micros
from ramify.model.usage import money_in

PRICES_VERSION = "2026-11-15"
MILLION = 1_000_000
NANO = 1_000_000_000


class Tokens(Struct, frozen=True, gc=False):
    """What one call used. `input` excludes what the cache read or wrote."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    service_tier: str = "standard"  # as the wire says it; "batch" costs half


class Price(Struct, frozen=True):
    """Billionths of a dollar per million tokens, so that every list price is a whole number."""

    models: tuple[str, ...]  # patterns with * and ?
    input: int
    output: int
    cache_read: int
    write_5m: int
    write_1h: int
    since: int = 0  # microseconds since 1970
    until: int | None = None  # the first moment that no longer counts
    known_up_to: int | None = None  # a larger prompt had another price, which is not known here

    def holds(self, model: str, at: int) -> bool:
        if at < self.since or (self.until is not None and at >= self.until):
            return False
        return any(fnmatchcase(model, pattern) for pattern in self.models)


def price(model: str, at: int, tokens: Tokens, table: Iterable[Price]) -> int | None:
    """Billionths of a dollar; None where the price is not known. The first entry that fits counts."""
    entry = next((entry for entry in table if entry.holds(model, at)), None)
    if entry is None:
        return None
    prompt = tokens.input + tokens.cache_read + tokens.write_5m + tokens.write_1h
    if entry.known_up_to is not None and prompt > entry.known_up_to:
        return None
    total = (
        tokens.input * entry.input
        + tokens.output * entry.output
        + tokens.cache_read * entry.cache_read
        + tokens.write_5m * entry.write_5m
        + tokens.write_1h * entry.write_1h
    )
    divisor = 2 * MILLION if tokens.service_tier == "batch" else MILLION
    return money_in((total + divisor // 2) // divisor)  # the only rounding, half up


def released(*names: str) -> tuple[str, ...]:
    """A model by its name, also with a date or `-latest`; not a later version, whose name begins alike."""
    return tuple(
        pattern for name in names for pattern in (name, f"{name}-latest", f"{name}-20[0-9][0-9]????")
    )


def cents(models: tuple[str, ...], input: int, output: int) -> Price:
    """From list prices in cents, with the usual ratios for the cache: a tenth, five quarters, double."""
    unit = NANO // 100
    return Price(
        models, input * unit, output * unit, input * unit // 10, input * unit * 5 // 4, input * unit * 2
    )


LONG_PROMPT = 200_000
LONG_PROMPTS_FLAT = micros("2026-04-01")  # by then, prompts of any length cost the same on the 4.6 models
HAIKU_3_5_CHEAPER = micros("2024-12-03")
OPUS_SINCE_4_5 = released("claude-opus-4-5", "claude-opus-4-7", "claude-opus-4-8", "claude-opus-5")

PRICES: tuple[Price, ...] = (
    cents(released("claude-fable-5"), 1000, 5000),
    replace(cents(released("claude-opus-5-5"), 400, 2000), cache_read=NANO // 5),
    cents(OPUS_SINCE_4_5, 500, 2500),
    replace(cents(released("claude-opus-4-6"), 500, 2500), until=LONG_PROMPTS_FLAT, known_up_to=LONG_PROMPT),
    replace(cents(released("claude-opus-4-6"), 500, 2500), since=LONG_PROMPTS_FLAT),
    cents(released("claude-opus-4", "claude-opus-4-0", "claude-opus-4-1", "claude-3-opus"), 1500, 7500),
    cents(released("claude-sonnet-5", "claude-sonnet-5-5"), 200, 1000),
    replace(
        cents(released("claude-sonnet-4-6"), 300, 1500), until=LONG_PROMPTS_FLAT, known_up_to=LONG_PROMPT
    ),
    replace(cents(released("claude-sonnet-4-6"), 300, 1500), since=LONG_PROMPTS_FLAT),
    replace(
        cents(released("claude-sonnet-4", "claude-sonnet-4-0", "claude-sonnet-4-5"), 300, 1500),
        known_up_to=LONG_PROMPT,
    ),
    cents(released("claude-3-7-sonnet", "claude-3-5-sonnet", "claude-3-sonnet"), 300, 1500),
    cents(released("claude-haiku-4-5"), 100, 500),
    replace(cents(released("claude-3-5-haiku"), 100, 500), until=HAIKU_3_5_CHEAPER),
    replace(cents(released("claude-3-5-haiku"), 80, 400), since=HAIKU_3_5_CHEAPER),
    replace(
        cents(released("claude-3-haiku"), 25, 125),
        cache_read=NANO * 3 // 100,
        write_5m=NANO * 3 // 10,
        write_1h=NANO // 2,
    ),
)
