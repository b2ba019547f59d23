"""What the command line needs of the rest: the surface of `ramify.app`, and nothing beside it."""

import threading
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from ramify.query.service import Questions
from ramify.settings import Settings

Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is; 0 while that is not known."""

Tell = Callable[[dict[str, Any]], None]
"""Called with what was just stored."""


class Audience(Protocol):
    """Who sees tasks being followed. `asks` is None where nobody is there to answer questions."""

    asks: Callable[[dict[str, Any]], Awaitable[str]] | None

    def see(self, task: dict[str, Any], tree: Callable[[], dict[str, Any]]) -> None: ...


class Opened(Protocol):
    """A store that is open."""

    questions: Questions

    def close(self) -> None: ...
    def link(self, child: str, parent: str) -> dict[str, Any]: ...
    def unlink(self, child: str) -> dict[str, Any]: ...
    def withdraw(self, child: str) -> dict[str, Any]: ...
    def import_paths(self, paths: list[Path], format: str, progress: Progress, zone: str = "") -> dict[str, Any]: ...
    def watch(self, roots: list[Path], tell: Tell, stopping: threading.Event) -> None: ...
    def follow(self, settings: Settings, wish: dict[str, Any], audience: Audience) -> dict[str, Any]: ...
    def act(self, settings: Settings, what: str, id: str, wish: dict[str, Any]) -> dict[str, Any]: ...
    def listen(self, wanted: dict[str, Any], zone: str, tell: Tell, stopping: threading.Event) -> dict[str, Any]: ...
    def rebuild(self, dry_run: bool, progress: Progress) -> dict[str, Any]: ...
    def reconcile(self, agents: dict[str, str]) -> dict[str, Any]: ...
    def doctor(self) -> list[dict[str, Any]]: ...


class Opener(Protocol):
    def open(
        self, store: str | None, *, project: str | None = None, create: bool = True, write: bool = False
    ) -> Opened: ...


class Picture(Protocol):
    """Where a tree is drawn while it grows."""

    def grow(self, tree: dict[str, Any]) -> None: ...
    def over(self) -> None: ...


class Application(Protocol):
    Ramify: Opener

    def watched(self, folders: Sequence[str]) -> list[Path]: ...
    def serve(self, settings: Settings) -> int: ...
    def report_hook(self, settings: Settings, body: bytes, at: int) -> None: ...
    def demo(self, settings: Settings, picture: Picture) -> int: ...


def application() -> Application:
    """Imported on use: `ramify --help` and a mistyped option need no store and no server."""
    return cast(Application, import_module("ramify.app"))
