"""`ramify mcp`: the questions for agents, as an MCP server on standard input and output."""

import sys
from contextlib import ExitStack

from ramify.cli.contract import Opened
from ramify.cli.parser import Parser, add_settings
from ramify.cli.session import Part, Session
from ramify.mcp.tools import tools_over
from ramify.mcp.wire import serve
from ramify.query.service import Questions


def options(parser: Parser) -> None:
    add_settings(parser, "store", "project")


def speak(session: Session) -> int:
    if sys.stdin.isatty():
        session.output.say("speaking MCP on standard input and output: an agent's client starts this, for example")
        session.output.say("  claude mcp add ramify -- ramify mcp")
    with ExitStack() as stack:
        found: list[tuple[Opened, Questions]] = []
        project = session.settings.project  # whoever asks may not choose another

        def questions() -> Questions:
            if not found:
                store = stack.enter_context(session.opened())
                found.append((store, store.questions.within(frozenset({project})) if project else store.questions))
            return found[0][1]

        def noted(act: str, id: str) -> None:
            session.note_reading(found[0][0], act, id, way="mcp")

        serve(sys.stdin.buffer, write, tools_over(questions, noted))
    return 0


def write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


FAMILY = {"mcp": Part(options, speak)}
