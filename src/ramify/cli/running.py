"""`run`: a program, captured; then the tree of what it did. The exit status is the program's own."""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from ramify.cli.background import Background
from ramify.cli.child import run_child
from ramify.cli.client import Server, Unreachable
from ramify.cli.draw_tree import draw_tree, summary
from ramify.cli.output import make_console
from ramify.cli.parser import Parser, add_color, add_settings
from ramify.cli.safe_text import one_line
from ramify.cli.session import Part, Session
from ramify.cli.settling import wait_until_settled
from ramify.cli.telemetry import telemetry
from ramify.cli.words import moment
from ramify.model.mistake import UserMistake
from ramify.settings import BY_NAME, SETTINGS, is_loopback
from ramify.storage.sealing import without_keys

BASE = "ANTHROPIC_BASE_URL"
OPENAI = "OPENAI_BASE_URL"
VERSION = "/v1"  # stands at the end of the one address, and not of the other
MOST_ROOTS = 20
NOTHING_SEEN = f"no traffic was seen — does the program use {BASE} or {OPENAI}?"


class Answering(NamedTuple):
    """A server that answers, where its log stood before, and whether it goes when the program has ended."""

    seq: int
    goes: bool


def run_options(parser: Parser) -> None:
    add_settings(parser, "store", "address", "capture", "agents", "asking")
    add_color(parser)
    parser.add_argument("--telemetry", action="store_true", help="have the Claude client export its own traces and logs here, too")
    parser.add_argument(
        "command",
        metavar="COMMAND",
        nargs=argparse.REMAINDER,
        help="the program and its own options, after --",
    )


def run(session: Session) -> int:
    command = wanted(session.arguments.command)
    server = Server(session.settings)
    with serving(session, server, os.environ) as answering:
        began = datetime.now(UTC)
        status = run_child(command, surroundings(session, server.address))
        try:
            report(session, server, answering, began)
        except Unreachable as problem:
            session.output.say(f"ramify: {problem}; nothing to show")
    return status


def wanted(words: list[str]) -> list[str]:
    command = words[1:] if words[:1] == ["--"] else words
    if not command:
        raise UserMistake("ramify run needs a COMMAND", "for example ramify run -- claude")
    if shutil.which(command[0]) is None:
        raise UserMistake(f"there is no program {command[0]!r}", "check the name and your PATH")
    return command


def surroundings(session: Session, address: str) -> dict[str, str]:
    """Exporting costs a client a moment when it ends, so that is for whoever asks for it."""
    told = telemetry(os.environ, address) if session.arguments.telemetry else {}
    return {**captured(os.environ, address), **told}


def captured(environment: Mapping[str, str], address: str) -> dict[str, str]:
    """What a client needs; custom headers and all else are the user's own."""
    before = environment.get(OPENAI, "").rstrip("/")
    version = VERSION if not before or before.endswith(VERSION) or same_place(before, address) else ""
    own = without_keys(environment)
    return {**own, BASE: address, OPENAI: f"{address}/openai{version}"}


@contextmanager
def serving(session: Session, server: Server, environment: Mapping[str, str]) -> Iterator[Answering]:
    """A server that answers: the one that runs, else one of our own for as long as the program lives."""
    upstream = upstream_of(session, "anthropic_upstream", BASE, server.address, environment)
    openai = upstream_of(session, "openai_upstream", OPENAI, server.address, environment)
    health = server.health()
    if health is not None:
        for unused in filter(None, (upstream, openai)):
            session.output.say(f"ramify: a server runs already, so its own upstream is used, not {unused}")
        yield Answering(int(health["seq"]), goes=False)
        return
    with Background(server_environment(session.arguments, upstream, openai, environment)) as background:
        yield Answering(int(background.wait(server)["seq"]), goes=True)


def server_environment(
    arguments: argparse.Namespace, upstream: str | None, openai: str | None, environment: Mapping[str, str]
) -> dict[str, str]:
    """Our flags as the server's variables: a token on its command line could be read by everybody."""
    given = {setting.variable: getattr(arguments, setting.name, None) for setting in SETTINGS}
    given["RAMIFY_CONFIG"] = arguments.config
    given[BY_NAME["anthropic_upstream"].variable] = arguments.anthropic_upstream or upstream
    given[BY_NAME["openai_upstream"].variable] = arguments.openai_upstream or openai
    return {**environment, **{name: value for name, value in given.items() if value is not None}}


def upstream_of(session: Session, setting: str, base: str, address: str, environment: Mapping[str, str]) -> str | None:
    """Where the program would have gone without us, unless a setting says otherwise."""
    if getattr(session.settings, setting) != BY_NAME[setting].default:
        return None
    before = environment.get(base, "").rstrip("/")
    before = before.removesuffix(VERSION) if base == OPENAI else before
    return before if before and not same_place(before, address) else None


def same_place(one: str, other: str) -> bool:
    """Forwarding to ourselves would go round in a circle, by whatever name this machine is called."""
    left, right = urlsplit(one), urlsplit(other)
    return left.port == right.port and is_loopback(left.hostname or "") and is_loopback(right.hostname or "")


def report(session: Session, server: Server, answering: Answering, began: datetime) -> None:
    """On standard error: standard output belongs to the program."""
    if wait_until_settled(server) == answering.seq:
        session.output.say(f"ramify: {NOTHING_SEEN}")
        return
    console = make_console(sys.stderr, session.output.color)
    roots = roots_since(server, began)
    for root in reversed(roots):
        answer = server.ask(f"tasks/{quote(root['id'], safe='')}/tree")
        console.print()
        for line in draw_tree(answer, console.width, session.output.clock()):
            console.print(line, no_wrap=True, crop=True)
        console.print(summary(answer), style="dim")
    console.print(one_line(next_step(server, answering, roots)), style="blue")


def next_step(server: Server, answering: Answering, roots: list[dict[str, Any]]) -> str:
    """Where to look further: an address only if somebody will answer there."""
    if answering.goes:
        return f"see more: ramify messages {roots[0]['id']}" if roots else "see more: ramify calls"
    place = f"/task/{quote(roots[0]['id'], safe='')}" if len(roots) == 1 else ""
    return f"{server.address}{place}"


def roots_since(server: Server, began: datetime) -> list[dict[str, Any]]:
    """Newest first, as the server lists them."""
    found = server.ask("tasks", roots="true", limit=MOST_ROOTS)["items"]
    return [task for task in found if (opened := moment(task.get("opened"))) and opened >= began]


FAMILY = {"run": Part(run_options, run)}
