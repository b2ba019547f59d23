"""The error that is a user's to solve. Anything else that is raised is our bug and keeps its traceback."""


class UserMistake(Exception):
    """`message` says what was wrong, with the value; `hint` says what to do next."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message
