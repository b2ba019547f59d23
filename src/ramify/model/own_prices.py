"""A user's own prices, read from JSON. They come before the built-in table: the first entry that fits counts.

    [{"model": "claude-opus-*", "from": "2026-01-01", "to": "2026-07-01",
      "input": 5, "output": 25, "cache_read": 0.5, "write_5m": 6.25, "write_1h": 10}]

Prices are dollars per million tokens. `model` is a name with * and ?, or a list of such names. `from` counts,
`to` no longer does; both may be left out, and so may the cache prices: 0.1, 1.25 and 2 times the input then.
"""

import json
from decimal import Decimal, InvalidOperation

from ramify.model.mistake import UserMistake
from ramify.model.moment import micros
from ramify.model.prices import NANO, Price

RATIOS = {"cache_read": Decimal("0.1"), "write_5m": Decimal("1.25"), "write_1h": Decimal(2)}
FIELDS = {"model", "from", "to", "input", "output", *RATIOS}
HIGHEST = Decimal(1_000_000)

Entry = dict[str, object]


def parse_prices(raw: bytes) -> tuple[Price, ...]:
    try:
        document = json.loads(raw, parse_float=Decimal, parse_int=Decimal)
    except (ValueError, RecursionError, InvalidOperation) as error:
        raise UserMistake(f"The price file is no JSON: {error}", "Correct it at that place") from None
    if not isinstance(document, list):
        raise UserMistake(
            f"The price file holds {described(document)}, not a list",
            'Write a list of entries: [{"model": "…", "input": 5, "output": 25}]',
        )
    return tuple(entry_price(entry, number) for number, entry in enumerate(document, 1))


def entry_price(entry: object, number: int) -> Price:
    if not isinstance(entry, dict):
        raise mistake(
            number, f"is {described(entry)}", 'Write an object: {"model": "…", "input": 5, "output": 25}'
        )
    unknown = sorted(set(entry) - FIELDS)
    if unknown:
        raise mistake(
            number, f'has an unknown field "{unknown[0]}"', f"Known fields: {', '.join(sorted(FIELDS))}"
        )
    since = moment(entry, "from", number)
    until = moment(entry, "to", number)
    if until is not None and until <= (since or 0):
        raise mistake(
            number, f'ends ("to": "{entry["to"]}") before it begins', "Swap or correct the two dates"
        )
    dollars = amount(entry, "input", number)
    cache = {
        name: amount(entry, name, number) if name in entry else dollars * ratio
        for name, ratio in RATIOS.items()
    }
    return Price(
        models(entry, number),
        nano(dollars),
        nano(amount(entry, "output", number)),
        nano(cache["cache_read"]),
        nano(cache["write_5m"]),
        nano(cache["write_1h"]),
        since or 0,
        until,
    )


def models(entry: Entry, number: int) -> tuple[str, ...]:
    value = entry.get("model")
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise mistake(number, f'has "model": {described(value)}', "Write a model's name, * and ? allowed")
    return tuple(names)


def moment(entry: Entry, name: str, number: int) -> int | None:
    value = entry.get(name)
    if value is None:
        return None
    try:
        return micros(value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        raise mistake(
            number, f'has "{name}": {described(value)}', "Write a date such as 2026-01-31"
        ) from None


def amount(entry: Entry, name: str, number: int) -> Decimal:
    value = entry.get(name)
    if not isinstance(value, Decimal) or not 0 <= value <= HIGHEST:
        said = described(value) if name in entry else "nothing"
        raise mistake(
            number, f'has {said} as "{name}"', "Write dollars per million tokens, such as 3 or 0.25"
        )
    return value


def nano(dollars: Decimal) -> int:
    return round(dollars * NANO)


def mistake(number: int, wrong: str, hint: str) -> UserMistake:
    return UserMistake(f"Entry {number} of the price file {wrong}", hint)


def described(value: object) -> str:
    return json.dumps(value, default=float, ensure_ascii=False)[:60]
