"""`ramify mcp`: the questions for agents, as an MCP server on standard input and output."""

import sys
from contextlib import ExitStack

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
        found: list[Questions] = []
        project = session.settings.project  # whoever asks may not choose another

        def questions() -> Questions:
            if not found:
                opened = stack.enter_context(session.opened()).questions
                found.append(opened.within(frozenset({project})) if project else opened)
            return found[0]

        serve(sys.stdin.buffer, write, tools_over(questions))
    return 0


def write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


FAMILY = {"mcp": Part(options, speak)}
