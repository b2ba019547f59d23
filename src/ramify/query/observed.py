"""One observation as it was seen, for people who want to check what a link rests on."""

from typing import Any

from ramify.model.audit import is_audit
from ramify.model.moment import iso
from ramify.model.observation import Correction, Observation, Record, Request, Response
from ramify.protocols.anthropic.decode import plain_body
from ramify.query.errors import NotFound
from ramify.storage.base import Store

LONGEST = 2_000_000  # characters; the whole of it is in the request or response of its call


def observed(store: Store, id: str) -> dict[str, Any]:
    seen = store.observation(id)
    if seen is None or is_audit(seen):
        raise NotFound(f"no observation has the id {id!r}")
    return {"id": seen.id, "kind": type(seen).__name__.lower(), "at": iso(seen.at), "line": line_of(seen), "body": body_of(seen)}


def line_of(seen: Observation) -> str:
    match seen:
        case Request():
            return f"{seen.method} {seen.path}"
        case Response():
            return f"{seen.status or 'no answer'} {seen.path}"
        case _:
            return type(seen).__name__


def body_of(seen: Observation) -> str:
    match seen:
        case Request() | Response():
            return text_of(plain_body(seen.body, seen.headers))
        case Record():
            return text_of(seen.body)
        case Correction():
            return f"{seen.act} {seen.child} {seen.parent}".strip()


def text_of(body: bytes) -> str:
    return body.decode("utf-8", "replace")[:LONGEST]
