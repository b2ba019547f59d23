"""What came of one run."""

from msgspec import Struct, field


class Report(Struct):
    checked: int = 0
    corrected: int = 0
    unchanged: int = 0
    missing: int = 0
    anomalies: int = 0
    errors: list[dict[str, str]] = field(default_factory=list)
    unnamed: list[dict[str, str]] = field(default_factory=list)  # agents that cannot be asked until somebody names them
    startedAt: str | None = None
    endedAt: str | None = None
