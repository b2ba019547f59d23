"""Where an observation can be found again by whoever looks for what belongs to a conversation, without reading the log.

What names a session leaves the key `seen`, what answers no model call `reply`, what names nobody `nobody`, and what other protocols and
people say `told`. A model call is found by its row; the audit is for nobody to find but those who ask for it.
"""

import re

import msgspec
from msgspec import Struct

from ramify.linking.world import key
from ramify.model import audit, ids
from ramify.model.observation import Observation, Record, Request, Response
from ramify.protocols.claude import decode as claude
from ramify.protocols.model_api import header, is_model_call

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SESSION = re.compile(rb'"session_?id"\s*:\s*"([^"\\]+)"', re.IGNORECASE)  # inside a text its quotes would be escaped
NOBODY, TOLD, AUDIT = key("nobody", "all"), key("told", "all"), key("audit", "all")


class Named(Struct):
    """Most lines of a transcript or a stream name their session outright."""

    sessionId: object = None
    session_id: object = None


_named = msgspec.json.Decoder(Named).decode


def session_named(seen: Record) -> str:
    try:
        line = _named(seen.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        line = Named()
    for name in (line.sessionId, line.session_id):
        if isinstance(name, str) and name:
            return name
    if inner := SESSION.search(seen.body):
        return inner.group(1).decode("utf-8", "replace")
    found = UUID.search(seen.place)
    return found.group() if found else ""


def told_conversation(seen: Record) -> str:
    """The conversation of the session that a line of Claude's names; empty where it names none."""
    name = session_named(seen)
    return ids.session_conversation_id(seen.project, name) if name else ""


def seen_key(project: str, session: str) -> int:
    """Beside the other keys of the session, not among them: those are read together."""
    return key("seen", f"{project}/{session}")


def left_key(seen: Observation, session: str) -> int | None:
    """`session` is that of its call, where it has one."""
    match seen:
        case Request():
            name = session or header(seen.headers, "x-claude-code-session-id")
            return seen_key(seen.project, name) if name else NOBODY
        case Response():
            return None if is_model_call("POST", seen.path) else key("reply", seen.request)
        case Record() if seen.format in claude.FORMATS:
            name = session_named(seen)
            return seen_key(seen.project, name) if name else NOBODY
        case Record() if seen.format == audit.FORMAT:
            return AUDIT
        case _:
            return TOLD


def who_key(name: str) -> int:
    return key("audit-who", name)


def act_key(act: str) -> int:
    return key("audit-act", act)


def is_plain(seen: Observation) -> bool:
    """What the wire or Claude's own files show, or a person said: its rows hang together by its conversations alone."""
    return not isinstance(seen, Record) or seen.format in claude.FORMATS
