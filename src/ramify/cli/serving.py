"""The server in the foreground, on the user's store or on a throw-away one."""

from ramify.cli.contract import application
from ramify.cli.parser import Parser, add_settings
from ramify.cli.session import Part, Session


def serve_options(parser: Parser) -> None:
    add_settings(parser, "store", "address", "capture")


def demo_options(parser: Parser) -> None:
    add_settings(parser, "address")


def serve(session: Session) -> int:
    return application().serve(session.settings)


def demo(session: Session) -> int:
    return application().demo(session.settings)


FAMILY = {"serve": Part(serve_options, serve), "demo": Part(demo_options, demo)}
