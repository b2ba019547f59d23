"""`answer` and `cancel`: a task's agent is asked, through the server where one runs, so that live readers see it pass."""

import json
from typing import Any
from urllib.parse import quote

from rich.text import Text

from ramify.cli.asking import answered
from ramify.cli.client import Server
from ramify.cli.marks import status_word
from ramify.cli.parser import Parser, add_color, add_settings
from ramify.cli.session import Part, Session
from ramify.model.mistake import UserMistake
from ramify.storage.address import HIDDEN, shown

Answer = dict[str, Any]


def common_options(parser: Parser) -> None:
    add_settings(parser, "store", "address", "agents")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    add_color(parser)


def answer_options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", help="the task that asks")
    parser.add_argument("text", metavar="TEXT", nargs="?", default="", help="the answer in words")
    parser.add_argument("--data", metavar="JSON", help="the answer to a form, instead of words")
    common_options(parser)


def cancel_options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", help="the task to cancel, and with it what it started and is still open")
    common_options(parser)


def answer(session: Session) -> int:
    asked = session.arguments
    wish = {"text": asked.text, "data": data_of(asked.data)}
    told = act(session, "answer", wish)
    words = f"{told['agent']} has the answer" + (f"; the task is {told['status']}" if told.get("status") else "")
    return answered(session, told, [Text(words)])


def cancel(session: Session) -> int:
    told = act(session, "cancel", {})
    return answered(session, told, [line_of(item) for item in told["items"]])


def act(session: Session, what: str, wish: Answer) -> Answer:
    """By the server if it has this very store; else from here, recorded into the store."""
    server = Server(session.settings)
    health = server.health()
    if health is not None and is_same(health.get("store"), session.settings.store):
        told: Answer = server.post(f"tasks/{quote(session.arguments.id, safe='')}/{what}", wish)
        return told
    with session.opened(write=True) as store:
        return store.act(session.settings, what, session.arguments.id, wish)


def is_same(told: object, store: str) -> bool:
    """A server tells its address without secrets. One that cannot be told from others is not taken for the same."""
    place = shown(store)
    return told == place and HIDDEN not in place


def data_of(given: str | None) -> Any:
    try:
        return None if given is None else json.loads(given)
    except ValueError as problem:
        raise UserMistake(f"--data is no JSON: {problem}", """for example --data '{"amount": 3}'""") from None


def line_of(item: Answer) -> Text:
    line = status_word(item["status"] or "unknown")
    line.append(f"  {item['agent']}  {item['task']}")
    note = item["error"] or ("" if item["asked"] else "was over")
    return line.append(f"  {note}" if note else "", "dim")


FAMILY = {"answer": Part(answer_options, answer), "cancel": Part(cancel_options, cancel)}
