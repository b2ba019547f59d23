"""The one error that is the user's: told in one line, never with a traceback."""


class UserMistake(Exception):
    """`message` says what was wrong, with the value; `hint` says what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} — {self.hint}"
