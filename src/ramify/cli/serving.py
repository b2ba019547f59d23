"""The server in the foreground, on the user's store or on a throw-away one."""

import os
import socket
import sys
import webbrowser
from collections.abc import Mapping
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
    add_settings(parser, "store", "address", "capture", "agents", "asking", "watch")


def demo_options(parser: Parser) -> None:
    add_settings(parser, "address")
    parser.add_argument("--no-browser", action="store_true", help="do not open the page; its address is printed")


def serve(session: Session) -> int:
    return application().serve(session.settings)


def demo(session: Session) -> int:
    settings = session.settings
    if session.arguments.port is None and taken(settings):
        settings = replace(settings, port=0)  # any free one: a demonstration must not fail for that
    if not session.output.console.is_terminal:
        return application().demo(settings, LastPicture(session.output))
    opens = has_screen(os.environ) and not session.arguments.no_browser
    with Live(console=session.output.console, auto_refresh=False) as live:
        return application().demo(settings, Film(session.output, live, opens))


def has_screen(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a browser can show itself here. Without a screen, some would take over the terminal instead."""
    if "SSH_CONNECTION" in environment:
        return False
    return platform in ("darwin", "win32") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(environment))


def taken(settings: Settings) -> bool:
    try:
        with socket.create_connection((settings.host, settings.port), timeout=0.5):
            return True
    except OSError:
        return False


class Film:
    """On a terminal: drawn again as it grows, and shown in the browser where there is one."""

    def __init__(self, output: Output, live: Live, opens: bool) -> None:
        self.output = output
        self.live = live
        self.opens = opens

    def begin(self, page: str) -> None:
        if self.opens:
            webbrowser.open(page)

    def grow(self, tree: dict[str, Any]) -> None:
        self.live.update(Group(*draw_tree(tree, self.output.width, self.output.clock())), refresh=True)

    def over(self) -> None:
        self.live.stop()


class LastPicture:
    """Where nobody watches: once, when all is done."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.tree: dict[str, Any] | None = None

    def begin(self, page: str) -> None:
        """Nobody watches: the address was printed."""

    def grow(self, tree: dict[str, Any]) -> None:
        self.tree = tree

    def over(self) -> None:
        if self.tree is not None:
            self.output.lines(draw_tree(self.tree, self.output.width, self.output.clock()))
            sys.stdout.flush()


FAMILY = {"serve": Part(serve_options, serve), "demo": Part(demo_options, demo)}
