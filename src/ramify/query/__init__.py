"""The questions, by name."""

from ramify.query.errors import Ambiguous, BadQuestion, NotFound
from ramify.query.service import Answer, Questions

__all__ = ["Ambiguous", "Answer", "BadQuestion", "NotFound", "Questions"]
