"""The server in the foreground, on the user's store or on a throw-away one."""

from rich.console import Group
from rich.text import Text

from ramify.cli.contract import application
from ramify.cli.draw_tree import draw_tree
from ramify.cli.parser import Parser, add_settings
from ramify.cli.session import Part, Session


def serve_options(parser: Parser) -> None:
    add_settings(parser, "store", "address", "capture")


def demo_options(parser: Parser) -> None:
    add_settings(parser, "address")


def serve(session: Session) -> int:
    return application().serve(session.settings)


def demo(session: Session) -> int:
    """The tree is drawn again as it grows; where nobody watches a terminal, once at the end."""
    from rich.live import Live

    output = session.output
    if not output.console.is_terminal:
        pictures: list[list[Text]] = []
        status = application().demo(
            session.settings, lambda tree: pictures.append(draw_tree(tree, output.width, output.clock()))
        )
        output.lines(pictures[-1] if pictures else [])
        return status
    with Live(console=output.console, auto_refresh=False) as live:
        return application().demo(
            session.settings,
            lambda tree: live.update(Group(*draw_tree(tree, output.width, output.clock())), refresh=True),
        )


FAMILY = {"serve": Part(serve_options, serve), "demo": Part(demo_options, demo)}
