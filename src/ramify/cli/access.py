"""Who may use a server, and who did what: tokens and the audit of a store."""

import argparse
from datetime import datetime
from typing import Any

from ramify.cli.draw_list import Column, draw_list
from ramify.cli.parser import Parser, add_paging, add_reading, one_of
from ramify.cli.safe_text import one_line
from ramify.cli.session import Part, Session, gather, show_page
from ramify.cli.words import Record, clock
from ramify.model.identity import LOCAL, SCOPES
from ramify.model.mistake import UserMistake
from ramify.model.moment import micros
from ramify.query.audit import Wanted, audit
from ramify.setting_readers import read_duration, read_names

ACTS = ("create", "list", "revoke", "rotate")
EVERY = "*"


def token_options(parser: Parser) -> None:
    parser.add_argument("act", type=one_of(*ACTS), metavar="ACT", help=", ".join(ACTS))
    parser.add_argument("name", metavar="NAME", nargs="?", help="what the token is called; also its id, to revoke or rotate it")
    parser.add_argument("--scopes", metavar="NAMES", help=f"create: what it allows, of {', '.join(SCOPES)}; commas between them")
    parser.add_argument("--projects", metavar="NAMES", help="create: for which projects, commas between them; * for all (default: that of --project, else all)")
    parser.add_argument("--expires", type=seconds, default=0, metavar="TIME", help="create: after how long it opens nothing any more, such as 90d (default: never)")
    parser.add_argument("--grace", type=seconds, default=3600, metavar="TIME", help="rotate: how long the secret so far works on, 0s for not at all (default: 1h)")
    add_reading(parser)


def seconds(text: str) -> int:
    if text in ("0", "0s"):
        return 0
    try:
        return read_duration(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"{problem}, not {text!r}") from None


def token(session: Session) -> int:
    given = session.arguments
    if given.act == "list":
        return listed(session)
    if not given.name:
        raise UserMistake(f"ramify token {given.act} needs the NAME of a token", "ramify token list shows them")
    return {"create": create, "revoke": revoke, "rotate": rotate}[given.act](session)


def create(session: Session) -> int:
    given = session.arguments
    if not given.scopes:
        raise UserMistake("a token needs to know what it allows", f"--scopes {SCOPES[0]},{SCOPES[1]}; there are {', '.join(SCOPES)}")
    with session.opened(write=True, create=True) as store:
        made = store.tokens.create(given.name, read_names(given.scopes), projects(session), given.expires, LOCAL)
        told = {"scopes": " ".join(made["scopes"]), "projects": " ".join(made["projects"] or [EVERY]), "expires": made["expires"] or "never"}
        session.note(store, "token-create", made["name"], {"id": made["id"], **told})
    return given_once(session, made, "made")


def projects(session: Session) -> tuple[str, ...] | None:
    named, own = session.arguments.projects, session.settings.project
    if named == EVERY:
        return None
    return tuple(read_names(named)) if named else (own,) if own else None


def rotate(session: Session) -> int:
    given = session.arguments
    with session.opened(write=True) as store:
        made = store.tokens.rotate(given.name, given.grace, LOCAL)
        session.note(store, "token-rotate", made["name"], {"id": made["id"], "grace": str(given.grace)})
    return given_once(session, made, "has a new secret")


def given_once(session: Session, made: Record, verb: str) -> int:
    """The secret alone on standard output, so that it can go where it belongs without being seen."""
    if session.output.json:
        session.output.document(made)
    else:
        session.output.lines([made["secret"]])
    session.output.say(f"{made['name']} ({made['id']}) {verb}: {described(made)}; this secret is not shown again")
    return 0


def revoke(session: Session) -> int:
    with session.opened(write=True) as store:
        gone = store.tokens.revoke(session.arguments.name, LOCAL)
        session.note(store, "token-revoke", gone["name"], {"id": gone["id"]})
    if session.output.json:
        session.output.document(gone)
    else:
        session.output.lines([f"{one_line(gone['name'])} ({gone['id']}) is revoked; servers that run hear of it within a second or two"])
    return 0


def listed(session: Session) -> int:
    with session.opened() as store:
        found = store.tokens.listed(LOCAL)
    answer = {"items": found, "next": None}
    lines = draw_list(TOKENS, found, session.output.width, session.output.now)
    return show_page(session, answer, lines, "there are no tokens — ramify token create NAME --scopes capture,read")


def described(made: Record) -> str:
    until = f"until {made['expires']}" if made["expires"] else "for ever"
    return f"{', '.join(made['scopes'])} on {', '.join(made['projects'] or ['every project'])}, {until}"


# -- the audit -------------------------------------------------------------------------------------------------------------


def audit_options(parser: Parser) -> None:
    parser.add_argument("--who", metavar="NAME", default="", help="only what they did: a token, a user of the page, a user of this machine")
    parser.add_argument("--act", metavar="WORD", default="", help="only this: link, unlink, withdraw, forget, export, read-body, sql, token-create, login …")
    parser.add_argument("--since", metavar="TIME", default="", help="only what was done so lately, such as 7d; or from a moment on")
    add_reading(parser)
    add_paging(parser)


def show_audit(session: Session) -> int:
    given = session.arguments
    projects = frozenset([session.settings.project]) if session.settings.project else None
    since = since_when(given.since, session.output.now) if given.since else Wanted().since
    wanted = Wanted(given.who, given.act, since, Wanted().until, projects)
    with session.opened() as store:
        answer = gather(lambda limit, cursor: audit(store.questions.store, wanted, limit, cursor), given.limit, given.cursor)
    lines = draw_list(AUDIT, answer["items"], session.output.width, session.output.now)
    return show_page(session, answer, lines, "nothing was noted")


def since_when(text: str, now: datetime) -> int:
    try:
        return int(now.timestamp() * 1_000_000) - read_duration(text) * 1_000_000
    except ValueError:
        pass
    try:
        return micros(text)
    except ValueError:
        raise UserMistake(f"--since is {text!r}", "write a time such as 7d, or a moment such as 2026-11-01T12:00:00Z") from None


def more(entry: Record) -> str:
    return " ".join(f"{name}={one_line(value)}" for name, value in entry["more"].items())


def text_of(name: str) -> Any:
    return lambda record, _: one_line(record[name] or "")


TOKENS = (
    Column("id", text_of("id"), 1, style="dim"),
    Column("name", text_of("name"), 2, grows=True),
    Column("status", text_of("status"), 3),
    Column("scopes", lambda record, _: ",".join(record["scopes"]), 4),
    Column("projects", lambda record, _: one_line(",".join(record["projects"] or [EVERY])), 5),
    Column("expires", lambda record, _: record["expires"][:16].replace("T", " ") if record["expires"] else "never", 6),
    Column("created", lambda record, now: clock(record["created"], now), 7, style="dim"),
)
AUDIT = (
    Column("at", lambda record, now: clock(record["at"], now), 1, style="dim"),
    Column("who", text_of("who"), 2),
    Column("act", text_of("act"), 3),
    Column("what", text_of("what"), 4),
    Column("with", lambda record, _: more(record), 3, grows=True),
    Column("from", lambda record, _: one_line(f"{record['way']} {record['address'] or ''}".strip()), 5),
    Column("project", text_of("project"), 6),
)
FAMILY = {"token": Part(token_options, token), "audit": Part(audit_options, show_audit)}
