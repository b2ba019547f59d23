"""The live feed: one line a change, or one tree drawn again and again."""

import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from rich.console import Group
from rich.text import Text

from ramify.cli.client import Event, Server, Unreachable
from ramify.cli.draw_change import changes_of, draw_change
from ramify.cli.draw_tree import draw_tree, summary
from ramify.cli.parser import Parser, add_color, add_settings, place
from ramify.cli.session import Part, Session

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
REDRAW = 1.0  # seconds; times of running tasks grow even when nothing happens
NO_SERVER = "start one with ramify serve, or name another with --host and --port"


def tail_options(parser: Parser) -> None:
    add_settings(parser, "store", "address")
    parser.add_argument("--tree", metavar="ID", help="draw this task's tree, again at every change")
    parser.add_argument("--since", type=place, metavar="SEQ", help="begin after this place in the log instead of now")
    parser.add_argument("--json", action="store_true", help="one JSON document a line, as the server sends them")
    add_color(parser)


def follow(server: Server, last: str | None, pause: Callable[[float], None] = time.sleep) -> Iterator[Event | float]:
    """Events for ever, over as many connections as it takes; a number is how long it waits for the next."""
    wait = FIRST_PAUSE
    while True:
        try:
            for event in server.live(last):
                # Told to load everything again: what happened in between is lost to us, so go on from now.
                last = None if event.name == "resync" else event.id or last
                wait = FIRST_PAUSE
                yield event
        except Unreachable:
            pass
        yield wait
        pause(wait)
        wait = min(wait * 2, LONGEST_PAUSE)


def tail(session: Session) -> int:
    server = Server(session.settings)
    if server.health() is None:
        session.output.say(f"ramify: no Ramify server answers at {server.address} — {NO_SERVER}")
        return 1
    if session.arguments.tree:
        return tail_tree(session, server, session.arguments.tree)
    lost = False
    for event in follow(server, session.arguments.since):
        if isinstance(event, float):
            if not lost:
                session.output.say(f"lost the server at {server.address}; trying again")
            lost = True
            continue
        lost = False
        print_event(session, event)
    return 0


def print_event(session: Session, event: Event) -> None:
    if session.output.json:
        session.output.line_of_json({"seq": event.id, "event": event.name}, event.body)
        return
    for kind, record in changes_of(event.body):
        session.output.lines([draw_change(kind, record, session.output.width, session.output.clock())])
    sys.stdout.flush()


def tail_tree(session: Session, server: Server, id: str) -> int:
    """A thread listens, so that the picture keeps time while nothing happens."""
    from rich.live import Live

    path = f"tasks/{quote(id, safe='')}/tree"
    answer = server.ask(path)
    changed: queue.Queue[None] = queue.Queue()
    threading.Thread(target=listen, args=(server, changed), daemon=True).start()
    with Live(drawn(session, answer), console=session.output.console, auto_refresh=False) as live:
        while True:
            if heard(changed):
                try:
                    answer = server.ask(path)
                except Unreachable:
                    continue  # the last picture stays; the listener finds the server again
            live.update(drawn(session, answer), refresh=True)


def listen(server: Server, changed: "queue.Queue[None]") -> None:
    for _ in follow(server, None):
        changed.put(None)


def heard(changed: "queue.Queue[None]") -> bool:
    """Waits for a change, a second at most; a burst of changes counts once."""
    try:
        changed.get(timeout=REDRAW)
    except queue.Empty:
        return False
    time.sleep(0.1)
    while not changed.empty():
        changed.get_nowait()
    return True


def drawn(session: Session, answer: Any) -> Group:
    lines = draw_tree(answer, session.output.width, session.output.clock())
    return Group(*lines, Text(summary(answer), "dim"))


FAMILY = {"tail": Part(tail_options, tail)}
