"""`follow`: a task of an A2A agent and, recursively, every child it refers to, drawn as the tree grows."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from rich.console import Group
from rich.live import Live

from ramify.cli.client import Server, Unreachable
from ramify.cli.draw_tree import draw_tree
from ramify.cli.marks import glyph
from ramify.cli.output import Output, make_console
from ramify.cli.parser import Parser, add_color, add_settings
from ramify.cli.safe_text import one_line
from ramify.cli.session import Part, Session
from ramify.cli.settling import wait_until_settled
from ramify.model.mistake import UserMistake
from ramify.query.service import NotFound
from ramify.setting_readers import read_address
from ramify.settings import Settings

DETACHED = 130
REDRAW = 0.1  # seconds: many changes are drawn at once
Shown = dict[str, Any]
Tree = Callable[[], Shown]


def follow_options(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL", help="the agent: its base address, its card, or where it is called")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--say", metavar="TEXT", help="send this to the agent, and follow what comes of it")
    what.add_argument("--task", metavar="ID", help="follow this task, by the id that the agent gave it")
    parser.add_argument(
        "--resubscribe",
        action="store_true",
        help="watch tasks of 0.3 agents too, instead of reading them again and again: such agents then store parts twice",
    )
    parser.add_argument(
        "--header", metavar="NAME=VALUE", action="append", default=[], help="send this with every request to that agent"
    )
    add_settings(parser, "store", "address", "recording", "agents")
    parser.add_argument("--json", action="store_true", help="the final tree as one JSON document on standard output")
    add_color(parser)


def follow(session: Session) -> int:
    wish = {
        "url": address_of(session.arguments.url),
        "task": session.arguments.task or "",
        "words": session.arguments.say or "",
        "resubscribe": session.arguments.resubscribe,
        "headers": headers_of(session.arguments.header),
    }
    stage = stage_of(session.output)
    with session.opened(write=True, create=True) as store:
        try:
            done = store.follow(session.settings, wish, stage)
        except NotFound as problem:
            stage.over()
            session.output.say(f"ramify: {problem}")
            return 1
        except KeyboardInterrupt:
            stage.over()
            session.output.say("ramify: detached; the tasks go on")
            if session.output.json and stage.root:
                session.output.document(final_tree(session, store.questions.tree, stage.root))
            return DETACHED
        finally:
            stage.over()
        if done["reply"]:
            session.output.say(done["reply"])
        if session.output.json:
            session.output.document(final_tree(session, store.questions.tree, done["id"]))
    return 0


def address_of(text: str) -> str:
    try:
        return read_address(text)
    except ValueError as problem:
        raise UserMistake(f"the URL {problem}, not {text!r}", "for example ramify follow http://127.0.0.1:9000 --say hello") from None


def headers_of(given: list[str]) -> dict[str, str]:
    headers = {}
    for line in given:
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise UserMistake(f"--header must be NAME=VALUE, not {one_line(name)!r}", "for example --header authorization='Bearer …'")
        headers[name.strip()] = value.strip()
    return headers


def final_tree(session: Session, ask: Callable[[str], Shown], id: str) -> Shown:
    """From wherever it was stored: a server takes what it is told at once and stores it a moment later."""
    server = server_at(session.settings)
    try:
        if server.health() is not None:
            wait_until_settled(server)
        if session.settings.server:
            answer: Shown = server.ask(f"tasks/{quote(id, safe='')}/tree")
            return answer
    except Unreachable as problem:
        session.output.say(f"ramify: {problem}")
    return ask(id)


def server_at(settings: Settings) -> Server:
    server = Server(settings)
    server.address = settings.server or server.address
    return server


# -- where it is shown --------------------------------------------------------------------------------------------------


class Lines:
    """Not a terminal: one line for every change that somebody would want to know of."""

    def __init__(self) -> None:
        self.root = ""
        self.asks: Callable[[Shown], Awaitable[str]] | None = None
        self._said: dict[str, str] = {}
        self._asked: set[str] = set()

    def see(self, task: Shown, tree: Tree) -> None:
        if not task["depth"]:
            self.root = f"a2a:task:{task['agent']}/{task['id']}"
        line = line_of(task)
        if self._said.get(task["id"]) != line:
            self._said[task["id"]] = line
            say(line, task["depth"])
        if task["status"] in ("input-required", "auth-required") and task["question"] not in self._asked:
            self._asked.add(task["question"])
            say(f"{task['agent']} asks: {task['question']}", task["depth"] + 1)

    def over(self) -> None:
        """Every line is out."""


def say(text: str, depth: int) -> None:
    sys.stderr.write("   " * depth + one_line(text) + "\n")


def line_of(task: Shown) -> str:
    shown = glyph(task["status"]).plain
    where = f"unresolved, not known to {', '.join(task['asked'])}" if task["asked"] else task["status"]
    if task["unresolved"] and not task["asked"]:
        shown, where = "·", "named"
    words = (shown, task["agent"] or "", task["title"], where, *task["flags"], f"({task['id']})")
    return " ".join(word for word in words if word)


class Film:
    """A terminal: the tree, drawn again as it grows. Questions are asked below it, one at a time."""

    def __init__(self, output: Output) -> None:
        self.root = ""
        self.asks: Callable[[Shown], Awaitable[str]] | None = self._ask if sys.stdin.isatty() else None
        self._output = output
        self._console = make_console(sys.stderr, output.color)
        self._live = Live(console=self._console, auto_refresh=False)
        self._turn = asyncio.Lock()
        self._tree: Tree | None = None
        self._planned = False
        self._live.start()

    def see(self, task: Shown, tree: Tree) -> None:
        if not task["depth"]:
            self.root = f"a2a:task:{task['agent']}/{task['id']}"
        self._tree = tree
        if not self._planned:
            self._planned = True
            asyncio.get_running_loop().call_later(REDRAW, self._draw)

    def _draw(self) -> None:
        self._planned = False
        if self._tree is not None and self._live.is_started:
            drawn = draw_tree(self._tree(), self._console.width, self._output.clock())
            self._live.update(Group(*drawn), refresh=True)

    async def _ask(self, task: Shown) -> str:
        async with self._turn:
            self._draw()
            self._live.stop()
            self._output.say(f"{task['agent']} asks: {task['question'] or 'what now?'}")
            sys.stderr.write("> ")
            sys.stderr.flush()
            try:
                return (await typed_line()).strip()
            finally:
                self._live.start()

    def over(self) -> None:
        self._draw()
        self._live.stop()


async def typed_line() -> str:
    """What a person types, given up as soon as nobody waits for it any more."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        loop.remove_reader(sys.stdin)
        if not typed.done():
            typed.set_result(sys.stdin.readline())

    loop.add_reader(sys.stdin, read)
    try:
        return await typed
    finally:
        loop.remove_reader(sys.stdin)


def stage_of(output: Output) -> Lines | Film:
    return Film(output) if sys.stderr.isatty() else Lines()


FAMILY = {"follow": Part(follow_options, follow)}
