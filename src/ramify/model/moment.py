"""Times: microseconds since 1970 inside, ISO 8601 in UTC with microseconds outside."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(at: int | None) -> str | None:
    if not at:
        return None
    return (EPOCH + timedelta(microseconds=at)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def micros(text: str) -> int:
    """Raises ValueError for what is no ISO 8601 time; one without a zone is taken as UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1)
