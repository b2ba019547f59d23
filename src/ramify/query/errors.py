"""Three different clear answers: nothing has this id; several things have it; the question itself is wrong."""

from typing import Any


class NotFound(LookupError):
    """Nothing has this id; `hint` says what lists those that there are, where that is not what lists tasks and calls."""

    def __init__(self, message: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Ambiguous(LookupError):
    """An id that fits several things; `candidates` lists them, Ramify's id first."""

    def __init__(self, message: str, candidates: list[dict[str, Any]]) -> None:
        super().__init__(message)
        self.candidates = candidates


class BadQuestion(ValueError):
    """The asker's mistake: says what was wrong, with the value, and what to do."""
