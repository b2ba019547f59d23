"""A user's mistake: what was wrong, with the value, and what to do about it. Anything else is our bug."""


class UserMistake(Exception):
    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} — {self.hint}" if self.hint else self.message


class Conflict(UserMistake):
    """What is asked for does not fit how things stand."""


class NotYours(UserMistake):
    """It is about a project, or about all of them, and whoever asks has other ones."""


class Refused(UserMistake):
    """Somebody else, who had to be asked, says no or nothing."""


class Unreachable(UserMistake):
    """A store that does not answer, right as its address may be: who has time tries again."""
