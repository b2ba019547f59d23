"""Times: microseconds since 1970 inside, ISO 8601 in UTC with microseconds outside."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999  # of the years that can be written: 1 and 9999


def iso(at: int | None) -> str | None:
    """What lies outside of the calendar is shown at its edge: one wrong date must not take a whole list with it."""
    if not at:
        return None
    at = min(max(at, FIRST), LAST)
    return (EPOCH + timedelta(microseconds=at)).isoformat(timespec="microseconds")[:-6] + "Z"  # years before 1000 as well with four digits


def micros(text: str) -> int:
    """Raises ValueError for what is no ISO 8601 time; one without a zone is taken as UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1)
