"""The questions, by name. Answers are plain dictionaries in the shapes that the API and the terminal show."""

from typing import Any

Answer = dict[str, Any]


class NotFound(LookupError):
    """Nothing has this id."""


class Ambiguous(LookupError):
    """An id that fits several things; `candidates` lists them, Ramify's id first."""

    def __init__(self, message: str, candidates: list[Answer]) -> None:
        super().__init__(message)
        self.candidates = candidates


class BadQuestion(ValueError):
    """The asker's mistake: says what was wrong, with the value, and what to do."""


class Questions:
    """`tree=True` means with everything under it. Lists answer `{"items": [...], "next": cursor or None}`."""

    def seq(self) -> int: raise NotImplementedError
    def conversations(self, *, limit: int = 50, cursor: str | None = None, project: str | None = None) -> Answer: raise NotImplementedError
    def conversation(self, id: str) -> Answer: raise NotImplementedError
    def tasks(self, *, roots: bool = False, ids: list[str] | None = None, conversation: str | None = None, status: str | None = None,
              project: str | None = None, limit: int = 50, cursor: str | None = None) -> Answer: raise NotImplementedError
    def task(self, id: str) -> Answer: raise NotImplementedError
    def calls(self, *, task: str | None = None, conversation: str | None = None, kind: str | None = None, status: str | None = None,
              project: str | None = None, limit: int = 50, cursor: str | None = None) -> Answer: raise NotImplementedError
    def call(self, id: str) -> Answer: raise NotImplementedError
    def body(self, id: str, side: str) -> tuple[bytes, list[tuple[str, str]]]: raise NotImplementedError
    def show(self, id: str) -> Answer: raise NotImplementedError  # whatever ID is: {"kind": "task|call|tool|conversation", ...}
    def tree(self, id: str) -> Answer: raise NotImplementedError
    def skeleton(self, id: str) -> Answer: raise NotImplementedError
    def subtasks(self, id: str, *, tree: bool = False, limit: int = 50, cursor: str | None = None) -> Answer: raise NotImplementedError
    def tools(self, id: str, *, tree: bool = False, limit: int = 50, cursor: str | None = None) -> Answer: raise NotImplementedError
    def tool(self, call_id: str) -> Answer: raise NotImplementedError
    def messages(self, id: str, *, tree: bool = False, limit: int = 50, cursor: str | None = None) -> Answer: raise NotImplementedError
    def reasoning(self, id: str, *, tree: bool = False, limit: int = 50, cursor: str | None = None) -> Answer: raise NotImplementedError
    def why(self, id: str) -> Answer: raise NotImplementedError
    def search(self, text: str, *, limit: int = 50, cursor: str | None = None) -> Answer: raise NotImplementedError
    def stats(self) -> Answer: raise NotImplementedError
