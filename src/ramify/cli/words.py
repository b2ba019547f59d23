"""Figures as people read them: 2m 14s, 12.3k, $0.42. No colours, no clock of its own."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

Record = Mapping[str, Any]


def duration(milliseconds: float | None) -> str:
    if milliseconds is None:
        return ""
    if milliseconds < 1000:
        return f"{milliseconds:.0f}ms"
    seconds = milliseconds / 1000
    if seconds < 59.95:
        return f"{seconds:.1f}s" if seconds < 9.95 else f"{seconds:.0f}s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {seconds:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02d}m" if hours < 48 else f"{hours // 24}d {hours % 24:02d}h"


def count(number: int | float | None) -> str:
    """12 · 1.2k · 12.3k · 123k · 1.2M"""
    if number is None:
        return ""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size * 0.9995:
            scaled = number / size
            return f"{scaled:.0f}{letter}" if scaled >= 99.95 else f"{scaled:.1f}{letter}"
    return str(round(number))


def money(dollars: float | None) -> str:
    if dollars is None:
        return ""
    if 0 < dollars < 0.01:
        return "<1¢"
    return f"${dollars:,.2f}" if dollars < 1000 else f"${dollars:,.0f}"


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def tokens(usage: Record | None) -> int | None:
    """All that went in and out; nothing for what was never asked of a model."""
    if not usage or not usage.get("calls"):
        return None
    return sum(usage.get(part) or 0 for part in ("input", "output", "cache_read", "cache_write"))


def tokens_in(usage: Record | None) -> int | None:
    if not usage or not usage.get("calls"):
        return None
    return sum(usage.get(part) or 0 for part in ("input", "cache_read", "cache_write"))


def tokens_out(usage: Record | None) -> int | None:
    return usage.get("output") if usage and usage.get("calls") else None


def cost(usage: Record | None) -> str:
    """A question mark where a call has no known price: it is not nothing."""
    if not usage or not usage.get("calls"):
        return ""
    return "?" if usage.get("cost_usd") is None else money(usage["cost_usd"])


def moment(text: Any) -> datetime | None:
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def age(text: Any, now: datetime) -> str:
    """How long ago, one unit: 8s, 12m, 3h, 2d; the date for what is older than a month."""
    then = moment(text)
    if then is None:
        return ""
    seconds = max(0, int((now - then).total_seconds()))
    for size, letter in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{then:%Y-%m-%d}" if seconds > 30 * 86400 else f"{seconds // size}{letter}"
    return f"{seconds}s"


def clock(text: Any, now: datetime) -> str:
    """The reader's own time of day (`now` carries the zone); the date too when it is another day."""
    then = moment(text)
    if then is None:
        return ""
    local = then.astimezone(now.tzinfo)
    return f"{local:%H:%M:%S}" if local.date() == now.date() else f"{local:%Y-%m-%d %H:%M:%S}"


def elapsed(record: Record, now: datetime) -> str:
    """How long it took; for what still runs, how long so far."""
    took = record.get("duration_ms")
    if took is None and (ended := moment(record.get("closed"))) and (began := moment(record.get("opened"))):
        took = (ended - began).total_seconds() * 1000
    if took is not None:
        return duration(took)
    opened = moment(record.get("opened") or record.get("timestamp"))
    if opened is None or record.get("status") not in OPEN:
        return ""
    return duration(max(0.0, (now - opened).total_seconds() * 1000)) + "…"


OPEN = frozenset({"working", "running", "submitted", "input-required", "auth-required"})
