"""The server in the foreground, on the user's store or on a throw-away one."""

import socket
import sys
from typing import Any

from msgspec.structs import replace
from rich.console import Group
from rich.live import Live

from ramify.cli.contract import application
from ramify.cli.draw_tree import draw_tree
from ramify.cli.output import Output
from ramify.cli.parser import Parser, add_settings
from ramify.cli.session import Part, Session
from ramify.settings import Settings


def serve_options(parser: Parser) -> None:
    add_settings(parser, "store", "address", "capture", "watch")


def demo_options(parser: Parser) -> None:
    add_settings(parser, "address")


def serve(session: Session) -> int:
    return application().serve(session.settings)


def demo(session: Session) -> int:
    settings = session.settings
    if session.arguments.port is None and taken(settings):
        settings = replace(settings, port=0)  # any free one: a demonstration must not fail for that
    if not session.output.console.is_terminal:
        return application().demo(settings, LastPicture(session.output))
    with Live(console=session.output.console, auto_refresh=False) as live:
        return application().demo(settings, Film(session.output, live))


def taken(settings: Settings) -> bool:
    try:
        with socket.create_connection((settings.host, settings.port), timeout=0.5):
            return True
    except OSError:
        return False


class Film:
    """On a terminal: drawn again as it grows."""

    def __init__(self, output: Output, live: Live) -> None:
        self.output = output
        self.live = live

    def grow(self, tree: dict[str, Any]) -> None:
        self.live.update(Group(*draw_tree(tree, self.output.width, self.output.clock())), refresh=True)

    def over(self) -> None:
        self.live.stop()


class LastPicture:
    """Where nobody watches: once, when all is done."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.tree: dict[str, Any] | None = None

    def grow(self, tree: dict[str, Any]) -> None:
        self.tree = tree

    def over(self) -> None:
        if self.tree is not None:
            self.output.lines(draw_tree(self.tree, self.output.width, self.output.clock()))
            sys.stdout.flush()


FAMILY = {"serve": Part(serve_options, serve), "demo": Part(demo_options, demo)}
